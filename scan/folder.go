package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// Limits on what one report covers. What lies beyond is named in the report.
const (
	maxFolderFiles = 10_000
	maxFolderBytes = 64 << 20
	maxFileBytes   = 8 << 20
	maxFolderDepth = 32
)

// ErrNothing says that a path leads to nothing that could be scanned.
var ErrNothing = errors.New("there is nothing to scan")

// ErrUnread says that a path leads to what is there and could not be read: a file that is
// too large, a folder that does not let itself be listed.
var ErrUnread = errors.New("it was not scanned")

// Walk scans what a path leads to and hands over the reports one by one: a pack
// gives one, a folder one for every pack below it and one for its other files, a
// file one. Hidden files are scanned too; of a .git nothing is read. Links are not
// followed, except the path itself. The error is for a path that is not there, has
// nothing in it (ErrNothing) or could not be read (ErrUnread), and what report returned.
func Walk(name string, o Options, report func(*Report) error) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	dir, only := name, ""
	if !info.IsDir() {
		dir, only = filepath.Split(name)
		dir = filepath.Clean(dir)
		for _, f := range pack.Formats {
			if only == f.ManifestFile() {
				only = ""
				break
			}
		}
	}
	root, err := fsx.Open(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	w := &walker{root: root, path: filepath.ToSlash(filepath.Clean(name)), options: o, report: report}
	if !info.IsDir() {
		w.path = filepath.ToSlash(dir)
	}
	if only != "" {
		loose := w.collection()
		loose.read(only)
		if len(loose.files) == 0 {
			return loose.none(name)
		}
		return w.scan(loose, path.Join(w.path, only), strings.TrimSuffix(only, path.Ext(only)))
	}
	return w.run(name)
}

type walker struct {
	root    fsx.Root
	path    string
	options Options
	report  func(*Report) error
	reports int
	files   int    // read, in all reports
	refused string // why a file of a report was not read
}

func (w *walker) run(name string) error {
	loose := w.collection()
	if err := w.folder(".", 0, loose); err != nil {
		return err
	}
	if w.reports+len(loose.files) == 0 && loose.refused != "" {
		return loose.none(name)
	}
	if len(loose.files)+len(loose.findings) > 0 {
		if err := w.scan(loose, w.path, baseName(name)); err != nil {
			return err
		}
	}
	if w.reports == 0 || w.files == 0 && w.refused != "" {
		loose.refused = w.refused // the findings are told, and are not all that is to say
		return loose.none(name)
	}
	return nil
}

// baseName is the name of a folder by its path, which may be "." or end in "/".
func baseName(name string) string {
	base := filepath.Base(name)
	if base == "." || base == ".." || base == string(filepath.Separator) {
		if abs, err := filepath.Abs(name); err == nil {
			return filepath.Base(abs)
		}
	}
	return base
}

// folder scans the packs below a folder and gathers its other files.
func (w *walker) folder(dir string, depth int, loose *collection) error {
	entries, err := w.root.ReadDir(dir)
	if err != nil {
		loose.unread(dir, "cannot be read: "+bare(err))
		return nil
	}
	if isPack(entries) {
		c := w.collection()
		c.tree(dir, "", 0)
		if dir == "." && len(c.files) == 0 {
			return c.none(w.path)
		}
		where, name := path.Join(w.path, dir), path.Base(dir)
		if dir == "." {
			name = baseName(filepath.FromSlash(w.path))
		}
		return w.scan(c, where, name)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && e.Name() == ".git":
		case e.IsDir() && depth >= maxFolderDepth:
			loose.unread(name, "lies too deep")
		case e.IsDir():
			if err := w.folder(name, depth+1, loose); err != nil {
				return err
			}
		default:
			loose.entry(name, name, e)
		}
	}
	return nil
}

func isPack(entries []fs.DirEntry) bool {
	for _, e := range entries {
		for _, f := range pack.Formats {
			if e.Name() == f.ManifestFile() && !e.IsDir() {
				return true
			}
		}
	}
	return false
}

