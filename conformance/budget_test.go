package conformance

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A pack with thousands of faults must not bury what else a build prints.
func TestOutputForOnePackIsBounded(t *testing.T) {
	r := &Report{Path: "x", Connector: "x", Checks: []CheckResult{{Name: "load"}, {Name: "manifest"}}}
	for i := range 5000 {
		check := "load"
		if i%2 == 1 {
			check = "manifest"
		}
		r.Findings = append(r.Findings, Finding{ID: "json.type", Severity: Error, Message: fmt.Sprint("fault ", i), Check: check, Hint: "mend it"})
	}
	for _, format := range []string{Text, JUnit, GitHub} {
		var b bytes.Buffer
		w, err := NewWriter(format, &b, WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Report(r), w.Close()); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		if lines := strings.Count(out, "\n"); lines > 200 || !strings.Contains(out, "more; --format json lists them all") || !strings.Contains(out, "fault 0") {
			t.Errorf("%s: %d lines:\n%.2000s", format, lines, out)
		}
		if format == JUnit {
			d := xml.NewDecoder(&b)
			for err == nil {
				_, err = d.Token()
			}
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		}
	}
	v := &KazmaValidation{Path: "x"}
	for range 5000 {
		v.Errors, v.Warnings = append(v.Errors, "e"), append(v.Warnings, "w")
	}
	var b bytes.Buffer
	if err := v.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); strings.Count(out, "\n") > 200 || !strings.Contains(out, "[WARN] and 4920 more") || !strings.Contains(out, "Security Score") {
		t.Errorf("%.2000s", out)
	}
}
