package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/sign"
)

// shelf is the folder in which the folder of a pack lies.
type shelf struct {
	// names lists its files, or those that end in .sig.json; it is asked only where
	// nothing says which file is meant.
	names func() []string
	// read gives the first sign.MaxSignatureFile+1 bytes of a file: fs.ErrNotExist
	// without it.
	read func(name string) ([]byte, error)
}

// signatureBeside puts the signature file that lies beside a pack's folder to what was
// found. One that is there and cannot be read must not pass for none.
func signatureBeside(f *Found, s shelf) {
	if f.Pack == nil {
		return // nothing is named after a pack that cannot be read
	}
	data, err := sign.ReadBeside(f.Pack.Name, f.Pack.Version, s.names, s.read)
	if err != nil {
		f.SignatureFault = fail(hubapi.Invalid, "source.unreadable", "the signature beside %s cannot be used: %v", clip(f.Pack.Name), bare(err))
		return
	}
	f.Signature = data
}

// diskShelves are the folders of this machine that hold packs' folders. Each is listed
// once: with a listing for every pack, a source of many, and a lock with many sources,
// would take the square of their number.
type diskShelves struct {
	mu    sync.Mutex
	known map[string]diskShelf
}

// diskShelf is what is known of one.
type diskShelf struct {
	names  []string        // that end as a signature's
	folded map[string]bool // the same in lower case
	listed bool
}

const signatureEnd = ".sig.json"

func (d *diskShelves) list(dir string) diskShelf {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.known[dir]; ok {
		return s
	}
	s := diskShelf{folded: map[string]bool{}}
	list, err := os.ReadDir(dir)
	s.listed = err == nil // what nobody may list may hold a file all the same
	for _, e := range list {
		// Without regard to case, as some disks look for files.
		if folded := strings.ToLower(e.Name()); strings.HasSuffix(folded, signatureEnd) {
			s.names, s.folded[folded] = append(s.names, e.Name()), true
		}
	}
	if d.known == nil {
		d.known = map[string]diskShelf{}
	}
	d.known[dir] = s
	return s
}

// beside looks beside a folder on this machine, which is named by its absolute path.
func (d *diskShelves) beside(folder string) shelf {
	parent := filepath.Dir(folder)
	known := d.list(parent)
	return shelf{
		names: func() []string { return known.names },
		read: func(name string) ([]byte, error) {
			if known.listed && !known.folded[strings.ToLower(name)] {
				return nil, fs.ErrNotExist
			}
			return readRegular(filepath.Join(parent, name), sign.MaxSignatureFile+1)
		},
	}
}

// errNotRegular is for what is no file, such as a pipe.
var errNotRegular = errors.New("it is not a regular file")

// readRegular reads at most limit bytes of a regular file.
func readRegular(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	// Something else may have taken the name since the look, a pipe too, whose opening
	// must not wait for a writer.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(err, errors.New("it changed while it was read"))
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// amongFiles looks beside a folder of files that are in memory.
func amongFiles(folder string, files []hubapi.File) shelf {
	parent, _ := folderOf(folder)
	in := func(p string) (string, bool) {
		dir, base := folderOf(p)
		return base, dir == parent
	}
	return shelf{
		names: func() []string {
			var names []string
			for _, f := range files {
				if base, ok := in(f.Path); ok {
					names = append(names, base)
				}
			}
			return names
		},
		read: func(name string) ([]byte, error) {
			for _, f := range files {
				if base, ok := in(f.Path); ok && base == name {
					return f.Data[:min(len(f.Data), sign.MaxSignatureFile+1)], nil
				}
			}
			return nil, fs.ErrNotExist
		},
	}
}

// beside looks in the tree that holds a pack's folder.
func (w *gitWalk) beside(tree []treeEntry) shelf {
	return shelf{
		names: func() []string {
			names := make([]string, len(tree))
			for i, e := range tree {
				names[i] = e.Name
			}
			return names
		},
		read: func(name string) ([]byte, error) {
			for _, e := range tree {
				switch {
				case e.Name != name:
				case e.Mode != filemode.Regular && e.Mode != filemode.Executable && e.Mode != filemode.Deprecated:
					return nil, errNotRegular
				default:
					return w.blob(e.Hash, sign.MaxSignatureFile+1)
				}
			}
			return nil, fs.ErrNotExist
		},
	}
}
