package scan

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The alternatives of an expression, each with the literals that it needs, match
// where the whole expression matches.
func TestBranchesMatchAsTheExpression(t *testing.T) {
	var texts []string
	for _, dir := range []string{"rules", "malicious"} {
		names, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		if err != nil || len(names) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range names {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.Files {
				texts = append(texts, normalise(string(f.Data)).text)
			}
		}
	}
	matched, parted := 0, 0
	set := ruleSet()
	for i := range set.patterns {
		p := &set.patterns[i]
		if len(p.re) == 0 { // words alone
			continue
		}
		all := append([]string{p.pattern.re}, p.or...)
		for j, expression := range all {
			whole := regexp.MustCompile(fragments.Replace(p.anchored(expression)))
			list := p.re[j]()
			parted += len(list) - 1
			for _, text := range texts {
				if !containsAny(text, p.any) {
					continue
				}
				want, got := -1, -1
				if at := whole.FindStringIndex(text); at != nil {
					want = at[0]
					matched++
				}
				for k := range list {
					if !list[k].possible(text) {
						continue
					}
					if at := list[k].re().FindStringIndex(text); at != nil && (got < 0 || at[0] < got) {
						got = at[0]
					}
				}
				if got != want {
					t.Errorf("%s: the alternatives match at %d, the expression at %d of %.200q", p.ID, got, want, text)
				}
			}
		}
	}
	if matched < 100 || parted < 100 {
		t.Errorf("%d matches and %d alternatives show nothing", matched, parted)
	}
}
