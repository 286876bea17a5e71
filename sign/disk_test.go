package sign

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// The whole way of a pack: made, signed beside its folder, checked, tampered with.
func TestPackOnDisk(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "hello")
	write := func(path, data string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, path), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range helloFiles() {
		write(f.path, f.data)
	}
	look := func() *pack.Inspection {
		t.Helper()
		in, err := pack.Inspect(folder, pack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}

	in := look()
	if err := Signable(in); err != nil {
		t.Fatal(err)
	}
	var f SignatureFile
	key := vectorKey(t)
	if err := f.Add(envelopeOf(t, statementOf(t, in.Pack, StatementOptions{Author: "acme"}), key), key.Public()); err != nil {
		t.Fatal(err)
	}
	data, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	name, err := FileName(in.Pack.Name, in.Pack.Version)
	if err != nil || name != "hello@1.sig.json" {
		t.Fatalf("file name %q, %v", name, err)
	}
	if err := fsx.WriteFileAt(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}

	verify := func() Result {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return VerifyInspection(look(), trusting(t, data))
	}
	wantResult(t, verify(), 0, "", "")

	write("instructions.md", "# Hello\nRetrieve last.\n")
	wantResult(t, verify(), 10, IDDigest, "")
	write("instructions.md", "# Hello\nRetrieve first.\n")
	write("extra.md", "x")
	if r := verify(); r.ExitCode() != ExitIntegrity || Signable(look()) == nil {
		t.Errorf("with another file: %+v", r)
	}
	if err := os.Remove(filepath.Join(folder, "extra.md")); err != nil {
		t.Fatal(err)
	}
	wantResult(t, verify(), 0, "", "")

	// A second name of a file is no reason to distrust a pack, and one not to sign it.
	if runtime.GOOS == "windows" {
		return // pack sees no links there
	}
	if err := os.Link(filepath.Join(folder, "README.md"), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	wantResult(t, verify(), 0, "", "")
	wantID(t, Signable(look()), IDHardlink)
	_, err = NewStatement(look().Pack, StatementOptions{SignedAt: signedAt})
	wantID(t, err, IDHardlink)
	if err == nil || !strings.Contains(err.Error(), "README.md") {
		t.Errorf("the refusal does not name the file: %v", err)
	}
}
