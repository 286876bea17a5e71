package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
)

// folderWriter makes the folders and files of our staging, one folder after the other. It
// holds the folders open that it fills: to walk to each of them again for every file is
// most of what writing small files costs. It is for one goroutine, which alone uses and
// closes what it holds; and nobody else has business in a folder before it is whole.
type folderWriter struct {
	root *osRoot
	open []openFolder // each of them lies in the one before
}

type openFolder struct {
	name string
	heldFolder
}

// MkdirAll makes a folder in one that is there. What is there is taken too: some disks
// know no case.
func (w *folderWriter) MkdirAll(name string, perm fs.FileMode) error {
	in, err := w.enter(path.Dir(name))
	if err == nil {
		if err = in.mkdir(path.Base(name), perm); errors.Is(err, fs.ErrExist) {
			_, err = w.enter(name)
		}
	}
	return w.root.fail("mkdir", name, err)
}

// Create writes a file that must not exist.
func (w *folderWriter) Create(name string, data []byte, perm fs.FileMode) error {
	in, err := w.enter(path.Dir(name))
	if err == nil {
		err = in.create(path.Base(name), data, perm)
	}
	return w.root.fail("create", name, err)
}

// enter gives a folder by way of those that are open, and keeps it open until one is
// needed that does not lie in it.
func (w *folderWriter) enter(name string) (held heldFolder, err error) {
	n := len(w.open)
	for n > 0 && name != w.open[n-1].name && !strings.HasPrefix(name, w.open[n-1].name+"/") {
		n--
	}
	w.leave(n)
	for n = len(w.open); n == 0 || w.open[n-1].name != name; n = len(w.open) {
		at := name
		if n == 0 {
			held, err = holdFolder(w.root.dir, name)
		} else {
			above := w.open[n-1]
			base, _, _ := strings.Cut(name[len(above.name)+1:], "/")
			at = name[:len(above.name)+1+len(base)]
			held, err = above.enter(base)
		}
		if err != nil {
			return held, err
		}
		w.open = append(w.open, openFolder{at, held})
	}
	return w.open[n-1].heldFolder, nil
}

// leave closes what is open from the nth on.
func (w *folderWriter) leave(n int) {
	for _, folder := range w.open[n:] {
		folder.close()
	}
	w.open = w.open[:n]
}

func (w *folderWriter) close() { w.leave(0) }

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
