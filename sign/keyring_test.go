package sign

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kortecx/kx/internal/fsx"
)

func newRing(t testing.TB) (*Keyring, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := fsx.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return NewKeyring(root), dir
}

func filesIn(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestKeyringLife(t *testing.T) {
	ring, dir := newRing(t)
	public, err := ring.New("release", rand.Reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	seal := quickSeal("open sesame")
	lockedPublic, err := ring.New("locked", rand.Reader, &seal)
	if err != nil {
		t.Fatal(err)
	}
	friend := seedKey(t, 9).Public()
	entry, err := ring.Import("friend", []byte(friend.String()+"\n"), nil)
	if err != nil || entry != (Entry{Name: "friend", Key: friend}) {
		t.Fatalf("import of a public key: %+v, %v", entry, err)
	}

	want := []Entry{
		{Name: "friend", Key: friend},
		{Name: "locked", Key: lockedPublic, Private: true, Encrypted: true},
		{Name: "release", Key: public, Private: true},
	}
	got, err := ring.List()
	if err != nil {
		t.Fatal(err)
	}
	keys := cmpopts.EquateComparable(PublicKey{})
	if diff := cmp.Diff(want, got, keys); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	trusted, err := ring.Trusted()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]NamedKey{{"friend", friend, false}, {"locked", lockedPublic, true}, {"release", public, true}}, trusted, keys); diff != "" {
		t.Errorf("Trusted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"friend.pub", "locked.key", "locked.pub", "release.key", "release.pub"}, filesIn(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "release.key")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the private key has mode %v, %v", info.Mode(), err)
	}

	key, err := ring.Get("release", nil)
	if err != nil || key.Public() != public {
		t.Errorf("Get: %v, %v", key, err)
	}
	asked := ""
	key, err = ring.Get("locked", func(name string) (string, error) { asked = name; return "open sesame", nil })
	if err != nil || key.Public() != lockedPublic || asked != "locked" {
		t.Errorf("Get of an encrypted key: %v, %v, asked about %q", key, err, asked)
	}
	_, err = ring.Get("locked", nil)
	wantID(t, err, IDKeyLocked)
	_, err = ring.Get("locked", func(string) (string, error) { return "wrong", nil })
	wantID(t, err, IDPassphrase)
	_, err = ring.Get("friend", nil)
	wantID(t, err, IDKeyPublicOnly)
	_, err = ring.Get("nobody", nil)
	wantID(t, err, IDKeyMissing)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("a missing key is not fs.ErrNotExist")
	}

	exported, err := ring.Export("release")
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParsePublicKey(exported); err != nil || back != public {
		t.Errorf("Export gives %s, %v", exported, err)
	}
	if strings.Contains(string(exported), "PRIVATE") {
		t.Error("Export gives the private half")
	}

	if err := ring.Remove("release"); err != nil {
		t.Fatal(err)
	}
	if err := ring.Remove("friend"); err != nil {
		t.Fatal(err)
	}
	wantID(t, ring.Remove("friend"), IDKeyMissing)
	if diff := cmp.Diff([]string{"locked.key", "locked.pub"}, filesIn(t, dir)); diff != "" {
		t.Errorf("files after Remove (-want +got):\n%s", diff)
	}
}

