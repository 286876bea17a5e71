package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFileInTheWayIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "x"), filepath.Join(file, "x", "y")} {
		_, err := OpenOrCreate(dir, 0o755)
		if err == nil || !strings.HasPrefix(err.Error(), file+" is not a directory: ") || !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		op, path string
		err      error
		want     string
	}{
		{"mkdir", "a/b", syscall.EACCES, "a/b cannot be written: permission denied; "},
		{"mkdir", "a/.kx-stage-1-2-3", syscall.EACCES, "a cannot be written: permission denied; "},
		{"open", ".kx-stage-1-2-3", syscall.EROFS, ". cannot be written: read-only file system; "},
		{"open", "a/b", syscall.EACCES, "a/b cannot be opened: permission denied; "},
		{"mkdir", "a/b", syscall.ENOSPC, "mkdir a/b: no space left on device"},
	} {
		in := &fs.PathError{Op: c.op, Path: filepath.FromSlash(c.path), Err: c.err}
		if got := refused(in); !strings.HasPrefix(filepath.ToSlash(got.Error()), c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v: %v", in, got)
		}
	}
}
