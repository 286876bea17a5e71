package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestLockDir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "count")
	if err := os.WriteFile(file, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	const writers, times = 8, 20
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range times {
				unlock, err := LockDir(dir)
				if err != nil {
					t.Error(err)
					return
				}
				data, _ := os.ReadFile(file)
				n, _ := strconv.Atoi(string(data))
				if err := WriteFileAt(file, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
					t.Error(err)
				}
				unlock()
			}
		})
	}
	group.Wait()
	if data, _ := os.ReadFile(file); string(data) != strconv.Itoa(writers*times) {
		t.Errorf("%s of %d changes are left", data, writers*times)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}
	if _, err := LockDir(filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestOpenOrCreateRefusesLongPaths(t *testing.T) {
	base := t.TempDir()
	for _, long := range []string{
		strings.Repeat("x", 256),
		"a/b/" + strings.Repeat("é", 128) + "/c",
		strings.Repeat("deep/", 820),
	} {
		root, err := OpenOrCreate(filepath.Join(base, filepath.FromSlash(long)), 0o755)
		if err == nil {
			t.Error(errors.Join(errors.New("a long path was made"), root.Close()))
			continue
		}
		if !errors.Is(err, syscall.ENAMETOOLONG) || len(err.Error()) > 200 {
			t.Errorf("%.200v", err)
		}
		if entries, _ := os.ReadDir(base); len(entries) != 0 {
			t.Errorf("something was made: %v", entries)
		}
	}
	root, err := OpenOrCreate(filepath.Join(base, strings.Repeat("x", 255), "y"), 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Close(); err != nil {
		t.Error(err)
	}
}