func TestKeyringNeverOverwrites(t *testing.T) {
	ring, dir := newRing(t)
	if _, err := ring.New("a", rand.Reader, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Import("b", vectorKey(t).Public().PEM(), nil); err != nil {
		t.Fatal(err)
	}
	before := map[string]string{}
	for _, name := range filesIn(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		before[name] = string(data)
	}
	for _, name := range []string{"a", "b"} {
		_, err := ring.New(name, rand.Reader, nil)
		wantID(t, err, IDKeyExists)
		_, err = ring.Import(name, vectorKey(t).Public().PEM(), nil)
		wantID(t, err, IDKeyExists)
	}
	// A second process that passed the first check at the same time.
	wantID(t, ring.store("a", []byte("x"), vectorKey(t).Public()), IDKeyExists)
	wantID(t, ring.store("b", nil, vectorKey(t).Public()), IDKeyExists)
	after := map[string]string{}
	for _, name := range filesIn(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		after[name] = string(data)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

func TestKeyringImportPrivate(t *testing.T) {
	ring, _ := newRing(t)
	key := vectorKey(t)
	plain, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	locked, err := key.Encrypt(quickSeal("x"))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := ring.Import("plain", plain, nil)
	if err != nil || entry != (Entry{Name: "plain", Key: key.Public(), Private: true}) {
		t.Errorf("plain: %+v, %v", entry, err)
	}
	_, err = ring.Import("locked", locked, nil)
	wantID(t, err, IDKeyLocked)
	_, err = ring.Import("locked", locked, func(string) (string, error) { return "y", nil })
	wantID(t, err, IDPassphrase)
	entry, err = ring.Import("locked", locked, func(string) (string, error) { return "x", nil })
	if err != nil || entry != (Entry{Name: "locked", Key: key.Public(), Private: true, Encrypted: true}) {
		t.Errorf("locked: %+v, %v", entry, err)
	}
	_, err = ring.Import("bad", []byte("hello"), nil)
	wantID(t, err, IDKeyFormat)
	_, err = ring.Import("bad", []byte(publicPrefix+"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="), nil)
	wantID(t, err, IDWeakKey)
	if entries, err := ring.List(); err != nil || len(entries) != 2 {
		t.Errorf("the ring has %+v, %v", entries, err)
	}
}

func TestKeyNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "0": true, "release-2026.acme_inc": true, strings.Repeat("a", 64): true, "a.key": true,
		"": false, "A": false, ".a": false, "-a": false, "_a": false, "a/b": false, "../a": false, "a b": false,
		"a\x00": false, "é": false, strings.Repeat("a", 65): false, "nul": false, "con": false, "aux.x": false,
	} {
		if err := CheckKeyName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		} else if !ok {
			wantID(t, err, IDKeyName)
		}
	}
	ring, dir := newRing(t)
	_, err := ring.New("../x", rand.Reader, nil)
	wantID(t, err, IDKeyName)
	_, err = ring.Get("../x", nil)
	wantID(t, err, IDKeyName)
	wantID(t, ring.Remove("../x"), IDKeyName)
	if got := filesIn(t, dir); len(got) > 0 {
		t.Errorf("it left %v", got)
	}
	// Names that contain the suffixes stay apart.
	for _, name := range []string{"a", "a.key", "a.pub", "a.key.pub"} {
		if _, err := ring.New(name, rand.Reader, nil); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := ring.Trusted()
	if err != nil || len(keys) != 4 {
		t.Errorf("%d keys, %v, want 4", len(keys), err)
	}
}

// G24: a private key that others could read is not used.
func TestPrivateKeyMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	for mode, ok := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o610: false, 0o644: false, 0o666: false} {
		ring, dir := newRing(t)
		if _, err := ring.New("a", rand.Reader, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "a.key"), mode); err != nil {
			t.Fatal(err)
		}
		want := IDKeyMode
		if ok {
			want = ""
		}
		_, err := ring.Get("a", nil)
		wantID(t, err, want)
		entries, err := ring.List()
		if err != nil || len(entries) != 1 || (entries[0].Problem == "") != ok {
			t.Errorf("mode %04o: listed as %+v, %v", mode, entries, err)
		}
	}
}

func TestDamagedRing(t *testing.T) {
	write := func(t *testing.T, dir, name, data string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := seedKey(t, 50)
	otherPEM, err := other.PEM()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		id     string // of Get; empty: an error without one
	}{
		{"public half of another key", func(t *testing.T, dir string) { write(t, dir, "a.pub", other.Public().String()) }, IDKeyMismatch},
		{"private half of another key", func(t *testing.T, dir string) { write(t, dir, "a.key", string(otherPEM)) }, IDKeyMismatch},
		{"public half gone", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "a.pub")); err != nil {
				t.Fatal(err)
			}
		}, IDKeyMismatch},
		{"public half broken", func(t *testing.T, dir string) { write(t, dir, "a.pub", "hello") }, IDKeyFormat},
		{"private half broken", func(t *testing.T, dir string) { write(t, dir, "a.key", "hello") }, IDKeyFormat},
		{"private half is a public key", func(t *testing.T, dir string) { write(t, dir, "a.key", other.Public().String()) }, IDKeyType},
		{"too large", func(t *testing.T, dir string) { write(t, dir, "a.key", strings.Repeat(" ", MaxKeyFile+1)) }, ""},
		{"a link", func(t *testing.T, dir string) {
			if err := errors.Join(os.Rename(filepath.Join(dir, "a.key"), filepath.Join(dir, "b")), os.Symlink("b", filepath.Join(dir, "a.key"))); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ring, dir := newRing(t)
			if _, err := ring.New("a", rand.Reader, nil); err != nil {
				t.Fatal(err)
			}
			tt.damage(t, dir)
			_, err := ring.Get("a", nil)
			if tt.id != "" {
				wantID(t, err, tt.id)
			} else if err == nil {
				t.Error("it is used")
			}
			entries, err := ring.List()
			if err != nil || len(entries) != 1 || entries[0].Problem == "" || entries[0].Key != (PublicKey{}) {
				t.Errorf("listed as %+v, %v", entries, err)
			}
			// A link has the modes of a link: the public half is still good. One that is gone
			// cannot be told from one that a killed keys new had not written yet.
			if _, err := ring.Trusted(); tt.name != "a link" && tt.name != "public half gone" && (err == nil || !strings.Contains(err.Error(), `"a"`)) {
				t.Errorf("Trusted says %v", err)
			}
		})
	}
	t.Run("other files", func(t *testing.T) {
		ring, dir := newRing(t)
		write(t, dir, "README", "x")
		write(t, dir, ".a.key.a050837d85070582", "left behind")
		write(t, dir, ".b.pub", "left behind")
		if entries, err := ring.List(); err != nil || len(entries) > 0 {
			t.Errorf("listed as %+v, %v", entries, err)
		}
		write(t, dir, "Bad Name.pub", other.Public().String())
		entries, err := ring.List()
		want := []Entry{{Name: "Bad Name", Problem: "x", ProblemID: IDKeyName}}
		if diff := cmp.Diff(want, entries, cmpopts.EquateComparable(PublicKey{}), cmpopts.IgnoreFields(Entry{}, "Problem")); diff != "" || err != nil || entries[0].Problem == "" {
			t.Errorf("a name that is none (-want +got): %v\n%s", err, diff)
		}
	})
}

