package fsx

import (
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// LookOver is lookOver with as few calls of the system as there can be: for folders
// that did not change, they are all that a command does.
func (r *osRoot) LookOver(name string) (Sight, error) {
	if err := checkName(name); err != nil {
		return Sight{}, r.fail("look at", name, err)
	}
	g := newSighting()
	err := r.above(name, func(parent int) error { return g.folder(parent, path.Base(name), ".") })
	if err != nil {
		return Sight{}, r.fail("look at", name, err)
	}
	return g.sight(), nil
}

// LookAgain asks for each file by its name: no folder is opened and none is listed. Where
// a folder's own times might not tell of a new name, it is LookOver.
func (r *osRoot) LookAgain(name, names string) (Sight, error) {
	if names == "" || !r.tellsNames() {
		return r.LookOver(name)
	}
	if err := checkName(name); err != nil {
		return Sight{}, r.fail("look at", name, err)
	}
	g := newSighting()
	err := r.above(name, func(parent int) error { return g.again(parent, path.Base(name), names) })
	if err != nil {
		return Sight{}, r.fail("look at", name, err)
	}
	return g.sight(), nil
}

// tellsNames reports whether the file system changes the times of a directory whenever a
// name in it changes, at once and for everybody. Those of other machines, and those that
// programs make up, need not.
func (r *osRoot) tellsNames() bool {
	r.kindOnce.Do(func() {
		var st unix.Statfs_t
		if self, err := r.handle(); err == nil && unix.Fstatfs(int(self.Fd()), &st) == nil {
			r.kindTells = tellsNames(uint32(st.Type))
		}
	})
	return r.kindTells
}

func tellsNames(kind uint32) bool {
	const zfs, bcachefs = 0x2fc12fc1, 0xca451a4e
	switch kind {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, zfs, bcachefs:
		return true
	}
	return false
}

// above calls use with the open directory that holds name.
func (r *osRoot) above(name string, use func(parent int) error) error {
	dir := path.Dir(name)
	if dir == "." {
		self, err := r.handle()
		if err != nil {
			return err
		}
		return use(int(self.Fd()))
	}
	parent, err := r.dir.Open(dir)
	if err != nil {
		return err
	}
	defer parent.Close()
	return use(int(parent.Fd()))
}

// again adds the folder called base in the open directory at, and what has these names
// in it. A folder of them that became a link leads to files of other inodes, and so to
// another sum.
func (g *sighting) again(at int, base, names string) error {
	var st unix.Stat_t
	look := func(name, shown string) error {
		if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		return g.add(shown, stampOf(&st))
	}
	if err := look(base, "."); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return ErrNotFolder
	}
	for name := range strings.SplitSeq(names, namesBetween) {
		if err := checkName(name); err != nil {
			return err
		}
		if err := look(base+"/"+name, name); err != nil {
			return err
		}
	}
	return nil
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
	entries, more, err := list(dir, maxSight)
	if err != nil {
		return err
	}
	if more {
		return ErrTooLarge
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

// stampOf is StampOf for what the system itself tells.
func stampOf(st *unix.Stat_t) Stamp {
	return Stamp{Size: st.Size, Mode: modeOf(st.Mode), Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(), Inode: st.Ino}
}

// modeOf puts the system's mode into our words.
func modeOf(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	switch bits & unix.S_IFMT {
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
	if bits&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if bits&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if bits&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
