package source

import (
	"os"
	"path/filepath"
	"testing"
)

// A signature that lies beside a pack's folder used to be overlooked in every source
// but an archive with one pack, so that a broken one passed for none.
func TestTheSignatureBesideAFolderWasOverlooked(t *testing.T) {
	files := map[string]string{
		"x/alpha/SKILL.md": skill("alpha"), "x/alpha.sig.json": "of alpha",
		"x/beta/SKILL.md": skill("beta"), "x/beta@7.sig.json": "of beta", "x/alpha@": "nothing",
		"y/delta/skill.json":      `{"schema":"kortecx.skill/v1","name":"delta","version":"1","description":"Sorts the mail"}`,
		"y/delta/instructions.md": "Sort the mail.\n", "y/delta@1.sig.json": "of delta", "y/delta@2.sig.json": "of another",
		"y/none/SKILL.md": skill("none"), "x/none.sig.json": "elsewhere",
		"y/two/SKILL.md": skill("two"), "y/two@1.sig.json": "1", "y/two@2.sig.json": "2",
	}
	want := map[string]string{"alpha": "of alpha", "beta": "of beta", "delta": "of delta", "none": "", "two": ""}
	check := func(where string, got *Fetched) {
		t.Helper()
		if len(got.Found) != len(want) {
			t.Fatalf("%s: found %q", where, paths(got))
		}
		for _, f := range got.Found {
			if string(f.Signature) != want[f.Name] || (f.SignatureFault != nil) != (f.Name == "two") {
				t.Errorf("%s: %s has the signature %q and the fault %v, want %q", where, f.Name, f.Signature, f.SignatureFault, want[f.Name])
			}
		}
	}
	dir := write(t, files)
	check("a folder", fetch(t, &Sources{Dir: dir}, "."))
	for name, text := range map[string]string{"./x/alpha": "of alpha", "./y/delta": "of delta", "./y/none": ""} {
		if got := fetch(t, &Sources{Dir: dir}, name); string(got.Signature) != text {
			t.Errorf("%s alone has %q, want %q", name, got.Signature, text)
		}
	}
	if got := fetch(t, &Sources{Dir: filepath.Join(dir, "x", "alpha")}, "."); string(got.Signature) != "of alpha" {
		t.Errorf("named by a dot the same folder has %q", got.Signature)
	}
	var members []member
	for name, text := range files {
		members = append(members, member{name, text})
	}
	if err := os.WriteFile(filepath.Join(dir, "all.zip"), zipped(t, members...), 0o644); err != nil {
		t.Fatal(err)
	}
	check("an archive", fetch(t, &Sources{Dir: dir}, "./all.zip"))
	at, _ := repository(t, files)
	check("a repository", fetch(t, &Sources{Dir: filepath.Dir(at)}, "./"+filepath.Base(at)+"@HEAD"))
}

// With a listing of the folder for every pack in it, a thousand packs took the time of a
// million names.
func TestAFolderOfPacksWasListedForEach(t *testing.T) {
	dir := write(t, map[string]string{"x/one/f": "", "x/two/f": "", "x/One.SIG.json": "of one"})
	var shelves diskShelves
	one := shelves.beside(filepath.Join(dir, "x", "one"))
	if names := one.names(); len(names) != 1 || names[0] != "One.SIG.json" {
		t.Errorf("beside it lie %q", names)
	}
	if data, err := one.read("One.SIG.json"); string(data) != "of one" {
		t.Errorf("read as %q, %v", data, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x", "two.sig.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	two := shelves.beside(filepath.Join(dir, "x", "two"))
	if _, err := two.read("two.sig.json"); !os.IsNotExist(err) || len(two.names()) != 1 {
		t.Errorf("it was listed again: %v", err)
	}
	lost := shelves.beside(filepath.Join(dir, "x", "one", "f", "pack"))
	if _, err := lost.read("pack.sig.json"); err == nil || os.IsNotExist(err) {
		t.Errorf("what cannot be listed is not looked at: %v", err)
	}
}