// scan makes the report on a collection and hands it over.
func (w *walker) scan(c *collection, where, name string) error {
	in := pack.Read(name, c.files, pack.Options{Format: w.options.Format})
	s := scanAll(name, c.files, in.Pack, w.options)
	if in.Pack == nil {
		s.Format = in.Format
	}
	if len(c.findings) > 0 {
		// They were found before the rest; the order of a report is by place.
		rest := &scanner{set: ruleSet(), options: w.options, report: *s}
		for _, f := range c.findings {
			rest.put(f)
		}
		s = rest.finish()
	}
	s.Path = where
	w.reports++
	if w.files += len(c.files); c.refused != "" {
		w.refused = c.refused
	}
	return w.report(s)
}

func (w *walker) collection() *collection {
	return &collection{root: w.root, set: ruleSet()}
}

// collection is the files of one report.
type collection struct {
	root     fsx.Root
	set      *compiledSet
	files    []pack.File
	bytes    int64
	findings []Finding
	full     bool
	refused  string // why the last of what was not read was not
}

// none is the error for a path of which no file was read.
func (c *collection) none(name string) error {
	if c.refused == "" {
		return fmt.Errorf("%s: %w", name, ErrNothing)
	}
	return fmt.Errorf("%s %s: %w", name, c.refused, ErrUnread)
}

// tree gathers everything below a folder, with paths from there.
func (c *collection) tree(dir, prefix string, depth int) {
	entries, err := c.root.ReadDir(dir)
	if err != nil {
		c.unread(prefix, "cannot be read: "+bare(err))
		return
	}
	for _, e := range entries {
		name, shown := path.Join(dir, e.Name()), path.Join(prefix, e.Name())
		switch {
		case e.IsDir() && e.Name() == ".git":
		case e.IsDir() && depth >= maxFolderDepth:
			c.unread(shown, "lies too deep")
		case e.IsDir():
			c.tree(name, shown, depth+1)
		default:
			c.entry(name, shown, e)
		}
	}
}

// read gathers one file of the root.
func (c *collection) read(name string) {
	info, err := c.root.Lstat(name)
	if err != nil {
		c.unread(name, "cannot be read: "+bare(err))
		return
	}
	c.entry(name, name, fs.FileInfoToDirEntry(info))
}

// entry gathers what is not a folder.
func (c *collection) entry(name, shown string, e fs.DirEntry) {
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		c.add("file.link", shown, "")
		return
	case !e.Type().IsRegular():
		c.unread(shown, "is no regular file")
		return
	case len(c.files) >= maxFolderFiles || c.bytes >= maxFolderBytes:
		if !c.full {
			c.full = true
			c.unread(shown, fmt.Sprintf("this and what follows: more than %d files or %d MiB", maxFolderFiles, maxFolderBytes>>20))
		}
		return
	}
	data, info, err := c.root.ReadFileInfo(name, maxFileBytes)
	switch {
	case errors.Is(err, fsx.ErrTooLarge):
		c.unread(shown, fmt.Sprintf("is larger than %d MiB", maxFileBytes>>20))
		return
	case err != nil:
		c.unread(shown, "cannot be read: "+bare(err))
		return
	}
	c.bytes += int64(len(data))
	c.files = append(c.files, pack.File{Path: shown, Data: data, Executable: info.Mode()&0o111 != 0})
}

func (c *collection) unread(name, why string) {
	c.refused = why
	c.add("scan.unread", name, why)
}

func (c *collection) add(id, name, why string) {
	r := c.set.rule(id)
	reason := r.Reason
	if why != "" {
		reason += ": " + why
	}
	c.findings = append(c.findings, Finding{Rule: id, Severity: r.Severity, File: name, Reason: reason, Fix: r.Fix})
}

// bare takes the path out of a file system's error, as the finding names it.
func bare(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
