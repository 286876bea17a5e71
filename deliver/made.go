package deliver

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/fsx"
)

// maxMade is how many folders on the way to a target may go with it.
const maxMade = 4

// made is root for a folder that may have to be made. How many folders of its path
// had to be is remembered beside the store, so that they go with the last skill; it
// is nothing for the lock, because elsewhere they may have been there.
func (w *Workspace) made(dir string) (fsx.Root, error) {
	if root, err := w.root(dir); root != nil || err != nil {
		if root != nil {
			w.forgetMade(dir, root)
		}
		return root, err
	}
	n := missing(dir)
	opened, err := w.openOrCreate(dir, 0o755)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.roots[dir] = opened // closed with the workspace: a folder in which nothing came to be goes then
	w.mu.Unlock()
	return opened, w.rememberMade(dir, n)
}

// missing is how many folders of a path are not there.
func missing(dir string) (n int) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := lstat(at); err == nil || filepath.Dir(at) == at {
			return n
		}
		n++
	}
}

// rememberMade keeps how many folders on the way to a target this run made.
func (w *Workspace) rememberMade(dir string, n int) error {
	if n == 0 {
		return nil
	}
	receipts, err := w.openOrCreate(filepath.Join(w.o.Data, "made"), 0o700)
	if err != nil {
		return err
	}
	w.madeNow[dir] = true
	err = receipts.WriteFile(hexSum([]byte(dir))[:32], []byte(strconv.Itoa(min(n, maxMade))+"\n"), 0o600)
	return errors.Join(err, receipts.Close())
}

// forgetMade drops what is remembered of a folder in which nothing of ours is left:
// it would have gone with the last skill, so somebody else made the one that is there.
func (w *Workspace) forgetMade(dir string, root fsx.Root) {
	if w.madeNow[dir] {
		return
	}
	receipt := filepath.Join(w.o.Data, "made", hexSum([]byte(dir))[:32])
	if _, err := lstat(receipt); err != nil {
		return
	}
	entries, err := root.ReadDir(".")
	for _, e := range entries {
		if _, markErr := root.Lstat(e.Name() + "/" + MarkerFile); markErr == nil || e.Type()&fs.ModeSymlink != 0 {
			return
		}
	}
	receipts, openErr := w.open(filepath.Dir(receipt))
	if err != nil || openErr != nil {
		return
	}
	defer receipts.Close()
	_ = receipts.Remove(filepath.Base(receipt))
}

// pruneMade removes the folders that had to be made for a target, as far as they are
// empty.
func (w *Workspace) pruneMade(t Target) {
	at := w.Path(t)
	receipts, err := w.open(filepath.Join(w.o.Data, "made"))
	if err != nil {
		return
	}
	defer receipts.Close()
	receipt := hexSum([]byte(at))[:32]
	data, err := receipts.ReadFile(receipt, 64)
	if err != nil {
		return
	}
	made, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || made > maxMade {
		return
	}
	if pruneDirs(w.open, at, made) {
		_ = receipts.Remove(receipt)
	}
}

// pruneDirs removes a folder and those around it, n in all, as far as they are empty;
// false says that something else is in one of them.
func pruneDirs(open func(dir string) (fsx.Root, error), at string, n int) bool {
	for range n {
		root, err := open(filepath.Dir(at))
		if err != nil {
			return false
		}
		info, err := root.Lstat(filepath.Base(at))
		if err == nil && info.IsDir() {
			err = root.Remove(filepath.Base(at))
		}
		_ = root.Close()
		if info != nil && !info.IsDir() {
			break // somebody put a link in its place, and made what is around it
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		at = filepath.Dir(at)
	}
	return true
}
