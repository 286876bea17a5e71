package fsx

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/kortecx/kx/internal/workers"
)

// osRoot is Root over the system's own directory handle.
type osRoot struct {
	dir  *os.Root
	made []string // directories that were made for this root, the outermost first

	anchoring sync.Once
	adrift    error // of anchor

	opening sync.Once
	self    *os.File // the directory itself, opened by handle when it is needed
	failed  error

	moved movedFrom

	kindOnce  sync.Once
	kindTells bool // see tellsNames
}

// handle opens the directory itself, once.
func (r *osRoot) handle() (*os.File, error) {
	r.opening.Do(func() { r.self, r.failed = r.dir.Open(".") })
	return r.self, r.failed
}

var _ Root = (*osRoot)(nil)

// Open opens an existing directory. dir itself may be a symbolic link; it is
// resolved once, here.
func Open(dir string) (Root, error) {
	// The system's own opening would wait for the writer of a pipe.
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, refused(&fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR})
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, refused(err)
	}
	return &osRoot{dir: root}, nil
}

// OpenOrCreate is Open for a directory that may not be there yet. perm, less the
// umask, is for the directories that it has to make. A path that is too long for the
// system is refused (syscall.ENAMETOOLONG) before anything is made. Close takes away
// what was made and is still empty: on a full disk, or after a refusal, not even
// folders are left.
func OpenOrCreate(dir string, perm fs.FileMode) (Root, error) {
	if err := checkLength(dir); err != nil {
		return nil, err
	}
	made := missing(dir)
	err := os.MkdirAll(dir, perm)
	if err == nil {
		var root Root
		if root, err = Open(dir); err == nil {
			root.(*osRoot).made = made
			return root, nil
		}
	}
	removeEmpty(made)
	return nil, refused(err)
}

// EnsureDir makes a directory that is to stay, also while it is empty.
func EnsureDir(dir string, perm fs.FileMode) error {
	root, err := OpenOrCreate(dir, perm)
	if err != nil {
		return err
	}
	made := root.(*osRoot)
	err = made.anchor()
	made.made = nil
	return errors.Join(err, root.Close())
}

// anchor makes the entries of the directories durable that were made for this root, once:
// without them nobody finds after a power cut what was flushed below. It waits for the
// first flush, because what is not flushed need not be found either.
func (r *osRoot) anchor() error {
	if len(r.made) == 0 {
		return nil
	}
	r.anchoring.Do(func() {
		for _, dir := range r.made {
			parent := filepath.Dir(dir)
			err := syncFile(os.OpenFile(parent, syncFlags|openNonblock, 0))
			// Who may make something in a directory need not be allowed to open it.
			if err != nil && !errors.Is(err, fs.ErrPermission) {
				r.adrift = refused(&fs.PathError{Op: "sync", Path: parent, Err: bare(err)})
				return
			}
		}
	})
	return r.adrift
}

// missing are dir and the directories above it that are not there, the outermost first.
func missing(dir string) []string {
	var out []string
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// removeEmpty removes directories from the innermost on, up to the first that holds
// something. That it could not be removed for another reason harms nobody.
func removeEmpty(dirs []string) {
	for _, dir := range slices.Backward(dirs) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// What file systems hold, in bytes: of one name, and of a path with the end mark that
// the system puts behind it.
const (
	maxComponent = 255
	maxPath      = 4096
)

// checkLength refuses what os.MkdirAll would make half of.
func checkLength(dir string) error {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	long := len(absolute) >= maxPath
	for name := range strings.SplitSeq(filepath.ToSlash(absolute), "/") {
		long = long || len(name) > maxComponent
	}
	if !long {
		return nil
	}
	const shown = 80
	if len(dir) > shown {
		dir = strings.ToValidUTF8(dir[:shown], "") + "…"
	}
	return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENAMETOOLONG}
}

func (r *osRoot) Name() string { return r.dir.Name() }

func (r *osRoot) Close() error {
	r.moved.forget()
	err := r.dir.Close()
	if r.self != nil {
		err = errors.Join(err, r.self.Close())
	}
	removeEmpty(r.made)
	return err
}

// full is the path of name for messages. A name that was refused stays as it was
// given.
func (r *osRoot) full(name string) string {
	if checkName(name) != nil {
		return r.Name() + string(filepath.Separator) + name
	}
	return filepath.Join(r.Name(), filepath.FromSlash(name))
}

// fail rewrites an error so that it names the whole path, once.
func (r *osRoot) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return refused(&fs.PathError{Op: op, Path: r.full(name), Err: bare(err)})
}

