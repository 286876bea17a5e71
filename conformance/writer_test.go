package conformance

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v210 "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/kortecx/kx/internal/report"
	"github.com/kortecx/kx/internal/sarif"
	"github.com/kortecx/kx/pack"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file under testdata/golden, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// sampleReports are a pack that passes, one with a warning, and one with faults
// whose texts try to break out of every output format.
func sampleReports() []*Report {
	good := &Report{
		Connector: "email-triage", Reachable: true, Discovered: 3, Format: pack.Kortecx, Path: "skills/email-triage", Passed: true,
		Checks: []CheckResult{
			{checkLoads, gateLoads, true, "the manifest and 3 files were read"},
			{checkWish, gateAuthority, true, "gmail/draft@1, gmail/read@1, gmail/search@1"},
		},
		Findings: []Finding{},
	}
	warned := &Report{
		Connector: "notes", Reachable: true, Format: pack.SkillMD, Path: "skills/notes", Passed: true,
		Checks: []CheckResult{{checkLoads, gateLoads, true, "1 file read"}, {checkDescription, gateBounded, true, "9 characters"}},
		Findings: []Finding{{
			ID: "description.short", Kind: "Invalid", Severity: Warning, Check: checkDescription, File: "SKILL.md", Pointer: "/description",
			Message: "the description has 9 characters; an agent chooses a skill by it alone", Hint: "say what the skill does",
		}},
	}
	bad := &Report{
		Connector: "bad\x1b]0;title\a", Format: pack.Kortecx, Path: "skills/a b%,:é", Passed: false,
		Checks: []CheckResult{
			{checkLoads, gateLoads, false, "skill.json:2:5: \"na\u202eme\" comes twice <&>"},
			{checkDeclarative, gateDeclarative, false, "folder\x00 stray"},
		},
		Findings: []Finding{
			{ID: "json.duplicate-key", Kind: "Json", Severity: Error, Check: checkLoads, File: "skill.json", Line: 2, Column: 5, Pointer: "/na\u202eme", Message: "\"na\u202eme\" comes twice <&>\n::error::forged", Hint: "remove\rone, 100%"},
			{ID: "pack.unreadable", Kind: "Pack", Severity: Error, Check: checkDeclarative, Message: "folder\x00 stray \ufffe\u009b"},
		},
	}
	return []*Report{good, warned, bad}
}

