//go:build unix

package fsx

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "five"), []byte("12345"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	must(t, os.Symlink("five", filepath.Join(dir, "link")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "out")))
	must(t, os.Symlink("..", filepath.Join(dir, "up")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	big, err := os.Create(filepath.Join(dir, "sparse"))
	must(t, err)
	must(t, errors.Join(big.Truncate(8<<30), big.Close()))

	for _, tt := range []struct {
		name  string
		limit int64
		want  string
		err   error
	}{
		{"five", 5, "12345", nil},
		{"five", 4, "", ErrTooLarge},
		{"empty", 0, "", nil},
		{"sparse", 1 << 20, "", ErrTooLarge},
		{"folder", 9, "", ErrNotRegular},
		{"link", 9, "", ErrNotRegular},
		{"out", 9, "", ErrNotRegular},
		{"pipe", 9, "", ErrNotRegular},
		{"absent", 9, "", fs.ErrNotExist},
		{"../five", 9, "", fs.ErrInvalid},
		{"/etc/passwd", 9, "", fs.ErrInvalid},
		{"folder/../five", 9, "", fs.ErrInvalid},
		{`folder\five`, 9, "", fs.ErrInvalid},
		{"fi\x00ve", 9, "", fs.ErrInvalid},
		{"", 9, "", fs.ErrInvalid},
	} {
		data, err := r.ReadFile(tt.name, tt.limit)
		if string(data) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("ReadFile(%q, %d) = %q, %v; want %q, %v", tt.name, tt.limit, data, err, tt.want, tt.err)
		}
		if err != nil && !strings.Contains(err.Error(), dir) {
			t.Errorf("ReadFile(%q): %v does not name the whole path", tt.name, err)
		}
	}
	if _, err := r.ReadFile("up/"+filepath.Base(dir)+"/five", 9); err == nil {
		t.Error("a link out of the root was followed on the way")
	}
}

func TestOpenDirStaysWhatItWas(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	must(t, PutDir(r, "hello", folder("1")))
	must(t, os.Symlink("hello", filepath.Join(dir, "link")))
	for name, want := range map[string]error{
		"link": ErrNotFolder, "hello/SKILL.md": ErrNotFolder, "absent": fs.ErrNotExist, "../x": fs.ErrInvalid,
	} {
		_, err := r.OpenDir(name)
		wantErr(t, err, want)
	}
	d, err := r.OpenDir("hello")
	must(t, err)
	defer d.Close()
	read := func(want string) {
		data, err := d.ReadFile("SKILL.md", 100)
		if string(data) != want || (err == nil) != (want != "") {
			t.Errorf("read %q, %v", data, err)
		}
	}
	read("version 1\n")
	must(t, ReplaceDir(r, "hello", folder("2"), func(string) error { read("version 1\n"); return nil }))
	read("") // removed, not replaced
	if _, err := d.ReadFile("../hello/SKILL.md", 100); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
}