// bare takes off what the standard library says about the operation.
func bare(err error) error {
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return inner.Err
	}
	return err
}

func (r *osRoot) failLink(op, oldname, newname string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: r.full(oldname), New: r.full(newname), Err: bare(err)}
}

func (r *osRoot) Lstat(name string) (fs.FileInfo, error) {
	if err := checkName(name); err != nil {
		return nil, r.fail("stat", name, err)
	}
	info, err := r.dir.Lstat(name)
	return info, r.fail("stat", name, err)
}

func (r *osRoot) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := checkName(name); err != nil {
		return nil, r.fail("list", name, err)
	}
	entries, err := r.readDir(name)
	return entries, r.fail("list", name, err)
}

func (r *osRoot) ReadFile(name string, limit int64) ([]byte, error) {
	data, _, err := r.ReadFileInfo(name, limit)
	return data, err
}

func (r *osRoot) ReadFileInfo(name string, limit int64) ([]byte, fs.FileInfo, error) {
	if err := checkName(name); err != nil {
		return nil, nil, r.fail("read", name, err)
	}
	data, info, err := r.readFile(name, limit)
	return data, info, r.fail("read", name, err)
}

func (r *osRoot) readFile(name string, limit int64) ([]byte, fs.FileInfo, error) {
	// Looking before opening keeps links, pipes and devices out; comparing
	// afterwards keeps out what was put in their place between the two.
	seen, err := r.dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, ErrNotRegular
	}
	if seen.Size() > limit {
		return nil, nil, ErrTooLarge
	}
	f, err := r.dir.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !os.SameFile(seen, opened) || opened.Size() != seen.Size() {
		return nil, nil, ErrChanged
	}
	// With one byte of room more than the size, a read that gives the size has
	// also seen the end.
	data := make([]byte, opened.Size()+1)
	n := 0
	for n < int(opened.Size()) {
		more, err := f.Read(data[n:])
		n += more
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil, ErrChanged
		case err != nil:
			return nil, nil, err
		}
	}
	if n > int(opened.Size()) {
		return nil, nil, ErrChanged
	}
	return data[:n], opened, nil
}

func (r *osRoot) OpenDir(name string) (Dir, error) {
	if err := checkName(name); err != nil {
		return nil, r.fail("open", name, err)
	}
	sub, err := r.openDir(name)
	if err != nil {
		return nil, r.fail("open", name, err)
	}
	return &osRoot{dir: sub}, nil
}

func (r *osRoot) openDir(name string) (*os.Root, error) {
	seen, err := r.dir.Lstat(name) // as in readFile
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, ErrNotFolder
	}
	sub, err := r.dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := sub.Lstat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = ErrChanged
	}
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return sub, nil
}

func (r *osRoot) MkdirAll(name string, perm fs.FileMode) error {
	if err := checkName(name); err != nil {
		return r.fail("mkdir", name, err)
	}
	return r.fail("mkdir", name, r.dir.MkdirAll(name, perm))
}

func (r *osRoot) Create(name string, data []byte, perm fs.FileMode) error {
	if err := checkName(name); err != nil {
		return r.fail("create", name, err)
	}
	return r.fail("create", name, r.create(name, bytes.NewReader(data), perm, false))
}

// newFile opens a file that must not exist, to write it. Without the flag for pipes, which
// a new file is none of, the standard library asks the system four times whether to wait
// for it.
const newFile = os.O_WRONLY | os.O_CREATE | os.O_EXCL | openNonblock

func (r *osRoot) create(name string, from io.WriterTo, perm fs.FileMode, durable bool) error {
	f, err := r.dir.OpenFile(name, newFile, perm)
	if err != nil {
		return err
	}
	_, err = from.WriteTo(f)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = r.dir.Remove(name) // half a file is no use to anyone
	}
	return err
}

func (r *osRoot) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return r.WriteFrom(name, bytes.NewReader(data), perm)
}

func (r *osRoot) WriteFrom(name string, from io.WriterTo, perm fs.FileMode) error {
	if err := checkName(name); err != nil || name == "." {
		return r.fail("write", name, fs.ErrInvalid)
	}
	dir := path.Dir(name)
	temp := path.Join(dir, StageName())
	if err := r.create(temp, from, perm, true); err != nil {
		return r.fail("write", name, err) // the temporary name would tell nobody anything
	}
	if err := r.dir.Rename(temp, name); err != nil {
		_ = r.dir.Remove(temp)
		return r.fail("write", name, err)
	}
	return r.Sync(dir)
}