func write(t testing.TB, format string, o WriterOptions, reports ...*Report) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(format, &b, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if err := w.Report(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWritersGolden(t *testing.T) {
	for _, format := range OutputFormats() {
		out := write(t, format, WriterOptions{Version: "1.2.3"}, sampleReports()...)
		if format == SARIF { // the table of rules grows with the readers
			results := out[bytes.Index(out, []byte(`"results":[`)):]
			golden(t, "reports.sarif", regexp.MustCompile(`"ruleIndex":\d+`).ReplaceAll(results, []byte(`"ruleIndex":N`)))
		} else {
			golden(t, "reports."+format, out)
			golden(t, "none."+format, write(t, format, WriterOptions{}))
		}
		if again := write(t, format, WriterOptions{Version: "1.2.3"}, sampleReports()...); !bytes.Equal(out, again) {
			t.Errorf("%s: two runs differ", format)
		}
		for _, c := range string(out) {
			if c != '\n' && (c < 0x20 || c >= 0x7f && c < 0xa0 || c == 0x202e) {
				t.Errorf("%s: %U reaches the reader", format, c)
			}
		}
	}
	golden(t, "one.text", write(t, Text, WriterOptions{}, sampleReports()[2]))
}

func TestTextOfOnePackIsWhole(t *testing.T) {
	out := string(write(t, Text, WriterOptions{}, sampleReports()[0]))
	if !strings.HasPrefix(out, "skill \"email-triage\" — 3 wished tool(s) — PASS\n  [ok] pack_loads                 (gate 10) ") {
		t.Errorf("got\n%s", out)
	}
}

func TestTextStaysShort(t *testing.T) {
	r := sampleReports()[2]
	for range 5000 {
		r.Findings = append(r.Findings, r.Findings[0])
	}
	out := write(t, Text, WriterOptions{}, r)
	if n := bytes.Count(out, []byte{'\n'}); n > 200 {
		t.Errorf("%d lines", n)
	}
	if !bytes.Contains(out, []byte("and 4922 findings more")) {
		t.Errorf("the rest is not counted:\n%s", out[len(out)-200:])
	}
}

func TestJSONFollowsItsSchema(t *testing.T) {
	schema := compile(t, "check-report")
	for _, reports := range [][]*Report{nil, sampleReports()[:1], sampleReports()} {
		var doc any
		if err := json.Unmarshal(write(t, JSON, WriterOptions{}, reports...), &doc); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%d reports: %v", len(reports), err)
		}
	}
	var back struct {
		Reports []*Report
		Summary
	}
	if err := json.Unmarshal(write(t, JSON, WriterOptions{}, sampleReports()...), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleReports(), back.Reports); diff != "" {
		t.Errorf("reports changed on the way (-want +got):\n%s", diff)
	}
	if (back.Summary != Summary{Packs: 3, Passed: 2, Failed: 1}) {
		t.Errorf("totals %+v", back.Summary)
	}
}

func TestSARIFIsValid(t *testing.T) {
	for _, reports := range [][]*Report{nil, sampleReports()} {
		out := write(t, SARIF, WriterOptions{Base: "/src"}, reports...)
		doc, err := v210.FromBytes(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := doc.Validate(); err != nil {
			t.Errorf("%d reports: %v", len(reports), err)
		}
	}
}

func TestSARIFPlaces(t *testing.T) {
	r := sampleReports()[2]
	const root = "%SRCROOT%"
	for path, want := range map[string][2]string{
		"skills/a b":    {"skills/a%20b/skill.json", root},
		"/src/skills/x": {"skills/x/skill.json", root},
		"/other/x":      {"file:///other/x/skill.json", ""},
		"c:x":           {"c%3Ax/skill.json", root},
		".":             {"skill.json", root},
		"x\xff":         {"x%FF/skill.json", root},
	} {
		r.Path = path
		out := output{Output: report.NewOutput(io.Discard, WriterOptions{Base: "/src"})}
		if uri, base := sarif.Place(out.file(r, &r.Findings[0])); [2]string{uri, base} != want {
			t.Errorf("%q: got %q below %q, want %v", path, uri, base, want)
		}
	}
}

func TestSARIFFingerprints(t *testing.T) {
	w := newSARIFWriter(&output{Output: report.NewOutput(io.Discard, WriterOptions{})})
	r := sampleReports()[2]
	first := w.result(r, &r.Findings[0]).Identity
	moved := r.Findings[0]
	moved.Line += 10
	if diff := cmp.Diff(first, w.result(r, &moved).Identity); diff != "" {
		t.Errorf("a finding that only moved is another one:\n%s", diff)
	}
}

func TestJUnitIsXML(t *testing.T) {
	out := write(t, JUnit, WriterOptions{}, sampleReports()...)
	var doc struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Type    string `xml:"type,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Suites) != 3 || doc.Suites[2].Failures != 2 || doc.Suites[2].Cases[0].Failure.Type != "json.duplicate-key" {
		t.Errorf("got %+v", doc)
	}
	if name := doc.Suites[2].Name; name != `bad\x1b]0;title\x07` {
		t.Errorf("suite %q", name)
	}
}

func TestUnknownOutputFormat(t *testing.T) {
	_, err := NewWriter("yaml", io.Discard, WriterOptions{})
	if err == nil || !strings.Contains(err.Error(), "text, json, sarif, junit, github") {
		t.Errorf("got %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteErrorsAreReported(t *testing.T) {
	for _, format := range OutputFormats() {
		w, err := NewWriter(format, fullDisk{}, WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range sampleReports() {
			if err = w.Report(r); err != nil {
				break
			}
		}
		if err = errors.Join(err, w.Close()); err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("%s: got %v", format, err)
		}
	}
}
