package fsx

import (
	"encoding/binary"
	"io/fs"
	"math"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/kortecx/kx/internal/sorting"
)

// direntBuffers are for the lists of directories.
var direntBuffers = sync.Pool{New: func() any { return new([8192]byte) }}

type dirent struct {
	name  string
	kind  uint8 // unix.DT_*
	inode uint64
}

// list gives at most limit names of an open directory, ascending, and whether there are
// more.
func list(dir, limit int) (out []dirent, more bool, err error) {
	buffer := direntBuffers.Get().(*[8192]byte)
	defer direntBuffers.Put(buffer)
	for !more {
		n, err := retry(func() (int, error) { return unix.Getdents(dir, buffer[:]) })
		if err != nil {
			return nil, false, err
		}
		if n == 0 {
			break
		}
		for rest := buffer[:n]; len(rest) > 0; {
			// struct linux_dirent64: inode, offset, length of this entry, kind, name, NUL.
			const lengthAt, kindAt, nameAt = 16, 18, 19
			length := int(binary.NativeEndian.Uint16(rest[lengthAt:]))
			name, _, _ := strings.Cut(string(rest[nameAt:length]), "\x00")
			if name != "." && name != ".." {
				out = append(out, dirent{name, rest[kindAt], binary.NativeEndian.Uint64(rest)})
			}
			rest = rest[length:]
		}
		if len(out) > limit {
			out, more = out[:limit], true
		}
	}
	sorting.Sort(out, func(a, b dirent) int { return strings.Compare(a.name, b.name) })
	return out, more, nil
}

// entriesOf is list for the open directory that is called name. look tells about what is
// in it when it is asked.
func entriesOf(dir int, name string, limit int, look func(string) (fs.FileInfo, error)) (entries []fs.DirEntry, more bool, err error) {
	found, more, err := list(dir, limit)
	if err != nil {
		return nil, false, err
	}
	entries = make([]fs.DirEntry, 0, len(found))
	held := make([]listedEntry, len(found))
	for i, e := range found {
		one := &held[i]
		*one = listedEntry{look: look, dir: name, name: e.name, inode: e.inode}
		switch e.kind {
		case unix.DT_REG:
		case unix.DT_DIR:
			one.kind = fs.ModeDir
		case unix.DT_LNK:
			one.kind = fs.ModeSymlink
		default: // rare, or a file system that does not tell the kind
			var st unix.Stat_t
			err := unix.Fstatat(dir, e.name, &st, unix.AT_SYMLINK_NOFOLLOW)
			if err == unix.ENOENT {
				continue
			}
			if err != nil {
				return nil, false, err
			}
			one.kind, one.inode = modeOf(st.Mode).Type(), st.Ino
		}
		entries = append(entries, one)
	}
	return entries, more, nil
}

// listedEntry is one name of a directory.
type listedEntry struct {
	look  func(string) (fs.FileInfo, error)
	dir   string
	name  string
	kind  fs.FileMode
	inode uint64 // as the directory lists it
}

func (e *listedEntry) Name() string      { return e.name }
func (e *listedEntry) IsDir() bool       { return e.kind.IsDir() }
func (e *listedEntry) Type() fs.FileMode { return e.kind }

// Info asks when it is called, while the directory is open.
func (e *listedEntry) Info() (fs.FileInfo, error) { return e.look(path.Join(e.dir, e.name)) }

// readDir lists without a call for each name, which the standard library makes below an
// os.Root.
func (r *osRoot) readDir(name string) ([]fs.DirEntry, error) {
	dir, err := r.dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, _, err := entriesOf(int(dir.Fd()), name, math.MaxInt, r.Lstat)
	return entries, err
}
