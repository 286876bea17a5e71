package conformance

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

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
type WriterOptions struct {
	// Base is the absolute folder that relative paths of reports start from;
	// formats that name files to another program put paths below it relative to
	// it. Empty leaves paths as they are.
	Base string
	// Version of the program, for formats that name it.
	Version string
}

// NewWriter makes a writer of an output format to w. Writes are buffered until
// Close.
func NewWriter(format string, w io.Writer, o WriterOptions) (Writer, error) {
	out := &output{w: bufio.NewWriterSize(w, 32<<10), o: o}
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

// output is what every writer shares: the buffer, the counts and the error that
// bufio keeps until the end.
type output struct {
	w   *bufio.Writer
	o   WriterOptions
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

func (out *output) str(parts ...string) {
	for _, s := range parts {
		// bufio repeats the first error in Flush.
		_, _ = out.w.WriteString(s)
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
	return path.Join(out.below(r.Path), name)
}

// below makes an absolute path relative to the base where it lies below it.
func (out *output) below(name string) string {
	if out.o.Base == "" || !filepath.IsAbs(filepath.FromSlash(name)) {
		return name
	}
	rel, err := filepath.Rel(out.o.Base, filepath.FromSlash(name))
	if err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return filepath.ToSlash(rel)
}

// named is what a report is about, for one line: the format may be unknown.
func named(f pack.Format) string {
	if f == "" {
		return "no format"
	}
	return string(f)
}
