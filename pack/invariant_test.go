package pack

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder in the place of a manifest once gave neither a pack nor a fault, and
// verification took it for an unsigned pack.
func TestThereIsAlwaysAPackOrAFault(t *testing.T) {
	for _, format := range Formats {
		for _, more := range []string{"", "main.py", "notes.md", "instructions.md"} {
			dir := filepath.Join(t.TempDir(), "demo")
			if err := os.MkdirAll(filepath.Join(dir, format.ManifestFile(), "inner"), 0o755); err != nil {
				t.Fatal(err)
			}
			if more != "" {
				if err := os.WriteFile(filepath.Join(dir, more), []byte("x"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			in, err := Inspect(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if in.Pack != nil || len(in.Faults) == 0 || in.Faults[0].ID != "pack.not-regular" || in.Faults[0].Place.File != format.ManifestFile() {
				t.Errorf("%s with %q: pack %v, faults %v", format, more, in.Pack, in.Faults)
			}
		}
	}
}
