package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
)

// folderWriter makes the folders and files of our staging. It holds open the folder in
// which the last one was begun, and names all that lies below from there: to walk to each
// file from the root is most of what writing small files costs. It is for one goroutine,
// and for what nobody else has business in before it is whole: a link in the middle of a
// name would be followed.
type folderWriter struct {
	root  *osRoot
	name  string // of the folder that is held, empty for none
	below heldFolder
}

// MkdirAll makes a folder in one that is there. What is there is taken too: some disks
// know no case.
func (w *folderWriter) MkdirAll(name string, perm fs.FileMode) error {
	rest, err := w.from(name)
	if err == nil {
		err = w.below.mkdir(rest, perm)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, lookErr := w.root.Lstat(name); lookErr == nil && info.IsDir() {
			return nil
		}
	}
	return w.root.fail("mkdir", name, err)
}

// Create writes a file that must not exist.
func (w *folderWriter) Create(name string, data []byte, perm fs.FileMode) error {
	rest, err := w.from(name)
	if err == nil {
		err = w.below.create(rest, data, perm)
	}
	return w.root.fail("create", name, err)
}

// from gives a name as it is from the folder that is held, which becomes the one that it
// lies in where it is not below.
func (w *folderWriter) from(name string) (rest string, err error) {
	if rest, ok := strings.CutPrefix(name, w.name+"/"); ok && w.name != "" {
		return rest, nil
	}
	w.close()
	dir := path.Dir(name)
	held, err := holdFolder(w.root.dir, dir)
	if err != nil {
		return "", err
	}
	w.name, w.below = dir, held
	return path.Base(name), nil
}

func (w *folderWriter) close() {
	if w.name != "" {
		w.below.close()
		w.name = ""
	}
}

// movedFrom is the folder of our staging from which folders were moved last. It is held
// open: to walk to it for every one that goes into its place would be most of the work.
// Whatever moves or removes something through the same root lets go of it first where it
// is concerned.
type movedFrom struct {
	mu   sync.Mutex
	dir  *os.File
	name string
}

func (m *movedFrom) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop()
}

func (m *movedFrom) drop() {
	if m.dir != nil {
		_ = m.dir.Close()
		m.dir = nil
	}
}

// forgetBelow lets go of a folder called name or below it. The caller holds mu.
func (m *movedFrom) forgetBelow(name string) {
	if m.name == name || strings.HasPrefix(m.name, name+"/") || name == "." {
		m.drop()
	}
}

// open opens a folder of our staging and keeps it open until something else is needed;
// nil for any other folder. The caller holds mu for as long as it uses what it gets.
func (m *movedFrom) open(root *os.Root, name string) *os.File {
	top, _, _ := strings.Cut(name, "/")
	if !IsStaged(top) {
		return nil
	}
	if m.dir != nil && m.name == name {
		return m.dir
	}
	dir, err := root.Open(name)
	if err != nil {
		return nil // the plain way says why
	}
	m.drop()
	m.dir, m.name = dir, name
	return dir
}
