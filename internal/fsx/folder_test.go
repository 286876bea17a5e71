//go:build unix

package fsx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// eachFolder runs a test by each way to read a folder, which must not differ.
func eachFolder(t *testing.T, test func(t *testing.T, open func(dir string) Folder)) {
	for way, open := range map[string]func(string) (Folder, error){"by number": OpenFolder, "plain": OpenPlainFolder} {
		t.Run(way, func(t *testing.T) {
			if f, err := open(t.TempDir()); err != nil {
				t.Fatal(err)
			} else if _, err := f.Lstat("absent"); errors.Is(err, ErrChanged) {
				if os.Getenv("KX_TEST_ALL") != "" {
					t.Fatal("openat2 is needed and does not work")
				}
				t.Skip("this system has no openat2, which Linux has since 5.6: folders are read the plain way there")
			} else {
				must(t, f.Close())
			}
			test(t, func(dir string) Folder {
				t.Helper()
				f, err := open(dir)
				must(t, err)
				t.Cleanup(func() { must(t, f.Close()) })
				return f
			})
		})
	}
}

func TestFolderTellsWhatItHolds(t *testing.T) {
	eachFolder(t, func(t *testing.T, open func(string) Folder) {
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("hello"), 0o640))
		must(t, os.WriteFile(filepath.Join(dir, "sub", "a\\b\xff"), nil, 0o755))
		must(t, os.Symlink("file", filepath.Join(dir, "link")))
		must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
		f := open(dir)
		var lines []string
		var walk func(name string, listed fs.DirEntry)
		walk = func(name string, listed fs.DirEntry) {
			entries, more, err := f.List(name, listed, 10)
			must(t, err)
			if more {
				t.Errorf("%s has more", name)
			}
			for _, e := range entries {
				at := path.Join(name, e.Name())
				info, err := e.Info()
				must(t, err)
				looked, err := f.Lstat(at)
				must(t, err)
				if StampOf(looked) != StampOf(info) || looked.Mode().Type() != e.Type() || looked.Name() != e.Name() {
					t.Errorf("%s is %v, and %v when it is looked at", at, e, looked)
				}
				line := fmt.Sprintf("%q %v", at, info.Mode())
				switch {
				case e.IsDir():
					defer walk(at, e)
				case e.Type() == fs.ModeSymlink:
					to, err := f.Readlink(at)
					must(t, err)
					line += " to " + to
				case e.Type().IsRegular():
					file, opened, err := f.Open(at, e)
					must(t, err)
					data, err := io.ReadAll(file)
					must(t, err)
					again, err := file.Stat()
					must(t, err)
					if StampOf(opened) != StampOf(info) || StampOf(again) != StampOf(info) || !opened.ModTime().Equal(info.ModTime()) || opened.Size() != int64(len(data)) || opened.Name() != info.Name() {
						t.Errorf("%s is %v when it is opened, %v later, and %v when it is looked at", at, opened, again, info)
					}
					must(t, file.Close())
					line += ": " + string(data)
				}
				lines = append(lines, line)
			}
		}
		walk(".", nil)
		want := []string{
			`"file" -rw-r-----: hello`, `"link" Lrwxrwxrwx to file`, `"pipe" prw-r--r--`, `"sub" drwxr-xr-x`,
			`"sub/a\\b\xff" -rwxr-xr-x: `, `"sub/deep" drwxr-xr-x`,
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFolderListsNoMoreThanIsAsked(t *testing.T) {
	eachFolder(t, func(t *testing.T, open func(string) Folder) {
		dir := t.TempDir()
		for i := range 400 { // more than one answer of the system
			must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%03d", strings.Repeat("long", 20), i)), nil, 0o644))
		}
		f := open(dir)
		for _, tt := range []struct {
			limit, n int
			more     bool
		}{{0, 0, true}, {399, 399, true}, {400, 400, false}, {401, 400, false}, {3, 3, true}, {400, 400, false}} {
			entries, more, err := f.List(".", nil, tt.limit)
			must(t, err)
			if len(entries) != tt.n || more != tt.more {
				t.Fatalf("at most %d are %d, more %t", tt.limit, len(entries), more)
			}
			for i := 1; i < len(entries); i++ {
				if entries[i-1].Name() >= entries[i].Name() {
					t.Fatalf("%s stands before %s", entries[i-1].Name(), entries[i].Name())
				}
			}
			if _, ok := f.(*plainFolder); ok {
				f = open(dir) // which is listed once
			}
		}
	})
}

// TestSwappedNamesAreNotRead has something else take a name between the list and the
// opening.
func TestSwappedNamesAreNotRead(t *testing.T) {
	for what, tt := range map[string]struct {
		swap func(dir string) error
		gone bool
	}{
		"another file":       {swap: func(dir string) error { return os.Rename(dir+"/other", dir+"/sub/file") }},
		"a link to the file": {swap: func(dir string) error { return os.Symlink("was", dir+"/sub/file") }},
		"a link out":         {swap: func(dir string) error { return os.Symlink("/etc/passwd", dir+"/sub/file") }},
		"a pipe":             {swap: func(dir string) error { return syscall.Mkfifo(dir+"/sub/file", 0o644) }},
		"a folder":           {swap: func(dir string) error { return os.Mkdir(dir+"/sub/file", 0o755) }},
		"nothing":            {swap: func(string) error { return nil }, gone: true},
		"another folder on the way": {swap: func(dir string) error {
			return errors.Join(os.Rename(dir+"/sub", dir+"/was"), os.Rename(dir+"/twin", dir+"/sub"))
		}},
		"a link out on the way": {swap: func(dir string) error {
			return errors.Join(os.Rename(dir+"/sub", dir+"/was"), os.Symlink("/etc", dir+"/sub"))
		}},
		"a link within on the way": {swap: func(dir string) error {
			return errors.Join(os.Rename(dir+"/sub", dir+"/was"), os.Symlink("twin", dir+"/sub"))
		}},
		"a file instead of a folder": {swap: func(dir string) error {
			return errors.Join(os.Rename(dir+"/sub", dir+"/was"), os.Rename(dir+"/other", dir+"/sub"))
		}},
	} {
		t.Run(what, func(t *testing.T) {
			eachFolder(t, func(t *testing.T, open func(string) Folder) {
				dir := t.TempDir()
				for _, sub := range []string{"sub", "twin"} {
					must(t, os.Mkdir(filepath.Join(dir, sub), 0o755))
					must(t, os.WriteFile(filepath.Join(dir, sub, "file"), []byte("1"), 0o644))
				}
				must(t, os.WriteFile(filepath.Join(dir, "other"), []byte("2"), 0o644))
				f := open(dir)
				top, _, err := f.List(".", nil, 10)
				must(t, err)
				sub := top[1]
				inner, _, err := f.List("sub", sub, 10)
				must(t, err)
				if !strings.Contains(what, "way") && !strings.Contains(what, "instead") {
					must(t, os.Rename(filepath.Join(dir, "sub", "file"), filepath.Join(dir, "sub", "was")))
				} else if _, _, err := f.List("twin", top[2], 10); err != nil {
					t.Errorf("a folder that is as it was: %v", err)
				}
				must(t, tt.swap(dir))
				file, _, err := f.Open("sub/file", inner[0])
				_, plain := f.(*plainFolder)
				switch {
				case err == nil:
					file.Close()
					if !plain || what != "a link to the file" { // which is the one that was listed
						t.Error("it is opened")
					}
				case tt.gone:
					wantErr(t, err, fs.ErrNotExist)
				case !plain:
					wantErr(t, err, ErrChanged)
				}
				if strings.Contains(what, "way") || strings.Contains(what, "instead") {
					if list, _, err := f.List("sub", sub, 10); err == nil {
						t.Errorf("the folder is listed: %v", list)
					}
				}
			})
		})
	}
}

func TestFolderThatIsNone(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	must(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	must(t, os.Symlink("pipe", filepath.Join(dir, "pipelink")))
	for name, open := range map[string]func(string) (Folder, error){"by number": OpenFolder, "plain": OpenPlainFolder} {
		for _, base := range []string{"file", "pipe", "absent", "pipelink", "real\x00"} {
			f, err := open(filepath.Join(dir, base))
			if err == nil {
				f.Close()
				t.Errorf("%s: %q is a folder", name, base)
			}
			if base == "absent" {
				wantErr(t, err, fs.ErrNotExist)
			}
		}
		for _, base := range []string{"link", "real/", "."} {
			f, err := open(dir + "/" + base)
			must(t, err)
			for _, out := range []string{"../file", "..", "/etc/passwd"} {
				if e, err := f.Lstat(out); err == nil {
					t.Errorf("%s: %s leads out to %v", name, out, e)
				}
			}
			must(t, f.Close())
		}
	}
}
