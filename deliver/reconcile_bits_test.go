//go:build unix

package deliver

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A file that somebody made run in a folder of ours went on running for good, and the
// target was said to have converged.
func TestAFileThatWasMadeToRunIsWrittenAgain(t *testing.T) {
	g := newRig(t)
	g.hub.rows = []map[string]any{row("a", "x"), row("b", "x")}
	g.sync(AdditiveTarget)
	skill := filepath.Join(g.dir, "a", skillFile)
	must(t, os.Chmod(skill, 0o755))
	verify := func(r *Reconciler) { r.Verify = true }
	if got := lists(g.sync(AdditiveTarget, verify)); got != "installed a b; added a; converged" {
		t.Error(got)
	}
	info, err := os.Stat(skill)
	must(t, err)
	same(t, fs.FileMode(0o644), info.Mode().Perm())
	if got := lists(g.sync(AdditiveTarget, verify)); got != "installed a b; converged" {
		t.Error(got)
	}
}
