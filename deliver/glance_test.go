package deliver

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestGlanceSeesWhatListSees edits folders that were remembered, in every way that
// could hide, and holds Glance against List.
func TestGlanceSeesWhatListSees(t *testing.T) {
	dir := t.TempDir()
	project, data := filepath.Join(dir, "project"), filepath.Join(dir, "data")
	must(t, os.MkdirAll(project, 0o755))
	clock := time.Now()
	with := func(use func(w *Workspace)) {
		t.Helper()
		w, err := OpenWorkspace(WorkspaceOptions{
			Dir: project, File: filepath.Join(project, LockFile), Data: data, Owner: "kx-test", Now: func() time.Time { return clock },
		})
		must(t, err)
		use(w)
		must(t, w.Close())
	}
	spot := Spot{Dir: filepath.Join(project, "a"), Agents: []string{"claude-code"}}
	with(func(w *Workspace) {
		must(t, firstFault(w.Apply(w.Plan(context.Background(), []Wanted{wantSkill(t, "one", "1", spot), wantSkill(t, "two", "1", spot)}))))
	})
	remembered := func() (out []string) {
		with(func(w *Workspace) { out = slices.Sorted(maps.Keys(w.glances().known)) })
		return out
	}
	glance := func(want ...Standing) {
		t.Helper()
		with(func(w *Workspace) {
			seen, read := w.Glance(), w.List()
			for i := range read {
				if seen[i].Standing != read[i].Standing || read[i].Standing != want[i] {
					t.Errorf("%s is %s by a glance, %s when it is read, and %s in truth", read[i].Name, seen[i].Standing, read[i].Standing, want[i])
				}
			}
		})
	}
	one, two := filepath.Join(project, "a", "one"), filepath.Join(project, "a", "two")
	glance(Current, Current)
	if got := remembered(); len(got) != 0 {
		t.Fatalf("folders that were written this moment are remembered: %q", got)
	}
	clock = clock.Add(time.Minute)
	glance(Current, Current)
	if got := remembered(); !slices.Equal(got, []string{one, two}) {
		t.Fatalf("remembered are %q", got)
	}
	glance(Current, Current)

	// The same size, and the old time put back.
	script := filepath.Join(one, "scripts", "run.sh")
	before, err := os.Stat(script)
	must(t, err)
	must(t, os.WriteFile(script, []byte("echo 2\n"), 0o755))
	must(t, os.Chtimes(script, before.ModTime(), before.ModTime()))
	glance(Modified, Current)
	must(t, os.WriteFile(script, []byte("echo 1\n"), 0o755))
	glance(Current, Current)
	must(t, os.WriteFile(filepath.Join(two, "more"), nil, 0o644))
	glance(Current, Modified)
	must(t, os.Remove(filepath.Join(two, "more")))
	must(t, os.Rename(two, two+"-away"))
	glance(Current, MissingDir)
	must(t, os.Rename(two+"-away", two))
	clock = clock.Add(time.Minute)
	glance(Current, Current)

	// What is remembered is believed for an hour, and never when it was damaged.
	var file string
	with(func(w *Workspace) { file = filepath.Join(data, "seen", w.glances().name) })
	whole, err := os.ReadFile(file)
	must(t, err)
	broken := slices.Clone(whole)
	broken[len(broken)/2] ^= 1
	must(t, os.WriteFile(file, broken, 0o600))
	if got := remembered(); len(got) != 0 {
		t.Errorf("a damaged file is believed: %q", got)
	}
	must(t, os.WriteFile(file, whole, 0o600))
	for _, age := range []time.Duration{2 * verifyEvery, -2 * verifyEvery} {
		clock = clock.Add(age)
		if got := remembered(); len(got) != 0 {
			t.Errorf("it is believed %s later", age)
		}
		clock = clock.Add(-age)
	}
	must(t, os.RemoveAll(filepath.Join(data, "seen")))
	glance(Current, Current)
}

// TestGlancesAreReadAsWritten is the law of the file.
func TestGlancesAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &glances{verified: time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "verified"), 0), next: map[string]glance{}}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			var one glance
			copy(one.sum[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "sum"))
			one.names = rapid.SampledFrom([]string{"", "SKILL.md", ".kx-owned//a b//a b/c"}).Draw(t, "names")
			one.is = rapid.StringMatching(`[a-z]{1,8}(:[0-9]{1,3})?`).Draw(t, "is")
			g.note("/"+rapid.String().Draw(t, "path"), one)
		}
		data := g.encode()
		verified, known, ok := parseGlances(data)
		if !ok || !verified.Equal(g.verified) || !maps.Equal(known, g.next) {
			t.Fatalf("%q is read as %v, %v, %t", data, verified, known, ok)
		}
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if _, _, ok := parseGlances(data[:cut]); ok {
			t.Fatalf("%q is taken without its end", data[:cut])
		}
	})
}

// FuzzParseGlances: what is read says the same when it is written again.
func FuzzParseGlances(f *testing.F) {
	g := &glances{verified: time.Unix(1, 0), next: map[string]glance{"/a b": {names: "a//b", is: "x"}}}
	f.Add(g.encode())
	f.Add([]byte(glancesHead))
	f.Fuzz(func(t *testing.T, data []byte) {
		// The hash at the end would keep a fuzzer out.
		data = append(slices.Clone(data), hexSum(data)+"\n"...)
		verified, known, ok := parseGlances(data)
		if !ok {
			return
		}
		again := &glances{verified: verified, next: known}
		v, k, ok := parseGlances(again.encode())
		if !ok || !v.Equal(verified) || !maps.Equal(k, known) {
			t.Fatalf("%q does not come back", data)
		}
	})
}
