package conformance

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/kortecx/kx/internal/report"
	"github.com/kortecx/kx/pack"
)

// Output formats of NewWriter.
const (
	Text   = "text"   // for people
	JSON   = "json"   // one document with every report
	SARIF  = "sarif"  // SARIF 2.1.0, for code scanning
	JUnit  = "junit"  // JUnit XML, for build servers
	GitHub = "github" // workflow commands that annotate a pull request
)

var outputFormats = [...]string{Text, JSON, SARIF, JUnit, GitHub}

// OutputFormats lists the formats that NewWriter knows.
func OutputFormats() []string { return append([]string(nil), outputFormats[:]...) }

// Writer prints reports as they come. The same reports give the same bytes.
type Writer interface {
	// Report prints one report, or keeps it until the next one comes.
	Report(*Report) error
	// Close ends the document. It does not close what is written to.
	Close() error
}

// WriterOptions for NewWriter.
type WriterOptions = report.Options

// NewWriter makes a writer of an output format to w. Writes are buffered until
// Close.
func NewWriter(format string, w io.Writer, o WriterOptions) (Writer, error) {
	out := &output{Output: report.NewOutput(w, o)}
	switch format {
	case Text:
		return &textWriter{output: out}, nil
	case JSON:
		return &jsonWriter{output: out}, nil
	case SARIF:
		return newSARIFWriter(out), nil
	case JUnit:
		return &junitWriter{output: out}, nil
	case GitHub:
		return &githubWriter{output: out}, nil
	}
	return nil, fmt.Errorf("output format %q is not one of %s", format, strings.Join(outputFormats[:], ", "))
}

// output is what every writer shares.
type output struct {
	*report.Output
	sum Summary
}

func (out *output) count(r *Report) {
	out.sum.Packs++
	if r.Passed {
		out.sum.Passed++
	} else {
		out.sum.Failed++
	}
}

// file is the path of a finding's file for another program: relative to the base
// when it lies below it. A finding about the folder is put on the manifest,
// because annotations need a file.
func (out *output) file(r *Report, f *Finding) string {
	name := f.File
	if name == "" {
		name = r.Format.ManifestFile()
	}
	return path.Join(out.Below(r.Path), name)
}

// named is what a report is about, for one line: the format may be unknown.
func named(f pack.Format) string {
	if f == "" {
		return "no format"
	}
	return string(f)
}
