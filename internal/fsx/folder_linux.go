package fsx

import (
	"io"
	"io/fs"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// OpenFolder opens the folder at dir, which may be a symbolic link. It reads with as few
// calls as there can be: a name is told by the number that its folder lists for it. Some
// file systems list another number than they tell of the open file, what is mounted on a
// name has another one, and not every system knows openat2: then there is ErrChanged too,
// and OpenPlainFolder tells the truth.
func OpenFolder(dir string) (Folder, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(onlyFolder(dir), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return &rawFolder{fd: fd}, nil
}

// How names below a folder are opened: not outside of it, and through no link, not even
// one in the middle.
const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS

var (
	asFile   = unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: resolve}
	asFolder = unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: resolve}
	asName   = unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: resolve}
)

type rawFolder struct {
	fd   int
	read bool          // the folder itself was listed, and would go on behind its end
	top  []fs.DirEntry // what it holds, where all of it was listed
}

// open opens a name, which must be what was listed where that is not nil, and tells about
// what it has opened.
func (f *rawFolder) open(name string, how *unix.OpenHow, listed fs.DirEntry) (fd int, info *rawInfo, err error) {
	fd, err = retry(func() (int, error) { return unix.Openat2(f.fd, name, how) })
	switch err {
	case nil:
	case unix.ELOOP, unix.ENOTDIR, unix.EXDEV, // a link, no folder, moved away: none was listed
		unix.ENOSYS, unix.EPERM: // before Linux 5.6, and where a sandbox stands in between
		return -1, nil, ErrChanged
	default:
		return -1, nil, err
	}
	info, err = stat(fd, path.Base(name))
	if err == nil && listed != nil {
		if e, ok := listed.(*listedEntry); !ok || e.inode != info.stat.Ino || e.kind != info.Mode().Type() {
			err = ErrChanged
		}
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, info, err
}

func (f *rawFolder) List(name string, listed fs.DirEntry, limit int) (entries []fs.DirEntry, more bool, err error) {
	if listed != nil {
		dir, _, err := f.open(name, &asFolder, listed)
		if err != nil {
			return nil, false, err
		}
		defer unix.Close(dir)
		return entriesOf(dir, name, limit, f.Lstat)
	}
	if f.top != nil && len(f.top) <= limit {
		return f.top, false, nil
	}
	if f.read {
		if _, err := syscall.Seek(f.fd, 0, io.SeekStart); err != nil {
			return nil, false, err
		}
	}
	f.read = true
	entries, more, err = entriesOf(f.fd, ".", limit, f.Lstat)
	if !more {
		f.top = entries
	}
	return entries, more, err
}

// Lstat tells about a name without opening what it means.
func (f *rawFolder) Lstat(name string) (fs.FileInfo, error) {
	fd, info, err := f.open(name, &asName, nil)
	if err != nil {
		return nil, err
	}
	return info, unix.Close(fd)
}

func (f *rawFolder) Open(name string, listed fs.DirEntry) (fs.File, fs.FileInfo, error) {
	fd, info, err := f.open(name, &asFile, listed)
	if err != nil {
		return nil, nil, err
	}
	return &rawFile{fd: fd, name: info.Name()}, info, nil
}

func (f *rawFolder) Readlink(name string) (string, error) {
	fd, _, err := f.open(name, &asName, nil)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buffer := make([]byte, maxPath)
	n, err := unix.Readlinkat(fd, "", buffer)
	return string(buffer[:max(n, 0)]), err
}

func (f *rawFolder) Close() error { return unix.Close(f.fd) }

// rawInfo is what the system tells about an open file.
type rawInfo struct {
	name string
	stat syscall.Stat_t
}

func stat(fd int, name string) (*rawInfo, error) {
	info := &rawInfo{name: name}
	return info, syscall.Fstat(fd, &info.stat)
}

func (i *rawInfo) Name() string       { return i.name }
func (i *rawInfo) Size() int64        { return i.stat.Size }
func (i *rawInfo) Mode() fs.FileMode  { return modeOf(i.stat.Mode) }
func (i *rawInfo) ModTime() time.Time { return time.Unix(i.stat.Mtim.Unix()) }
func (i *rawInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i *rawInfo) Sys() any           { return &i.stat }

// rawFile is an open regular file.
type rawFile struct {
	fd   int
	name string
}

func (f *rawFile) Read(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	n, err := retry(func() (int, error) { return syscall.Read(f.fd, data) })
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (f *rawFile) Stat() (fs.FileInfo, error) {
	info, err := stat(f.fd, f.name)
	return info, err
}

func (f *rawFile) Close() error { return unix.Close(f.fd) }
