package hubapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestASummaryHasExactlyTheKnownKeysAndNoNull(t *testing.T) {
	s := ReconcileSummary{
		CatalogCount: 2, Installed: []string{"b", "a", "b"},
		Targets: []ReconcileTarget{{Dir: "/x", Mode: "owned"}},
	}
	s.Normalize()
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"catalogCount":2,"installed":["a","b"],"added":[],"removed":[],"skipped":[],"collisions":[],"protected":[],` +
		`"targets":[{"dir":"/x","mode":"owned","installed":[],"added":[],"removed":[],"collisions":[],"protected":[]}],"registeredDirs":[]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// W15 and X14.
func TestASummaryFitsWhatHubsKeep(t *testing.T) {
	for _, n := range []int{0, 1, 50, 400, 5000} {
		for _, targets := range []int{1, 3, 100} {
			s := ReconcileSummary{CatalogCount: n, Kx: &ReconcileDetails{Status: ReconcileIncomplete, Error: strings.Repeat("x", 10*n)}}
			for i := range n {
				slug := fmt.Sprintf("skill-%05d", i)
				s.Installed = append(s.Installed, slug)
				s.Skipped = append(s.Skipped, slug)
				s.Kx.Installed = append(s.Kx.Installed, ReconciledSkill{Slug: slug, SHA256: strings.Repeat("0", 64)})
				s.Kx.Failed = append(s.Kx.Failed, ReconcileNote{Slug: slug, Reason: strings.Repeat("why ", 100)})
			}
			for range targets {
				s.Targets = append(s.Targets, ReconcileTarget{Dir: strings.Repeat("/d", 100), Mode: "owned", Installed: s.Installed})
			}
			before := len(s.Installed)
			out := s.Fit(MaxReconcile)
			data, err := json.Marshal(out)
			if err != nil || len(data) > MaxReconcile {
				t.Errorf("%d skills, %d targets: %d bytes, %v", n, targets, len(data), err)
			}
			if strings.Contains(string(data), "null") {
				t.Errorf("%d skills: null in %s", n, data)
			}
			if len(s.Installed) != before || len(s.Kx.Installed) != n || targets > 0 && len(s.Targets[0].Installed) != n {
				t.Errorf("%d skills: the summary itself was cut", n)
			}
			if c := out.Kx.Compact; c != nil && c.Counts["installed"] != n {
				t.Errorf("%d skills: counted as %d", n, c.Counts["installed"])
			}
			if out.Kx.Compact == nil && len(out.Installed) != n {
				t.Errorf("%d skills: cut without saying so", n)
			}
		}
	}
}
