package fsx

import (
	"encoding/binary"
	"io/fs"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/kortecx/kx/internal/sorting"
)

// LookOver is lookOver with as few calls of the system as there can be: for folders
// that did not change, they are all that a command does.
func (r *osRoot) LookOver(name string) (Sight, error) {
	if err := checkName(name); err != nil {
		return Sight{}, r.fail("look at", name, err)
	}
	parent, err := r.handle()
	if dir := path.Dir(name); err == nil && dir != "." {
		if parent, err = r.dir.Open(dir); err == nil {
			defer parent.Close()
		}
	}
	if err != nil {
		return Sight{}, r.fail("look at", name, err)
	}
	g := newSighting()
	if err := g.folder(int(parent.Fd()), path.Base(name), "."); err != nil {
		return Sight{}, r.fail("look at", name, err)
	}
	return g.sight(), nil
}

// direntBuffers are for the lists of directories.
var direntBuffers = sync.Pool{New: func() any { return new([8192]byte) }}

type dirent struct {
	name string
	kind uint8 // unix.DT_*
}

// folder adds the folder called base in the open directory at, and what it holds;
// shown is its name from where the walk began.
func (g *sighting) folder(at int, base, shown string) error {
	dir, err := retry(func() (int, error) {
		return unix.Openat(at, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err == unix.ENOTDIR || err == unix.ELOOP {
		return ErrNotFolder
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	if err := g.add(shown, stampOf(&st)); err != nil {
		return err
	}
	entries, err := list(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(shown, e.name)
		if e.kind != unix.DT_DIR {
			if err := unix.Fstatat(dir, e.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return err
			}
			if s := stampOf(&st); !s.Mode.IsDir() { // some file systems do not tell the kind
				if err := g.add(name, s); err != nil {
					return err
				}
				continue
			}
		}
		if err := g.folder(dir, e.name, name); err != nil {
			return err
		}
	}
	return nil
}

// list reads an open directory, ascending by name.
func list(dir int) ([]dirent, error) {
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
		if len(out) > maxSight {
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

// stampOf is StampOf for what the system itself tells.
func stampOf(st *unix.Stat_t) Stamp {
	mode := fs.FileMode(st.Mode & 0o777)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	if st.Mode&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if st.Mode&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if st.Mode&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return Stamp{Size: st.Size, Mode: mode, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(), Inode: st.Ino}
}