func TestReadFileSeesGrowth(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	name := filepath.Join(dir, "log")
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// Two versions of two lengths, written in place as a careless
			// program does.
			_ = os.WriteFile(name, bytes.Repeat([]byte{"ab"[i%2]}, 100+i%2), 0o600)
		}
	})
	for range 2000 {
		data, err := r.ReadFile("log", 1000)
		if err == nil && (len(data) == 100 || len(data) == 101) {
			continue // contents may still mix: only a lock could prevent that
		}
		if err == nil && len(data) > 0 {
			t.Errorf("read %d bytes without an error", len(data))
		}
		if err != nil && !errors.Is(err, ErrChanged) && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	close(stop)
	group.Wait()
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	must(t, r.WriteFile("key", []byte("one"), 0o600))
	same(t, dir, []string{"key 600: one"})
	must(t, r.WriteFile("key", []byte("two"), 0o644))
	same(t, dir, []string{"key 644: two"})

	outside := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(outside, []byte("mine"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	must(t, r.WriteFile("link", []byte("three"), 0o600))
	same(t, dir, []string{"key 644: two", "link 600: three"})
	same(t, filepath.Dir(outside), []string{"victim 600: mine"})

	must(t, r.MkdirAll("folder/inner", 0o755))
	if err := r.WriteFile("folder", []byte("x"), 0o600); err == nil {
		t.Error("a directory was replaced by a file")
	}
	wantErr(t, r.WriteFile("absent/key", nil, 0o600), fs.ErrNotExist)
	wantErr(t, r.WriteFile(".", nil, 0o600), fs.ErrInvalid)
	if diff := cmp.Diff([]string{"folder", "key", "link"}, entries(t, r)); diff != "" {
		t.Error(diff)
	}

	at := filepath.Join(dir, "folder", "at")
	must(t, WriteFileAt(at, []byte("four"), 0o600))
	data, err := os.ReadFile(at)
	if string(data) != "four" || err != nil {
		t.Errorf("WriteFileAt wrote %q, %v", data, err)
	}
	wantErr(t, WriteFileAt(filepath.Join(dir, "nowhere", "at"), nil, 0o600), fs.ErrNotExist)
	t.Chdir(dir)
	must(t, WriteFileAt("relative", []byte("five"), 0o600))
}

func TestRenameNewReplacesNothing(t *testing.T) {
	for name, wrap := range map[string]func(Root) Root{"system": func(r Root) Root { return r }, "plain": func(r Root) Root { return plain{r} }} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := wrap(open(t, dir))
			must(t, r.Create("file", []byte("1"), 0o644))
			must(t, r.MkdirAll("empty", 0o755))
			must(t, r.MkdirAll("folder/inner", 0o755))
			must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
			for _, to := range []string{"file", "empty", "dangling"} {
				wantErr(t, r.RenameNew("folder", to), fs.ErrExist)
			}
			wantErr(t, r.RenameNew("absent", "new"), fs.ErrNotExist)
			must(t, r.RenameNew("folder", "new"))
			if diff := cmp.Diff([]string{"dangling", "empty", "file", "new"}, entries(t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFolders(t *testing.T) {
	for name, wrap := range map[string]func(Root) Root{"system": func(r Root) Root { return r }, "plain": func(r Root) Root { return plain{r} }} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := wrap(open(t, dir))
			must(t, PutDir(r, "hello", folder("1")))
			same(t, dir, want("hello", folder("1")))
			wantErr(t, PutDir(r, "hello", folder("2")), fs.ErrExist)
			same(t, dir, want("hello", folder("1")))

			must(t, ReplaceDir(r, "hello", folder("2"), nil))
			same(t, dir, want("hello", folder("2")))
			wantErr(t, ReplaceDir(r, "absent", folder("1"), nil), fs.ErrNotExist)

			refused := errors.New("edited meanwhile")
			refuse := func(old string) error {
				same(t, filepath.Join(dir, old), want("", folder("2")))
				return refused
			}
			wantErr(t, ReplaceDir(r, "hello", folder("3"), refuse), refused)
			wantErr(t, RemoveDir(r, "hello", refuse), refused)
			same(t, dir, want("hello", folder("2")))

			must(t, RemoveDir(r, "hello", nil))
			wantErr(t, RemoveDir(r, "hello", nil), fs.ErrNotExist)
			if got := entries(t, r); len(got) != 0 {
				t.Errorf("%q are left", got)
			}

			must(t, r.MkdirAll("a/b", 0o755))
			must(t, PutDir(r, "a/b/hello", folder("1")))
			same(t, dir, want("a/b/hello", folder("1")))
			must(t, r.MkdirAll("empty", 0o755))
			wantErr(t, PutDir(r, "empty", folder("1")), fs.ErrExist)

			for _, bad := range []string{"", ".", "..", "../hello", "/hello", "a/../b"} {
				if err := PutDir(r, bad, folder("1")); err == nil {
					t.Errorf("PutDir(%q) wrote", bad)
				}
			}
			for _, bad := range []string{"", ".", "../x", "/x", "a/../../x", `a\b`} {
				wantErr(t, PutDir(r, "bad", []File{{bad, nil, 0o644}}), fs.ErrInvalid)
			}
			wantErr(t, PutDir(r, "bad", []File{{"x", nil, 0o644}, {"x", nil, 0o644}}), fs.ErrExist)
			if err := PutDir(r, "bad", []File{{"x", nil, 0o644}, {"x/y", nil, 0o644}}); err == nil {
				t.Error("a file was taken for a directory")
			}
			if diff := cmp.Diff([]string{"a", "empty"}, entries(t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWhatCannotGoBackIsKept: a check refuses to lose the old folder, but its
// place is taken or gone by then.
func TestWhatCannotGoBackIsKept(t *testing.T) {
	refused := errors.New("edited meanwhile")
	for name, wrap := range map[string]func(Root) Root{"system": func(r Root) Root { return r }, "plain": func(r Root) Root { return plain{r} }} {
		for _, remove := range []bool{false, true} {
			t.Run(fmt.Sprint(name, remove), func(t *testing.T) {
				dir := t.TempDir()
				r := wrap(open(t, dir))
				must(t, PutDir(r, "hello", folder("1")))
				disturb := func(string) error {
					must(t, os.RemoveAll(filepath.Join(dir, "hello")))
					if name == "plain" || remove {
						must(t, os.Mkdir(filepath.Join(dir, "hello"), 0o755))
					}
					return refused
				}
				var err error
				if remove {
					err = RemoveDir(r, "hello", disturb)
				} else {
					err = ReplaceDir(r, "hello", folder("2"), disturb)
				}
				wantErr(t, err, refused)
				kept, _ := filepath.Glob(filepath.Join(dir, "hello.kx-kept-*"))
				if len(kept) != 1 || !strings.Contains(err.Error(), filepath.Base(kept[0])) {
					t.Fatalf("%v are kept, the error is %v", kept, err)
				}
				same(t, kept[0], want("", folder("1")))
			})
		}
	}
}

func TestBatchReportsEachFolder(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	must(t, PutDir(r, "there", folder("1")))
	b := NewBatch(r, ".")
	must(t, b.Put("new", folder("1")))
	must(t, b.Put("there", folder("2")))
	must(t, b.Replace("absent", folder("2"), nil))
	wantErr(t, b.Put("new", folder("2")), fs.ErrExist)
	errs := b.Commit()
	wantErr(t, errs[0], nil)
	wantErr(t, errs[1], fs.ErrExist)
	wantErr(t, errs[2], fs.ErrNotExist)
	same(t, dir, append(want("new", folder("1")), want("there", folder("1"))...))

	// What cannot even be written is its own folder's error, and nobody else's.
	b = NewBatch(r, ".")
	must(t, b.Put("twice", []File{{Path: "f", Perm: 0o644}, {Path: "f", Perm: 0o644}}))
	must(t, b.Put("below", []File{{Path: "f", Perm: 0o644}, {Path: "f/g", Perm: 0o644}}))
	must(t, b.Put("fine", folder("1")))
	wantErr(t, b.Put("up", []File{{Path: "../f"}}), fs.ErrInvalid)
	errs = b.Commit()
	wantErr(t, errs[0], fs.ErrExist)
	for i, failed := range []bool{true, true, false} {
		if _, ok := errors.AsType[*StageError](errs[i]); ok != failed {
			t.Errorf("folder %d gives %v", i, errs[i])
		}
	}
	must(t, RemoveDir(r, "fine", nil))
	b = NewBatch(r, ".")
	must(t, b.Put("twice", []File{{Path: "f", Perm: 0o644}, {Path: "f", Perm: 0o644}}))
	errs = b.Commit()
	wantErr(t, errs[0], fs.ErrExist)

	if empty := NewBatch(r, ".").Commit(); len(empty) != 0 {
		t.Errorf("an empty batch gives %v", empty)
	}
	if diff := cmp.Diff([]string{"new", "there"}, entries(t, r)); diff != "" {
		t.Error(diff)
	}
}

// TestManyNamesSync covers the flush of the whole file system.
func TestManyNamesSync(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	b := NewBatch(r, ".")
	for i := range 3 * wholeSync {
		must(t, b.Put(fmt.Sprint("s", i), folder("1")))
	}
	must(t, errors.Join(b.Commit()...))
	if got := len(entries(t, r)); got != 3*wholeSync {
		t.Errorf("%d folders are there", got)
	}
	for i := range 3 * wholeSync { // written at the same time, each is whole and its own
		if got, want := tree(t, filepath.Join(dir, fmt.Sprint("s", i))), tree(t, filepath.Join(dir, "s0")); !slices.Equal(got, want) {
			t.Errorf("folder %d holds %q instead of %q", i, got, want)
		}
	}
	wantErr(t, r.Sync("absent"), fs.ErrNotExist)
	wantErr(t, r.Sync("s0", "absent", "s1"), fs.ErrNotExist)
}

func TestOneOfManyWritersWins(t *testing.T) {
	for name, wrap := range map[string]func(Root) Root{"system": func(r Root) Root { return r }, "plain": func(r Root) Root { return plain{r} }} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			const writers = 8
			var won atomic.Int32
			var group sync.WaitGroup
			for i := range writers {
				group.Go(func() {
					r := wrap(open(t, dir))
					switch err := PutDir(r, "hello", folder(fmt.Sprint(i))); {
					case err == nil:
						won.Add(1)
					case name == "system" && !errors.Is(err, fs.ErrExist):
						t.Error(err)
					}
				})
			}
			group.Wait()
			if won.Load() != 1 {
				t.Errorf("%d writers won", won.Load())
			}
			wholeVersion(t, dir)

			for i := range writers {
				group.Go(func() {
					r := wrap(open(t, dir))
					for range 5 {
						err := ReplaceDir(r, "hello", folder(fmt.Sprint(i)), nil)
						if err != nil && (name == "system" || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY)) {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			wholeVersion(t, dir)
		})
	}
}

func wholeVersion(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "hello", "SKILL.md"))
	must(t, err)
	version := strings.TrimSpace(strings.TrimPrefix(string(data), "version "))
	same(t, dir, want("hello", folder(version)))
}

func TestDryRunWritesNothing(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	must(t, PutDir(r, "old", folder("1")))
	must(t, PutDir(r, "gone", folder("1")))
	before := tree(t, dir)
	refused := errors.New("no")
	refuse := func(old string) error { return refused }

	d := DryRun(r)
	must(t, SweepStaged(d, "."))
	must(t, PutDir(d, "new", folder("1")))
	wantErr(t, PutDir(d, "old", folder("1")), fs.ErrExist)
	must(t, ReplaceDir(d, "old", folder("2"), func(old string) error {
		data, err := d.ReadFile(old+"/SKILL.md", 100)
		if string(data) != "version 1\n" {
			t.Errorf("the old folder reads as %q, %v", data, err)
		}
		list, err := d.ReadDir(old)
		if len(list) != 2 || err != nil {
			t.Errorf("the old folder lists as %v, %v", list, err)
		}
		return nil
	}))
	wantErr(t, ReplaceDir(d, "old", folder("3"), refuse), refused)
	wantErr(t, ReplaceDir(d, "absent", folder("2"), nil), fs.ErrNotExist)
	must(t, RemoveDir(d, "gone", nil))
	wantErr(t, RemoveDir(d, "gone", refuse), refused)
	wantErr(t, RemoveDir(d, "absent", nil), fs.ErrNotExist)
	must(t, d.WriteFile("lock", nil, 0o600))
	must(t, d.Create("file", nil, 0o600))
	wantErr(t, d.Create("old/SKILL.md", nil, 0o600), fs.ErrExist)
	must(t, d.MkdirAll("old", 0o700))
	must(t, d.MkdirAll("dir/deep", 0o700))
	must(t, d.Rename("old", "older"))
	must(t, d.Exchange("old", "gone"))
	must(t, d.Remove("old/SKILL.md"))
	must(t, d.RemoveAll("old/scripts"))
	must(t, d.RemoveAll("absent"))
	wantErr(t, d.Remove("absent"), fs.ErrNotExist)
	wantErr(t, d.WriteFile("../x", nil, 0o600), fs.ErrInvalid)

	same(t, dir, before)
	wanted := []string{
		"create new/SKILL.md", "create new/scripts/run.sh", "create new/scripts/lib/1.txt",
		"replace old", "write old/SKILL.md", "write old/scripts/run.sh", "write old/scripts/lib/2.txt",
		"remove gone",
		"write lock", "create file", "mkdir dir/deep", "rename old to older", "exchange old and gone",
		"remove old/SKILL.md", "remove old/scripts",
	}
	if diff := cmp.Diff(wanted, d.Changes()); diff != "" {
		t.Errorf("changes differ (-want +got):\n%s", diff)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "a"))
	wantErr(t, err, fs.ErrNotExist)
	r, err := OpenOrCreate(filepath.Join(dir, "a", "b"), 0o755)
	must(t, err)
	must(t, r.Close())
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	if _, err := Open(filepath.Join(dir, "file")); err == nil {
		t.Error("a file was opened as a root")
	}
	if _, err := OpenOrCreate(filepath.Join(dir, "file", "x"), 0o755); err == nil {
		t.Error("a directory was made below a file")
	}
}

// denied is what a user without rights to dir meets: every effect fails, and
// reads too where the file says so.
func denied(r Root) error {
	attempts := map[string]func() error{
		"put":     func() error { return PutDir(r, "new", folder("1")) },
		"replace": func() error { return ReplaceDir(r, "hello", folder("2"), nil) },
		"remove":  func() error { return RemoveDir(r, "hello", nil) },
		"write":   func() error { return r.WriteFile("lock", nil, 0o600) },
		"read":    func() error { _, err := r.ReadFile("secret", 10); return err },
	}
	for name, attempt := range attempts {
		if err := attempt(); !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s gives %w", name, err)
		}
	}
	return nil
}

func BenchmarkPutDir(b *testing.B) {
	dir := b.TempDir()
	r := open(b, dir)
	files := folder("1")
	for i := 0; b.Loop(); i++ {
		must(b, PutDir(r, fmt.Sprint("s", i), files))
	}
}

func BenchmarkBatch(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			files := folder("1")
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				b.StartTimer()
				r := open(b, dir)
				batch := NewBatch(r, ".")
				for i := range n {
					must(b, batch.Put(fmt.Sprint("s", i), files))
				}
				must(b, errors.Join(batch.Commit()...))
			}
		})
	}
}

// TestReadDirTellsWhatIsThere holds it against the system's own.
func TestReadDirTellsWhatIsThere(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "some", "where")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "folder"), 0o755), os.WriteFile(filepath.Join(dir, "file"), []byte("12345"), 0o640),
		os.Symlink("file", filepath.Join(dir, "link")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Symlink("where", filepath.Join(base, "some", "way")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2000 { // more than one call of the system
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("more of them ", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root := open(t, base)
	want, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"some/where", "some/way"} {
		got, err := root.ReadDir(name)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s has %d names instead of %d: %v", name, len(got), len(want), err)
		}
		for i, e := range got {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			real, _ := want[i].Info()
			if e.Name() != want[i].Name() || e.Type() != want[i].Type() || e.IsDir() != want[i].IsDir() || !os.SameFile(info, real) || info.Name() != e.Name() || info.Size() != real.Size() {
				t.Errorf("%s/%s: %v %v instead of %v", name, e.Name(), e.Type(), info, real)
			}
		}
	}
	for name, want := range map[string]error{"none": fs.ErrNotExist, "some/where/file": syscall.ENOTDIR, "../up": fs.ErrInvalid} {
		if _, err := root.ReadDir(name); !errors.Is(err, want) {
			t.Errorf("%s: %v instead of %v", name, err, want)
		}
	}
}
