package sarif

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	v210 "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

func document(t *testing.T, run Run, results ...Result) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := New(bufio.NewWriter(&b), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if err := w.Result(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sample() (Run, []Result) {
	run := Run{
		Version:  "1.2.3",
		Rules:    []Rule{{ID: "a.rule", Short: "short", Help: "help", Level: Error, Tags: []string{"AST01"}}, {ID: "b.rule", Short: "s", Help: "h", Level: Note}},
		Taxonomy: &Taxonomy{Name: "risks", Version: "1", Address: "https://example.com/", Taxa: []Taxon{{"AST01", "Malicious Skills"}}},
	}
	return run, []Result{
		{Rule: "b.rule", Level: Note, Text: "one", File: "x/SKILL.md", Line: 3, Column: 5, Identity: []string{"b", "x"}},
		{Rule: "b.rule", Level: Note, Text: "two", File: "x/SKILL.md", Identity: []string{"b", "x"}},
		{Rule: "none", Level: Warning, Text: "three\u202e", File: "/abs/a b:c"},
	}
}

func TestDocumentIsValid(t *testing.T) {
	run, results := sample()
	for _, doc := range [][]byte{document(t, Run{}), document(t, run), document(t, run, results...)} {
		parsed, err := v210.FromBytes(doc)
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if err := parsed.Validate(); err != nil {
			t.Errorf("%v\n%s", err, doc)
		}
	}
}

func TestResults(t *testing.T) {
	run, results := sample()
	doc := document(t, run, results...)
	if !bytes.Equal(doc, document(t, run, results...)) {
		t.Error("the same findings give other bytes")
	}
	var parsed struct {
		Runs []struct {
			Results []struct {
				Index        int               `json:"ruleIndex"`
				Fingerprints map[string]string `json:"partialFingerprints"`
			} `json:"results"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(doc, &parsed); err != nil {
		t.Fatal(err)
	}
	got := parsed.Runs[0].Results
	if len(got) != 3 || got[0].Index != 1 || got[2].Index != -1 {
		t.Errorf("got %+v", got)
	}
	first, second := got[0].Fingerprints["kxFinding/v1"], got[1].Fingerprints["kxFinding/v1"]
	if first == second || strings.TrimSuffix(first, ":1") != strings.TrimSuffix(second, ":2") {
		t.Errorf("fingerprints of twins: %q and %q", first, second)
	}
	if strings.Contains(string(doc), "\u202e") {
		t.Error("a character that reorders text reaches the terminal")
	}
}

func TestPlace(t *testing.T) {
	for file, want := range map[string][2]string{
		"a b/c":  {"a%20b/c", sourceRoot},
		"/o/x":   {"file:///o/x", ""},
		"c:x":    {"c%3Ax", sourceRoot},
		"x\xff/": {"x%FF/", sourceRoot},
	} {
		if uri, base := Place(file); [2]string{uri, base} != want {
			t.Errorf("%q: got %q below %q, want %v", file, uri, base, want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorsAreReported(t *testing.T) {
	run, results := sample()
	w, err := New(bufio.NewWriterSize(broken{}, 16), run)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Result(results[0])
	if w.Close() == nil {
		t.Error("a failed write went unnoticed")
	}
}
