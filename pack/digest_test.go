package pack_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kortecx/kx/pack"
)

func TestDigestVector(t *testing.T) {
	data, err := os.ReadFile("../testdata/vectors/signing.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Digest struct {
			Files   map[string]string
			Packsum string
			SP1     string
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	files := memory(vectors.Digest.Files)
	if got := string(pack.Packsum(files)); got != vectors.Digest.Packsum {
		t.Errorf("packsum\n%swant\n%s", got, vectors.Digest.Packsum)
	}
	if got := string(pack.DigestFiles(files)); got != vectors.Digest.SP1 {
		t.Errorf("digest %s, want %s", got, vectors.Digest.SP1)
	}
	in := pack.Read("hello", files, pack.Options{})
	if in.Err() != nil || string(in.Pack.Digest()) != vectors.Digest.SP1 {
		t.Errorf("%v: the pack's own digest differs", in.Err())
	}
}

// The digest is what three coreutils make of the folder.
func TestDigestIsCoreutils(t *testing.T) {
	for _, tool := range []string{"sh", "find", "sort", "xargs", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("KX_TEST_ALL") == "1" {
				t.Fatalf("%s is not on this machine", tool)
			}
			t.Skipf("%s is not on this machine", tool)
		}
	}
	files := skill(map[string]string{
		"a.md": "", "a/b.md": "x\r\n", "a-b": "\xff\x00", "Z": "z", "ä/ö ü.md": "é", ".hidden": "h", "a0": strings.Repeat("big", 100_000),
	})
	dir := filepath.Join(t.TempDir(), "s")
	writeFiles(t, dir, files)
	cmd := exec.Command("sh", "-c", `find . -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum`)
	cmd.Dir = dir
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(pack.Packsum(memory(files))); got != string(want) {
		t.Errorf("packsum\n%swant\n%s", got, want)
	}
	cmd = exec.Command("sha256sum")
	cmd.Stdin = strings.NewReader(string(want))
	sum, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(pack.DigestFiles(memory(files))), "sp1:"+string(sum[:64]); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestDigestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contents := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}(/[a-z]{1,3})?`), rapid.SliceOf(rapid.Byte()), 1, 6).Draw(t, "files")
		var files []pack.File
		for path, data := range contents {
			files = append(files, pack.File{Path: path, Data: data})
		}
		want := pack.DigestFiles(files)

		shuffled := rapid.Permutation(files).Draw(t, "order")
		for i := range shuffled {
			shuffled[i].Executable = rapid.Bool().Draw(t, "executable")
		}
		before := slices.Clone(shuffled)
		if got := pack.DigestFiles(shuffled); got != want {
			t.Fatalf("order or mode changed %s to %s", want, got)
		}
		summed := pack.SumFiles(shuffled)
		if summed.Digest != want {
			t.Fatalf("hashed once it is %s, not %s", summed.Digest, want)
		}
		for i, f := range shuffled {
			if sum := pack.FileSum(f); summed.Files[i] != hex.EncodeToString(sum[:]) {
				t.Fatalf("%s has the sum %s", f.Path, summed.Files[i])
			}
		}
		for i := range before {
			if before[i].Path != shuffled[i].Path {
				t.Fatal("the caller's slice was sorted")
			}
		}

		i := rapid.IntRange(0, len(files)-1).Draw(t, "file")
		changed := slices.Clone(files)
		if data := changed[i].Data; len(data) > 0 {
			data = slices.Clone(data)
			data[rapid.IntRange(0, len(data)-1).Draw(t, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
			changed[i].Data = data
			if pack.DigestFiles(changed) == want {
				t.Fatal("a changed byte did not change the digest")
			}
		}
		changed = slices.Clone(files)
		changed[i].Path += "x"
		if pack.DigestFiles(changed) == want {
			t.Fatal("another name did not change the digest")
		}
		if pack.DigestFiles(slices.Delete(slices.Clone(files), i, i+1)) == want {
			t.Fatal("a missing file did not change the digest")
		}
	})
}
