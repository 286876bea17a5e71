package scripttest

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// state is what a script's folder holds: files, links, empty folders. A database is its
// rows, since its file changes when it is merely opened. Left out is what a command may
// keep of a refusal: who holds a hub, and what was seen of hubs' logs.
func state(dir string) (map[string]string, error) {
	out := map[string]string{}
	full := map[string]bool{}
	err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it went while the tree was read, as files of a running hub do
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		full[path.Dir(name)] = true
		switch base := path.Base(name); {
		case strings.HasSuffix(name, "-wal"), strings.HasSuffix(name, "-shm"), strings.HasSuffix(name, ".log"),
			base == "hub.lock", base == "server.json", base == "owner",
			strings.Contains(name, "/log/127.0.0.1_"), strings.Contains(name, "/log/proofs/"), strings.Contains(name, "/trust/127.0.0.1_"):
			return nil
		}
		info, err := e.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			if err != nil {
				return err
			}
			text += " " + to
		case info.Mode().IsRegular():
			if text, err = contentOf(at); err != nil && !os.IsPermission(err) {
				return err
			}
			text = info.Mode().String() + " " + text
		}
		out[name] = text
		return nil
	})
	for name := range full {
		delete(out, name)
	}
	delete(out, ".")
	return out, err
}

func contentOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 16)
	n, err := io.ReadFull(f, head)
	if err == nil && string(head) == "SQLite format 3\x00" {
		if rows, err := rowsOf(path); err == nil {
			return rows, nil
		}
	}
	h := sha256.New()
	_, _ = h.Write(head[:n])
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// rowsOf reads a copy, so that it leaves no trace beside the database itself.
func rowsOf(path string) (string, error) {
	dir, err := os.MkdirTemp("", "kx-rows-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		if os.IsNotExist(err) && end != "" {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, "db"+end), data, 0o600); err != nil {
			return "", err
		}
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "db"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	tables, err := texts(db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, table := range tables {
		rows, err := texts(db, `SELECT * FROM "`+table+`"`)
		if err != nil {
			return "", err
		}
		slices.Sort(rows)
		if table == "log_hub" { // the log signs its state when somebody asks for it
			continue
		}
		fmt.Fprintf(&out, "%s %d %x\n", table, len(rows), sha256.Sum256([]byte(strings.Join(rows, "\n"))))
	}
	return out.String(), nil
}

func texts(db *sql.DB, query string) ([]string, error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []string
	for rows.Next() {
		cells := make([]any, len(names))
		for i := range cells {
			cells[i] = new(sql.RawBytes)
		}
		if err := rows.Scan(cells...); err != nil {
			return nil, err
		}
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = string(*c.(*sql.RawBytes))
		}
		out = append(out, strings.Join(line, "\x00"))
	}
	return out, rows.Err()
}

// changes says what b has otherwise than a.
func changes(a, b map[string]string) []string {
	var out []string
	for name, was := range a {
		if is, ok := b[name]; !ok {
			// A folder is listed only while it is empty.
			if !strings.HasPrefix(was, "d") || !hasBelow(b, name) {
				out = append(out, name+" is gone")
			}
		} else if is != was {
			out = append(out, fmt.Sprintf("%s was %s\nand is now %s", name, was, is))
		}
	}
	for name, is := range b {
		// A command that asks a hub which is not there yet makes one, without releases.
		if _, ok := a[name]; !ok && !strings.Contains(is, "\nreleases 0 ") {
			out = append(out, name+" is new: "+is)
		}
	}
	slices.Sort(out)
	return out
}

func hasBelow(tree map[string]string, folder string) bool {
	for name := range tree {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}
