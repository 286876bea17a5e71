package fsx

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// syncWhole flushes the file system that holds name: all that was written to it before,
// by whomever, is durable afterwards, files and directories alike. It is one wait where
// fsync of each file and directory would be thousands, for the same guarantee.
//
// What could not be written is told to whoever holds the file system open since before
// the writing, so the directory of the root is used, which was opened before anything was
// staged. Where name is on another file system, it is opened now; an error that somebody
// else was told meanwhile would be missed then, which is why that is for mount points
// below the root alone. On an overlay it is the upper file system that is flushed.
func (r *osRoot) syncWhole(name string) error {
	if !syncfsTells() {
		return errors.ErrUnsupported
	}
	root, err := r.handle()
	if err != nil {
		return err
	}
	f, err := r.dir.OpenFile(name, syncFlags|openNonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var top, at unix.Stat_t
	if err := errors.Join(unix.Fstat(int(root.Fd()), &top), unix.Fstat(int(f.Fd()), &at)); err != nil {
		return err
	}
	if top.Dev == at.Dev {
		return unix.Syncfs(int(root.Fd()))
	}
	return unix.Syncfs(int(f.Fd()))
}

// syncfsTells reports whether this kernel's syncfs tells what could not be written:
// before 5.8 it succeeds whatever happened.
var syncfsTells = sync.OnceValue(func() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	return tellsSince(unix.ByteSliceToString(name.Release[:]))
})

func tellsSince(release string) bool {
	major, rest, _ := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	if end < 0 {
		end = len(rest)
	}
	first, err := strconv.Atoi(major)
	second, also := strconv.Atoi(rest[:end])
	return err == nil && also == nil && (first > 5 || first == 5 && second >= 8)
}
