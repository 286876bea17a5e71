// Package report is what the programs that print reports one after the other share:
// a buffer that keeps the first error, paths as another program wants them, and the
// list as one JSON document. It knows nothing of what a report says; conformance and
// scan do, and internal/sarif has the form for code scanning services.
//
// Call NewOutput, then what the output format needs, and Flush at the end.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/kortecx/kx/internal/termtext"
)

// Options of a writer of reports.
type Options struct {
	// Base is the absolute folder that relative paths of reports start from;
	// formats that name files to another program put paths below it relative to
	// it. Empty leaves paths as they are.
	Base string
	// Version of the program, for formats that name it.
	Version string
}

// Output is where reports go. Nothing that it holds reaches the writer before Flush
// but what fills the buffer.
type Output struct {
	*bufio.Writer
	Options
	items int
}

// NewOutput makes an output to w.
func NewOutput(w io.Writer, o Options) *Output {
	return &Output{Writer: bufio.NewWriterSize(w, 32<<10), Options: o}
}

// Put writes the parts. An error is kept, and Flush returns it.
func (o *Output) Put(parts ...string) { Put(o.Writer, parts...) }

// Put writes the parts to w, which keeps an error until its Flush.
func Put(w *bufio.Writer, parts ...string) {
	for _, s := range parts {
		_, _ = w.WriteString(s)
	}
}

// Below makes an absolute path relative to the base where it lies below it.
func (o *Output) Below(name string) string {
	if o.Base == "" || !filepath.IsAbs(filepath.FromSlash(name)) {
		return name
	}
	rel, err := filepath.Rel(o.Base, filepath.FromSlash(name))
	if err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return filepath.ToSlash(rel)
}

// Item writes the next report of {"reports":[…], …}, on a line of its own.
func (o *Output) Item(report any) error {
	doc, err := Compact(report)
	if err != nil {
		return err
	}
	if o.items == 0 {
		o.Put("{\"reports\":[\n")
	} else {
		o.Put(",\n")
	}
	o.items++
	_, err = o.Write(doc)
	return err
}

// EndItems ends the list that Item began, or an empty one, with the members of totals,
// an object that has some, behind it. It flushes.
func (o *Output) EndItems(totals any) error {
	if o.items == 0 {
		o.Put("{\"reports\":[")
	} else {
		o.Put("\n")
	}
	doc, err := json.Marshal(totals)
	if err != nil {
		return err
	}
	o.Put("],", string(doc[1:]), "\n")
	return o.Flush()
}

// Compact is a value as compact JSON that is harmless on a terminal.
func Compact(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return termtext.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