// failing is a root on which one operation fails.
type failing struct {
	fsx.Root
	op string
}

var errDisk = errors.New("the disk is full")

func (f failing) Create(name string, data []byte, perm fs.FileMode) error {
	if f.op == "create" {
		return errDisk
	}
	return f.Root.Create(name, data, perm)
}

func (f failing) Sync(names ...string) error {
	if f.op == "sync" {
		return errDisk
	}
	return f.Root.Sync(names...)
}

func (f failing) RenameNew(oldname, newname string) error {
	if f.op == "rename "+newname {
		return errDisk
	}
	return f.Root.RenameNew(oldname, newname)
}

func TestKeyringOnABadDisk(t *testing.T) {
	for op, left := range map[string][]string{
		"create": {}, "sync": {}, "rename a.key": {}, "rename a.pub": {"a.key"},
	} {
		dir := t.TempDir()
		root, err := fsx.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		ring := NewKeyring(failing{root, op})
		if _, err := ring.New("a", rand.Reader, nil); !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", op, err)
		}
		if diff := cmp.Diff(left, filesIn(t, dir)); diff != "" {
			t.Errorf("%s left (-want +got):\n%s", op, diff)
		}
		if err := root.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ring, dir := newRing(t)
	if _, err := ring.New("a", iotest.ErrReader(errDisk), nil); !errors.Is(err, errDisk) || len(filesIn(t, dir)) > 0 {
		t.Errorf("without randomness: %v", err)
	}
	if _, err := ring.New("a", bytes.NewReader(make([]byte, 8)), nil); err == nil {
		t.Error("8 bytes of randomness are enough")
	}
}

// A keys new that was killed left the private half under a hidden name for good.
func TestAKilledNewLeftAPrivateKeyForGood(t *testing.T) {
	ring, dir := newRing(t)
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	left := strings.Replace(fsx.StageName(), fmt.Sprint("-", os.Getpid(), "-"), fmt.Sprint("-", gone.Process.Pid, "-"), 1)
	beside := fsx.StageName() // of a run that is at work
	for _, name := range []string{left, beside} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half a key"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ring.New("me", rand.Reader, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{beside, "me.key", "me.pub"}, filesIn(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// A keys new that was killed between its two files kept every signature of everybody else
// from being verified.
func TestAHalfMadeKeyStoppedAllVerification(t *testing.T) {
	ring, dir := newRing(t)
	for _, name := range []string{"half", "me"} {
		if _, err := ring.New(name, rand.Reader, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "half.pub")); err != nil {
		t.Fatal(err)
	}
	keys, err := ring.Trusted()
	if err != nil || len(keys) != 1 || keys[0].Name != "me" {
		t.Errorf("%+v, %v", keys, err)
	}
	if err := ring.Remove("half"); err != nil {
		t.Error(err)
	}
	if _, err := ring.New("half", rand.Reader, nil); err != nil {
		t.Error(err)
	}
}
