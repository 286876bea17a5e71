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
}