func (r *osRoot) Rename(oldname, newname string) error {
	if errors.Join(checkName(oldname), checkName(newname)) != nil {
		return r.failLink("rename", oldname, newname, fs.ErrInvalid)
	}
	r.moved.forget()
	return r.failLink("rename", oldname, newname, r.dir.Rename(oldname, newname))
}

func (r *osRoot) RenameNew(oldname, newname string) error {
	err := r.renameFlags(oldname, newname, renameNoReplace)
	if errors.Is(err, errors.ErrUnsupported) {
		// Between the look and the rename only a file or an empty directory
		// could be replaced, and only by a writer that ignores our staging.
		if _, err = r.dir.Lstat(newname); err == nil {
			err = fs.ErrExist
		} else if errors.Is(err, fs.ErrNotExist) {
			err = r.dir.Rename(oldname, newname)
		}
	}
	return r.failLink("rename", oldname, newname, err)
}

func (r *osRoot) Exchange(a, b string) error {
	return r.failLink("exchange", a, b, r.renameFlags(a, b, renameExchange))
}

// renameFlags runs the system's rename with a flag on open directories, so that
// a directory that is swapped for a link meanwhile changes nothing.
func (r *osRoot) renameFlags(oldname, newname string, flag int) error {
	if errors.Join(checkName(oldname), checkName(newname)) != nil || oldname == "." || newname == "." {
		return fs.ErrInvalid
	}
	r.moved.mu.Lock()
	defer r.moved.mu.Unlock()
	r.moved.forgetBelow(oldname)
	r.moved.forgetBelow(newname)
	var err error
	from := r.moved.open(r.dir, path.Dir(oldname))
	if from == nil {
		if from, err = r.dir.Open(path.Dir(oldname)); err != nil {
			return err
		}
		defer from.Close()
	}
	to := from
	switch dir := path.Dir(newname); dir {
	case path.Dir(oldname):
	case ".":
		if to, err = r.handle(); err != nil {
			return err
		}
	default:
		if to, err = r.dir.Open(dir); err != nil {
			return err
		}
		defer to.Close()
	}
	return renameAt(from, path.Base(oldname), to, path.Base(newname), flag)
}

func (r *osRoot) Readlink(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", r.fail("read link", name, err)
	}
	target, err := r.dir.Readlink(name)
	if errors.Is(err, syscall.EINVAL) {
		err = fs.ErrInvalid
	}
	return target, r.fail("read link", name, err)
}

func (r *osRoot) Symlink(target, name string) error {
	if err := checkName(name); err != nil || name == "." || target == "" || strings.ContainsRune(target, 0) {
		return r.fail("link", name, fs.ErrInvalid)
	}
	err := r.dir.Symlink(target, name)
	if noLinks(err) {
		err = errors.ErrUnsupported
	}
	return r.fail("link", name, err)
}

func (r *osRoot) Remove(name string) error {
	if err := checkName(name); err != nil {
		return r.fail("remove", name, err)
	}
	r.moved.forget()
	return r.fail("remove", name, r.dir.Remove(name))
}

func (r *osRoot) RemoveAll(name string) error {
	if err := checkName(name); err != nil || name == "." {
		return r.fail("remove", name, fs.ErrInvalid)
	}
	r.moved.forget()
	return r.fail("remove", name, r.dir.RemoveAll(name))
}

const (
	// wholeSync is how many names make one flush of the whole file system
	// cheaper than one flush for each, by measurement on ext4.
	wholeSync = 32
	// syncers flush at the same time: a journal commits what waits together.
	syncers = 4
)

func (r *osRoot) Sync(names ...string) error {
	for _, name := range names {
		if err := checkName(name); err != nil {
			return r.fail("sync", name, err)
		}
	}
	if err := r.anchor(); err != nil {
		return err
	}
	if len(names) > wholeSync {
		err := r.syncWhole(names[0])
		if !errors.Is(err, errors.ErrUnsupported) {
			return r.fail("sync", names[0], err)
		}
	}
	errs := make([]error, len(names))
	workers.Each(len(names), syncers, func(i int) {
		if err := r.syncOne(names[i]); err != nil {
			errs[i] = r.fail("sync", names[i], err)
		}
	})
	return cmp.Or(errs...)
}

func (r *osRoot) syncOne(name string) error {
	return syncFile(r.dir.OpenFile(name, syncFlags|openNonblock, 0))
}

// syncFile flushes what was opened, if it could be, and closes it.
func syncFile(f *os.File, err error) error {
	if err != nil {
		return ignoreUnsyncable(err)
	}
	return errors.Join(ignoreUnsyncable(f.Sync()), f.Close())
}
