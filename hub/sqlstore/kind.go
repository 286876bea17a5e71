package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/kortecx/kx/hubapi"
)

// FileName is the name of the SQLite file in a hub's directory.
const FileName = databaseFile

// Kind is what a file turns out to be.
type Kind int

// The kinds.
const (
	OtherFile     Kind = iota
	HubDatabase        // of a hub of ours
	KazmaRegistry      // of the original Kazma: SQLite with the tables skills and badges
)

// kazmaApart is a table that the original's registry has and other programs hardly
// do, beside skills.
const kazmaApart = "skill_dependencies"

// KindOf looks at a regular file without changing it.
func KindOf(file string) (Kind, error) {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return OtherFile, err
	}
	f, err := os.Open(file)
	if err != nil {
		return OtherFile, err
	}
	header := make([]byte, 100)
	n, err := io.ReadFull(f, header)
	if err := errors.Join(ignore(err, io.EOF, io.ErrUnexpectedEOF), f.Close()); err != nil {
		return OtherFile, err
	}
	switch {
	case n < len(header) || string(header[:len(sqliteMagic)]) != sqliteMagic:
		return OtherFile, nil
	case binary.BigEndian.Uint32(header[68:]) == applicationID:
		return HubDatabase, nil
	}
	var tables int
	err = withKazma(context.Background(), file, func(db *sql.DB) error {
		return db.QueryRow(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('skills', '` + kazmaApart + `')`).Scan(&tables)
	})
	if err != nil || tables != 2 {
		return OtherFile, nil //nolint:nilerr // a database that cannot be read is none that we know
	}
	return KazmaRegistry, nil
}

// withKazma opens a registry of the original for reading alone: nothing beside the
// file is made, not even by SQLite.
func withKazma(ctx context.Context, file string, use func(*sql.DB) error) error {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: "mode=ro&immutable=1"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	return errors.Join(use(db), db.Close())
}

// KazmaRow is one row of a registry of the original Kazma.
type KazmaRow struct {
	Author, Name, Version string
	InstalledPath         string // where its files were registered or installed; often empty
}

// maxKazmaRows is how many rows of a registry are read, and maxKazmaText how long a
// text in one may be.
const (
	maxKazmaRows = 10_000
	maxKazmaText = 4096
)

// ReadKazmaRegistry reads the skills of a registry of the original, which is not
// changed. The error is Precondition for a file that is none, and for one that
// another program has open or left unfinished.
func ReadKazmaRegistry(ctx context.Context, file string) ([]KazmaRow, error) {
	kind, err := KindOf(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hubapi.Errorf(hubapi.NotFound, "there is no file %s", file)
	}
	if err != nil {
		return nil, err
	}
	if kind != KazmaRegistry {
		return nil, hubapi.Errorf(hubapi.Precondition, "%s is no registry of the original Kazma", file)
	}
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return nil, hubapi.Errorf(hubapi.Precondition, "%s has changes that are not in it yet: Kazma has it open, or was killed", file).
			WithHint("end Kazma first; if it was killed, start and end it once")
	}
	var out []KazmaRow
	err = withKazma(ctx, file, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, `SELECT author, name, version, coalesce(installed_path, '') FROM skills
			WHERE typeof(author) = 'text' AND typeof(name) = 'text' AND typeof(version) = 'text'
			AND length(author) + length(name) + length(version) + coalesce(length(installed_path), 0) < ?
			ORDER BY id LIMIT ?`, maxKazmaText, maxKazmaRows+1)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r KazmaRow
			if err := rows.Scan(&r.Author, &r.Name, &r.Version, &r.InstalledPath); err != nil {
				return err
			}
			out = append(out, r)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, hubapi.Errorf(hubapi.Invalid, "%s cannot be read as a registry of Kazma: %v", file, err)
	}
	if len(out) > maxKazmaRows {
		return nil, hubapi.Errorf(hubapi.TooLarge, "%s has more than %d skills", file, maxKazmaRows)
	}
	return out, nil
}
