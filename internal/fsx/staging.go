package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
)

// openFolders are folders of our own staging that are held open while they are filled:
// to walk to each of them again for every file is most of what writing small files
// costs, and to walk to the one that holds them for every one that goes into its place.
// Nobody else has business there; whatever moves or removes something through the same
// root lets go of what it concerns first.
type openFolders struct {
	mu   sync.Mutex
	open map[string]*os.Root

	from *os.File // the folder called name, from which folders were moved last
	name string
}

// maxOpenFolders bounds how many are held.
const maxOpenFolders = 16

func (o *openFolders) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop()
}

func (o *openFolders) drop() {
	for _, dir := range o.open {
		_ = dir.Close()
	}
	clear(o.open)
	if o.from != nil {
		_ = o.from.Close()
		o.from = nil
	}
}

// forgetBelow lets go of the folder called name and of those below it. The caller holds
// mu.
func (o *openFolders) forgetBelow(name string) {
	gone := func(at string) bool { return at == name || strings.HasPrefix(at, name+"/") || name == "." }
	for at, dir := range o.open {
		if gone(at) {
			_ = dir.Close()
			delete(o.open, at)
		}
	}
	if o.from != nil && gone(o.name) {
		_ = o.from.Close()
		o.from = nil
	}
}

// at gives a folder below root, by way of the one that holds it.
func (o *openFolders) at(root *os.Root, name string) (*os.Root, error) {
	if name == "." {
		return root, nil
	}
	if dir := o.open[name]; dir != nil {
		return dir, nil
	}
	parent, err := o.at(root, path.Dir(name))
	if err != nil {
		return nil, err
	}
	dir, err := parent.OpenRoot(path.Base(name))
	if err != nil {
		return nil, err
	}
	if len(o.open) >= maxOpenFolders {
		o.drop()
	}
	if o.open == nil {
		o.open = map[string]*os.Root{}
	}
	o.open[name] = dir
	return dir, nil
}

// inStaging calls use with the folder that holds name; false when name is not in our
// staging, or the folder cannot be opened: then the plain way says why.
func (r *osRoot) inStaging(name string, use func(dir *os.Root, base string) error) (done bool, err error) {
	top, _, below := strings.Cut(name, "/")
	if !below || !IsStaged(top) {
		return false, nil
	}
	_, _ = r.handle() // before anything is written; see syncWhole
	r.staging.mu.Lock()
	dir, err := r.staging.at(r.dir, path.Dir(name))
	r.staging.mu.Unlock()
	if err != nil {
		return false, nil
	}
	if err = use(dir, path.Base(name)); errors.Is(err, os.ErrClosed) {
		return false, nil // somebody let go of it meanwhile
	}
	return true, err
}

// writers is how many folders of a batch are written at the same time: the processors
// that there are, because small files cost calls and not the disk.
func (r *osRoot) writers() int { return runtime.GOMAXPROCS(0) }

// dir opens a folder of our staging and keeps it open until something else is needed;
// nil for any other folder. The caller holds mu for as long as it uses what it gets.
func (o *openFolders) dir(root *os.Root, name string) *os.File {
	top, _, _ := strings.Cut(name, "/")
	if !IsStaged(top) {
		return nil
	}
	if o.from != nil && o.name == name {
		return o.from
	}
	dir, err := root.Open(name)
	if err != nil {
		return nil // the plain way says why
	}
	if o.from != nil {
		_ = o.from.Close()
	}
	o.from, o.name = dir, name
	return dir
}

// newFile makes a file that must not exist, and opens it to write.
func (r *osRoot) newFile(name string, perm fs.FileMode) (f *os.File, err error) {
	// Without the flag for pipes, which a new file is none of, the standard library asks
	// the system four times whether to wait for it.
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL | openNonblock
	done, err := r.inStaging(name, func(dir *os.Root, base string) (err error) {
		f, err = dir.OpenFile(base, flags, perm)
		return err
	})
	if done {
		return f, err
	}
	return r.dir.OpenFile(name, flags, perm)
}

func (r *osRoot) mkdirAll(name string, perm fs.FileMode) error {
	done, err := r.inStaging(name, func(dir *os.Root, base string) error { return dir.Mkdir(base, perm) })
	if done && err == nil {
		return nil
	}
	return r.dir.MkdirAll(name, perm) // which also takes what is there
}
