package scan

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kortecx/kx/pack"
)

// Every expression compiles, which happens lazily otherwise.
func TestExpressionsCompile(t *testing.T) {
	for _, p := range ruleSet().patterns {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: %v", p.ID, r)
				}
			}()
			for _, list := range append(p.re, p.also, p.not) {
				for _, b := range list() {
					b.re()
				}
			}
			p.unless()
		}()
	}
	for i := range secretKinds {
		secretPatterns()[i]()
	}
	for i := range sentinelPatterns {
		sentinelExpressions()[i]()
	}
}

// elsewhere are rules whose examples are no single text; the named test has them.
var elsewhere = map[string]string{
	"file.executable":        "TestBinaryFiles",
	"file.bytecode":          "TestBinaryFiles",
	"file.archive":           "TestBinaryFiles",
	"file.encrypted-archive": "TestBinaryFiles",
	"file.disguised":         "TestBinaryFiles",
	"file.name":              "TestFileNames",
	"file.link":              "TestWalkReportsWhatItDidNotRead",
	"name.lookalike":         "TestNames",
	"wish.not-wished":        "TestWishes",
	"wish.not-mentioned":     "TestWishes",
	"wish.irreversible":      "TestWishes",
	"scan.unread":            "TestWalkReportsWhatItDidNotRead",
	"scan.budget":            "TestBudget",
	"PROMPT_INJECTION":       "TestSentinel",
	"SHELL_INJECTION":        "TestSentinel",
	"URL_EXFILTRATION":       "TestSentinel",
	"PATH_VIOLATION":         "TestSentinel",
	"PII_SSN":                "TestSentinel",
	"PII_CC":                 "TestSentinel",
	"PII_PHONE":              "TestSentinel",
	"PII_EMAIL":              "TestSentinel",
	"MEMORY_ID_STUFFING":     "TestSentinel",
	"BODY_TOO_LARGE":         "TestSentinel",
	"DESCRIPTION_TOO_LARGE":  "TestSentinel",
	"MALFORMED_INPUT":        "TestSentinel",
}

// Every rule finds its bad examples at its full severity or worse, and counts its
// good ones for less than medium, or not at all.
func TestRuleExamples(t *testing.T) {
	archives, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no examples")
	}
	bad, good := map[string]int{}, map[string]int{}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			id, example, _ := strings.Cut(f.Name, "/")
			t.Run(f.Name, func(t *testing.T) {
				rule := ruleSet().byID[id]
				if rule == nil {
					t.Fatal("there is no such rule")
				}
				file := "SKILL.md"
				if ext := path.Ext(example); ext != ".md" {
					file = "scripts/example" + ext
				}
				r := Files("example", []pack.File{{Path: file, Data: f.Data}}, Options{})
				worst := Severity("")
				for _, finding := range r.Findings {
					if finding.Rule == id && finding.Severity.Rank() > worst.Rank() {
						worst = finding.Severity
					}
				}
				if strings.HasPrefix(example, "bad") {
					bad[id]++
					if worst.Rank() < min(rule.Severity.Rank(), High.Rank()) {
						t.Errorf("found as %q, the rule is %s; findings: %+v", worst, rule.Severity, r.Findings)
					}
					return
				}
				good[id]++
				if limit := min(rule.Severity.Rank(), Medium.Rank()); worst.Rank() >= limit && worst != Info {
					t.Errorf("found as %s; findings: %+v", worst, r.Findings)
				}
			})
		}
	}
	for _, r := range Rules() {
		if _, ok := elsewhere[r.ID]; !ok && (bad[r.ID] == 0 || good[r.ID] == 0) {
			t.Errorf("%s has %d bad and %d good examples", r.ID, bad[r.ID], good[r.ID])
		}
		if r.Severity.Rank() == 0 || r.AST == "" || r.Reason == "" || r.Fix == "" {
			t.Errorf("%s is not described: %+v", r.ID, r)
		}
	}
}
