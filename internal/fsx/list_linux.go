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
	name string
	kind uint8 // unix.DT_*
}

// list reads an open directory, ascending by name: ErrTooLarge with more than limit names
// in it.
func list(dir, limit int) ([]dirent, error) {
	buffer := direntBuffers.Get().(*[8192]byte)
	defer direntBuffers.Put(buffer)
	var out []dirent
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(dir, buffer[:]) })
		if err != nil {
			return nil, err
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
				out = append(out, dirent{name, rest[kindAt]})
			}
			rest = rest[length:]
		}
		if len(out) > limit {
			return nil, ErrTooLarge
		}
	}
	sorting.Sort(out, func(a, b dirent) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// readDir lists without a call for each name, which the standard library makes below an
// os.Root.
func (r *osRoot) readDir(name string) ([]fs.DirEntry, error) {
	dir, err := r.dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	listed, err := list(int(dir.Fd()), math.MaxInt)
	if err != nil {
		return nil, err
	}
	out := make([]fs.DirEntry, 0, len(listed))
	for _, e := range listed {
		one := listedEntry{root: r, dir: name, name: e.name}
		switch e.kind {
		case unix.DT_REG:
		case unix.DT_DIR:
			one.kind = fs.ModeDir
		case unix.DT_LNK:
			one.kind = fs.ModeSymlink
		default: // rare, or a file system that does not tell the kind
			info, err := one.Info()
			if err != nil {
				continue // it is gone
			}
			one.kind = info.Mode().Type()
		}
		out = append(out, one)
	}
	return out, nil
}

// listedEntry is one name of a directory.
type listedEntry struct {
	root *osRoot
	dir  string
	name string
	kind fs.FileMode
}

func (e listedEntry) Name() string      { return e.name }
func (e listedEntry) IsDir() bool       { return e.kind.IsDir() }
func (e listedEntry) Type() fs.FileMode { return e.kind }

// Info asks when it is called, while the root is open.
func (e listedEntry) Info() (fs.FileInfo, error) { return e.root.Lstat(path.Join(e.dir, e.name)) }
