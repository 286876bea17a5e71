//go:build unix

package fsx

import (
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// heldFolder is the descriptor of an open folder, from which all is made. The standard
// library's own files would ask the system for each whether to wait for it, and walk to
// each folder by folder.
type heldFolder int

// holdFolder opens a folder below root.
func holdFolder(root *os.Root, name string) (heldFolder, error) {
	dir, err := root.Open(name)
	if err != nil {
		return -1, err
	}
	defer dir.Close()
	fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return heldFolder(fd), err
}

func (f heldFolder) mkdir(name string, perm fs.FileMode) error {
	_, err := retry(func() (int, error) { return 0, unix.Mkdirat(int(f), name, uint32(perm.Perm())) })
	return err
}

// create writes a file that must not exist.
func (f heldFolder) create(name string, data []byte, perm fs.FileMode) error {
	fd, err := retry(func() (int, error) {
		return unix.Openat(int(f), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm.Perm()))
	})
	if err != nil {
		return err
	}
	err = writeAll(fd, data)
	if failed := unix.Close(fd); err == nil {
		err = failed
	}
	if err != nil {
		_ = unix.Unlinkat(int(f), name, 0) // half a file is no use to anyone
	}
	return err
}

func writeAll(fd int, data []byte) error {
	const most = 1 << 30 // some systems take no more at once
	for len(data) > 0 {
		n, err := retry(func() (int, error) { return syscall.Write(fd, data[:min(len(data), most)]) })
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		data = data[n:]
	}
	return nil
}

func (f heldFolder) close() { _ = unix.Close(int(f)) }
