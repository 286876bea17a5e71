//go:build unix

package conformance

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// unreadableEnv makes the test run as a user from whom a mode can keep something.
const unreadableEnv = "KX_TEST_UNREADABLE"

func TestFolderThatMayNotBeRead(t *testing.T) {
	parent := os.Getenv(unreadableEnv)
	if parent == "" {
		parent = makeFolder(t, "skills", files{"shut/SKILL.md": goodSkill, "open/SKILL.md": goodSkill})
		shut := filepath.Join(parent, "shut")
		if err := os.Chmod(shut, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(shut, 0o700) })
		if os.Getuid() == 0 {
			for dir := parent; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			child := exec.Command(os.Args[0], "-test.run=^TestFolderThatMayNotBeRead$")
			child.Env = append(os.Environ(), unreadableEnv+"="+parent)
			if out, err := child.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return
		}
	} else if err := syscall.Setuid(65534); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(parent, "shut"), parent} {
		var ids []string
		sum, err := Run(t.Context(), []string{path}, Options{}, func(r *Report) error {
			for _, f := range r.Findings {
				if f.Severity == Error && filepath.Base(r.Path) == "shut" {
					ids = append(ids, f.ID)
				}
			}
			return nil
		})
		if err != nil || sum.Failed == 0 || len(ids) != 1 || ids[0] != "pack.unreadable" {
			t.Errorf("%s: %+v, %v, %v", path, sum, ids, err)
		}
	}
	_, err := Mend(filepath.Join(parent, "shut"), MendOptions{})
	if _, missing := errors.AsType[*NotFoundError](err); err == nil || missing {
		t.Errorf("mending: %v", err)
	}
}
