package fsx

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// What is not whole yet lies under a hidden name beside its target:
//
//	.kx-stage-HOST-PID-RANDOM          a temporary file of WriteFile or PutFile, or a directory of a Batch
//	.kx-stage-HOST-PID-RANDOM/new/0/N  a folder that will be N, in the first part of the batch
//	.kx-stage-HOST-PID-RANDOM/new/N    the same, where new will be the directory itself
//	.kx-stage-HOST-PID-RANDOM/old/N    the folder that was N, where two renames make the swap
//	.kx-stage-HOST-PID-RANDOM-dead     one that is being removed
//
// HOST is 8 hex digits of the machine's name and PID the process that owns it.
const (
	stagePrefix = ".kx-stage-"
	stageDead   = "-dead"
	stageNew    = "new"
	stageOld    = "old"
)

// stageAge is how old a leftover must be when its owner cannot be asked for.
const stageAge = time.Hour

// StageName is a new name for what is not whole yet and that SweepStaged removes once this
// process has ended.
func StageName() string {
	return stagePrefix + hostTag() + "-" + strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:16]
}

func hostTag() string {
	host, _ := os.Hostname() // no name is a name like any other here
	sum := sha256.Sum256([]byte(host))
	return hex.EncodeToString(sum[:4])
}

// stageOwner takes a staging name apart.
func stageOwner(name string) (host string, pid int, dead, ok bool) {
	rest, ok := strings.CutPrefix(name, stagePrefix)
	if !ok {
		return "", 0, false, false
	}
	rest, dead = strings.CutSuffix(rest, stageDead)
	parts := strings.Split(rest, "-")
	if len(parts) != 3 || len(parts[0]) != 8 || len(parts[2]) != 16 {
		return "", 0, false, false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return "", 0, false, false
	}
	return parts[0], pid, dead, true
}

// IsStaged reports whether a name in a directory is one that this package gives
// to what is not whole yet. Readers of the directory pass over it.
func IsStaged(name string) bool {
	_, _, _, ok := stageOwner(name)
	return ok
}

// SweepStaged removes what killed runs left in dir: staging names whose process
// is gone, or which are older than an hour. A folder that was parked for a swap
// that did not finish goes back to its place first. Names that only look similar
// are not touched.
func SweepStaged(r Root, dir string) error {
	entries, err := r.ReadDir(dir)
	if err != nil {
		return err
	}
	var all error
	host := hostTag()
	for _, e := range entries {
		owner, pid, dead, ok := stageOwner(e.Name())
		if !ok || !(e.IsDir() || e.Type().IsRegular()) {
			continue
		}
		name := path.Join(dir, e.Name())
		if !dead && (owner != host || alive(pid)) {
			old, err := olderThan(r, dir, name, stageAge)
			if err != nil {
				all = errors.Join(all, err)
			}
			if !old {
				continue
			}
		}
		if e.IsDir() && !dead {
			if err := unpark(r, dir, name); err != nil {
				all = errors.Join(all, err)
				continue
			}
		}
		if err := doom(r, name); err != nil {
			all = errors.Join(all, err)
		}
	}
	return all
}

// unpark puts back the folders whose swap did not finish. Where the target is
// there, it did finish, and the parked folder is the one to throw away.
func unpark(r Root, dir, stage string) error {
	parked, err := r.ReadDir(path.Join(stage, stageOld))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range parked {
		back := r.RenameNew(path.Join(stage, stageOld, e.Name()), path.Join(dir, e.Name()))
		if back != nil && !errors.Is(back, fs.ErrExist) && !errors.Is(back, fs.ErrNotExist) {
			err = errors.Join(err, back)
		}
	}
	return err
}

// kill renames a staging name to one that is only there to be removed, so that
// nobody, neither a slow owner nor another sweep, takes half of it for the whole.
// A name that is gone meanwhile is no error.
func kill(r Root, name string) (dead string, err error) {
	if strings.HasSuffix(name, stageDead) {
		return name, nil
	}
	dead = name + stageDead
	if err := r.Rename(name, dead); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return dead, nil
}

func doom(r Root, name string) error {
	dead, err := kill(r, name)
	if err != nil {
		return err
	}
	return r.RemoveAll(dead)
}

// olderThan compares with the clock of the file system itself, which on a network
// is not this machine's.
func olderThan(r Root, dir, name string, age time.Duration) (bool, error) {
	info, err := r.Lstat(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	probe := path.Join(dir, StageName())
	if err := r.Create(probe, nil, 0o600); err != nil {
		return false, err
	}
	now, err := r.Lstat(probe)
	if err = errors.Join(err, r.Remove(probe)); err != nil {
		return false, err
	}
	return now.ModTime().Sub(info.ModTime()) > age, nil
}

// Leftovers are the names in dir that SweepStaged would remove, as far as that can
// be told without writing: those of processes that ended on this machine.
func Leftovers(r Dir, dir string) ([]string, error) {
	entries, err := r.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		owner, pid, dead, ok := stageOwner(e.Name())
		if ok && (dead || owner == hostTag() && !alive(pid)) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}
