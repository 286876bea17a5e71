package scan_test

import (
	"testing"

	"github.com/kortecx/kx/scan"
)

func TestAdded(t *testing.T) {
	f := func(rule, file, excerpt string, line int) scan.Finding {
		return scan.Finding{Rule: rule, File: file, Excerpt: excerpt, Line: line}
	}
	one, moved, twice := f("r", "a", "x", 1), f("r", "a", "x", 9), f("r", "a", "x", 12)
	other, elsewhere, words := f("s", "a", "x", 1), f("r", "b", "x", 1), f("r", "a", "y", 1)
	got := scan.Added([]scan.Finding{one, other}, []scan.Finding{moved, twice, elsewhere, words})
	if len(got) != 3 || got[0] != twice || got[1] != elsewhere || got[2] != words {
		t.Errorf("got %+v", got)
	}
	if got := scan.Added([]scan.Finding{one}, nil); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	low, high, long := one, one, f("r", "a", "x…", 1)
	low.Severity, high.Severity = scan.Low, scan.High
	if got := scan.Added([]scan.Finding{low, long}, []scan.Finding{high, long}); len(got) != 2 {
		t.Errorf("what was low, and what was cut short: got %+v", got)
	}
	if got := scan.Added([]scan.Finding{low, high}, []scan.Finding{high, low}); len(got) != 0 {
		t.Errorf("the same: got %+v", got)
	}
	if got := scan.Added([]scan.Finding{high}, []scan.Finding{low}); len(got) != 0 {
		t.Errorf("less severe now: got %+v", got)
	}
}
