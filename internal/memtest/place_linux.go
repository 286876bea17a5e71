package memtest

import "syscall"

// place is a file system in memory, if there is one.
const place = "/dev/shm"

const (
	tmpfs  = 0x01021994 // the file system's number in statfs(2)
	noExec = 0x8        // mounted so that programs in it do not start
)

// roomy says whether dir is in memory, lets programs start, and has that many bytes left.
func roomy(dir string, bytes uint64) bool {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Type != tmpfs || fs.Flags&noExec != 0 {
		return false
	}
	return fs.Bavail*uint64(fs.Bsize) >= bytes
}
