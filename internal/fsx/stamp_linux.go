package fsx

import (
	"io/fs"
	"syscall"
)

func inode(info fs.FileInfo, modified int64) (changed int64, number uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino
	}
	return modified, 0
}
