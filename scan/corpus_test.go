package scan

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kortecx/kx/pack"
)

// specimen is one skill of a corpus.
type specimen struct {
	family, name string
	files        []pack.File
}

func (s *specimen) scan() *Report {
	in := pack.Read(s.name, s.files, pack.Options{})
	if in.Pack != nil {
		return Pack(in.Pack, Options{})
	}
	return Files(s.name, s.files, Options{})
}

// corpus reads the archives of a folder. The first element of a file's path is
// the name of the skill.
func corpus(t testing.TB, dir string) []specimen {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no corpus in %s: %v", dir, err)
	}
	var out []specimen
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		family := strings.TrimSuffix(filepath.Base(name), ".txtar")
		for _, f := range archive.Files {
			skill, path, _ := strings.Cut(f.Name, "/")
			if n := len(out); n == 0 || out[n-1].name != skill || out[n-1].family != family {
				out = append(out, specimen{family: family, name: skill})
			}
			last := &out[len(out)-1]
			last.files = append(last.files, pack.File{Path: path, Data: f.Data})
		}
	}
	return out
}

func explain(t *testing.T, r *Report) {
	t.Helper()
	for _, f := range r.Findings {
		if os.Getenv("SCAN_ALL") != "" || f.Severity.Rank() >= Medium.Rank() {
			t.Logf("    %s %s:%d:%d %s: %s | %s", f.Severity, f.File, f.Line, f.Column, f.Rule, f.Reason, f.Excerpt)
		}
	}
}

// What is malicious is found at high or above. The skills are short and written for
// this test; how far it goes in the wild is another question. Of the sets that were
// written after the rules, and of which the rules then learnt, the first runs found
// 28 of 51 (second), 13 of 37 (third), 11 of 30 (fourth), 8 of 20 (fifth), 9 of
// 16 (sixth), 48 of 66 (seventh), 18 of 30 (eighth), 12 of 24 (ninth; of the fake
// prerequisites in these three 10 of 14, 6 of 10 and 4 of 8), 8 of 10 (campaign), 45 of 70 (the wild ones, which are longer and by
// kind), 11 of 30 (tenth, of which 5 of 10 fake prerequisites), 11 of 30
// (eleventh, 9 of 10) and 18 of 30 (twelfth, 7 of 10): text that orders an agent about in words of its own is the hardest.
func TestMaliciousCorpus(t *testing.T) {
	caught, total := map[string]int{}, map[string]int{}
	all := corpus(t, "malicious")
	for i := range all {
		s := &all[i]
		total[s.family]++
		r := s.scan()
		if r.Counts.AtLeast(High) > 0 {
			caught[s.family]++
			continue
		}
		t.Logf("missed: %s/%s", s.family, s.name)
		explain(t, r)
	}
	rate, n := 0.0, 0
	for _, family := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%-14s %d of %d", family, caught[family], total[family])
		rate += float64(caught[family]) / float64(total[family])
		n += caught[family]
	}
	macro := rate / float64(len(total))
	t.Logf("all: %d of %d, macro average %.3f", n, len(all), macro)
	if len(all) < 120 || macro < 0.97 || caught["unicode"] < total["unicode"] || caught["prerequisite"]*100 < total["prerequisite"]*95 {
		t.Errorf("%d skills, macro average %.3f, of the fake prerequisites %d, of the hidden Unicode %d", len(all), macro, caught["prerequisite"], caught["unicode"])
	}
}

// What is honest is not flagged at high, however much it quotes what is not. The
// first run over the second set flagged 3 of 36, over the wild one 1 of 54, over the
// seventh 5 of 66 and 1 of 50.
func TestBenignCorpus(t *testing.T) {
	all := corpus(t, "benign")
	flagged := 0
	for i := range all {
		s := &all[i]
		if r := s.scan(); r.Counts.AtLeast(High) > 0 {
			flagged++
			t.Logf("flagged: %s/%s", s.family, s.name)
			explain(t, r)
		}
	}
	t.Logf("%d of %d flagged", flagged, len(all))
	if len(all) < 60 || flagged*100 > len(all)*2 {
		t.Errorf("%d of %d benign skills are flagged", flagged, len(all))
	}
}

// The two unseen sets were written in full, before the rules were looked at, in
// the manner of public collections: mostly honest text, one or two passages that are
// not. They are by the same author as the "wild" sets that the rules learnt from, so
// they say less than a stranger's set would. Before the work on the wild sets the
// rules found 29 of the 68 malicious ones; the first run after it found 39, of the
// fake prerequisites 4 of 8, and flagged 3 of the 55 honest ones. Those are the
// figures to quote. What came later is no measure: the rules that gave 49 were
// written by somebody who remembered these texts and added techniques that stand in
// them, and the four fake prerequisites and the three honest ones were opened. What
// the test holds is a floor, not a rate; the next measure needs a new set.
func TestUnseen(t *testing.T) {
	bad, good := corpus(t, "unseen-malicious"), corpus(t, "unseen-benign")
	caught, flagged := 0, 0
	kinds := map[string][2]int{}
	for i := range bad {
		n := kinds[bad[i].family]
		n[1]++
		if bad[i].scan().Counts.AtLeast(High) > 0 {
			n[0]++
			caught++
		}
		kinds[bad[i].family] = n
	}
	for i := range good {
		if good[i].scan().Counts.AtLeast(High) > 0 {
			flagged++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%-14s %d of %d", kind, kinds[kind][0], kinds[kind][1])
	}
	t.Logf("%d of %d malicious, %d of %d honest", caught, len(bad), flagged, len(good))
	if len(bad) < 60 || caught*100 < len(bad)*70 || len(good) < 50 || flagged*100 > len(good)*5 {
		t.Errorf("%d of %d malicious ones are found, %d of %d honest ones flagged", caught, len(bad), flagged, len(good))
	}
	if n := kinds["prerequisite"]; n[0]*100 < n[1]*95 {
		t.Errorf("of the fake prerequisites %d of %d", n[0], n[1])
	}
}
