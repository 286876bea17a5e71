package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/termtext"
)

// The parts of SARIF 2.1.0 that are written. Field order is the order of keys.
type (
	sarifText struct {
		Text string `json:"text"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifRule struct {
		ID      string      `json:"id"`
		Short   sarifText   `json:"shortDescription"`
		Help    sarifText   `json:"help"`
		Default sarifConfig `json:"defaultConfiguration"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifResult struct {
		Rule         string            `json:"ruleId"`
		Index        int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
)

// sarifBase is the name under which viewers know the root of the sources.
const sarifBase = "%SRCROOT%"

// sarifWriter prints one run. Columns are bytes, as everywhere in reports.
type sarifWriter struct {
	*output
	started bool
	results int
	seen    map[string]int // how often a fingerprint came, to tell equal findings apart
}

func newSARIFWriter(out *output) *sarifWriter {
	return &sarifWriter{output: out, seen: map[string]int{}}
}

func (s *sarifWriter) start() error {
	if s.started {
		return nil
	}
	s.started = true
	list := make([]sarifRule, 0, len(rules))
	for _, r := range rules {
		list = append(list, sarifRule{r.ID, sarifText{r.Summary}, sarifText{r.help()}, sarifConfig{string(r.Severity)}})
	}
	doc, err := compactJSON(list)
	if err != nil {
		return err
	}
	version := ""
	if s.o.Version != "" {
		quoted, err := compactJSON(s.o.Version)
		if err != nil {
			return err
		}
		version = `"version":` + string(quoted) + ","
	}
	s.str(`{"$schema":"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",`,
		`"version":"2.1.0","runs":[{"tool":{"driver":{"name":"kx",`, version,
		`"informationUri":"https://github.com/kortecx/kx","language":"en-GB","rules":`, string(doc), `}},"results":[`)
	return nil
}

func (s *sarifWriter) Report(r *Report) error {
	if err := s.start(); err != nil {
		return err
	}
	s.count(r)
	for i := range r.Findings {
		doc, err := compactJSON(s.result(r, &r.Findings[i]))
		if err != nil {
			return err
		}
		if s.results > 0 {
			s.str(",")
		}
		s.results++
		s.str("\n", string(doc))
	}
	return nil
}

func (s *sarifWriter) result(r *Report, f *Finding) sarifResult {
	file := s.file(r, f)
	text := termtext.Escape(f.Message)
	if f.Hint != "" {
		text += "\n" + termtext.Escape(f.Hint)
	}
	physical := sarifPhysical{Artifact: artifact(file)}
	if f.Line > 0 {
		physical.Region = &sarifRegion{f.Line, f.Column}
	}
	index := sort.Search(len(rules), func(i int) bool { return rules[i].ID >= f.ID })
	if index == len(rules) || rules[index].ID != f.ID {
		index = -1
	}
	// Neither line nor column enters, so that a finding keeps its identity when
	// text above it moves.
	sum := sha256.Sum256([]byte(strings.Join([]string{f.ID, file, f.Pointer, f.Message}, "\x00")))
	print := hex.EncodeToString(sum[:16])
	s.seen[print]++
	return sarifResult{
		Rule:         f.ID,
		Index:        index,
		Level:        string(f.Severity),
		Message:      sarifText{text},
		Locations:    []sarifLocation{{physical}},
		Fingerprints: map[string]string{"kxFinding/v1": print + ":" + strconv.Itoa(s.seen[print])},
	}
}

func (s *sarifWriter) Close() error {
	if err := s.start(); err != nil {
		return err
	}
	if s.results > 0 {
		s.str("\n")
	}
	s.str(`],"language":"en-GB","newlineSequences":["\r\n","\n"],"columnKind":"utf16CodeUnits"}]}`, "\n")
	return s.w.Flush()
}

// artifact is where a file is: relative to the root of the sources, or absolute
// when it lies outside.
func artifact(file string) sarifArtifact {
	if filepath.IsAbs(filepath.FromSlash(file)) {
		return sarifArtifact{URI: fileURI(file)}
	}
	return sarifArtifact{URI: escapePath(file), Base: sarifBase}
}

// fileURI is the file: address of an absolute path.
func fileURI(abs string) string {
	p := strings.TrimSuffix(filepath.ToSlash(abs), "/")
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a Windows drive
	}
	return "file://" + escapePath(p)
}

// escapePath percent-encodes the segments of a path. A colon is encoded too: in
// a first segment it would read as a scheme.
func escapePath(p string) string {
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(s), ":", "%3A")
	}
	return strings.Join(segments, "/")
}
