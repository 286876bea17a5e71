// Package sarif writes SARIF 2.1.0, the form in which code scanning services read
// findings: one run, as a stream, the same bytes for the same findings. It knows
// nothing of what a finding means, and reads no SARIF.
//
// Call New, then Result for every finding, then Close. What it writes is harmless
// on a terminal.
package sarif

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/report"
)

// The levels of a rule or a result.
const (
	Error   = "error"
	Warning = "warning"
	Note    = "note"
)

// Rule describes one rule of the tool.
type Rule struct {
	ID    string
	Short string
	Help  string
	Level string
	Tags  []string // left out when there are none
}

// Taxonomy names a list of risks that tags of rules refer to.
type Taxonomy struct {
	Name    string
	Version string
	Address string
	Taxa    []Taxon // ascending by id
}

// Taxon is one risk of a taxonomy.
type Taxon struct{ ID, Name string }

// Run is what is known before the first result.
type Run struct {
	Version  string // of the program; may be empty
	Rules    []Rule // ascending by id
	Taxonomy *Taxonomy
}

// Result is one finding.
type Result struct {
	Rule   string
	Level  string
	Text   string // escaped by the caller
	File   string // with "/"; absolute when it lies outside the sources
	Line   int    // from 1; zero for the whole file
	Column int    // from 1, in bytes; zero when unknown
	// Identity is what the finding keeps when text above it moves.
	Identity []string
}

// Field order is the order of keys.
type (
	textDoc struct {
		Text string `json:"text"`
	}
	configDoc struct {
		Level string `json:"level"`
	}
	propertiesDoc struct {
		Tags []string `json:"tags"`
	}
	ruleDoc struct {
		ID         string         `json:"id"`
		Short      textDoc        `json:"shortDescription"`
		Help       textDoc        `json:"help"`
		Default    configDoc      `json:"defaultConfiguration"`
		Properties *propertiesDoc `json:"properties,omitempty"`
	}
	artifactDoc struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	regionDoc struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
	physicalDoc struct {
		Artifact artifactDoc `json:"artifactLocation"`
		Region   *regionDoc  `json:"region,omitempty"`
	}
	locationDoc struct {
		Physical physicalDoc `json:"physicalLocation"`
	}
	resultDoc struct {
		Rule         string            `json:"ruleId"`
		Index        int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      textDoc           `json:"message"`
		Locations    []locationDoc     `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	taxonDoc struct {
		ID    string  `json:"id"`
		Short textDoc `json:"shortDescription"`
	}
	taxonomyDoc struct {
		Name     string     `json:"name"`
		Version  string     `json:"version,omitempty"`
		Address  string     `json:"informationUri,omitempty"`
		Language string     `json:"language"`
		Taxa     []taxonDoc `json:"taxa"`
	}
)

// sourceRoot is the name under which viewers know the root of the sources.
const sourceRoot = "%SRCROOT%"

// Writer prints one run. Columns are bytes.
type Writer struct {
	w       *bufio.Writer
	run     Run
	results int
	seen    map[string]int // how often a fingerprint came, to tell equal findings apart
}

// New begins the document. It flushes nothing before Close.
func New(w *bufio.Writer, run Run) (*Writer, error) {
	s := &Writer{w: w, run: run, seen: map[string]int{}}
	list := make([]ruleDoc, 0, len(run.Rules))
	for _, r := range run.Rules {
		doc := ruleDoc{ID: r.ID, Short: textDoc{r.Short}, Help: textDoc{r.Help}, Default: configDoc{r.Level}}
		if len(r.Tags) > 0 {
			doc.Properties = &propertiesDoc{r.Tags}
		}
		list = append(list, doc)
	}
	rules, err := report.Compact(list)
	if err != nil {
		return nil, err
	}
	version := ""
	if run.Version != "" {
		quoted, err := report.Compact(run.Version)
		if err != nil {
			return nil, err
		}
		version = `"version":` + string(quoted) + ","
	}
	report.Put(s.w, `{"$schema":"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",`,
		`"version":"2.1.0","runs":[{"tool":{"driver":{"name":"kx",`, version,
		`"informationUri":"https://github.com/kortecx/kx","language":"en-GB","rules":`, string(rules), `}},`)
	if err := s.taxonomy(); err != nil {
		return nil, err
	}
	report.Put(s.w, `"results":[`)
	return s, nil
}

func (s *Writer) taxonomy() error {
	t := s.run.Taxonomy
	if t == nil {
		return nil
	}
	doc := taxonomyDoc{Name: t.Name, Version: t.Version, Address: t.Address, Language: "en-GB"}
	for _, x := range t.Taxa {
		doc.Taxa = append(doc.Taxa, taxonDoc{x.ID, textDoc{x.Name}})
	}
	text, err := report.Compact(doc)
	if err != nil {
		return err
	}
	report.Put(s.w, `"taxonomies":[`, string(text), `],`)
	return nil
}

// Result prints one finding.
func (s *Writer) Result(r Result) error {
	physical := physicalDoc{Artifact: artifact(r.File)}
	if r.Line > 0 {
		physical.Region = &regionDoc{r.Line, r.Column}
	}
	rules := s.run.Rules
	index := sort.Search(len(rules), func(i int) bool { return rules[i].ID >= r.Rule })
	if index == len(rules) || rules[index].ID != r.Rule {
		index = -1
	}
	print := fingerprint(r.Identity)
	s.seen[print]++
	doc, err := report.Compact(resultDoc{
		Rule:         r.Rule,
		Index:        index,
		Level:        r.Level,
		Message:      textDoc{r.Text},
		Locations:    []locationDoc{{physical}},
		Fingerprints: map[string]string{"kxFinding/v1": print + ":" + strconv.Itoa(s.seen[print])},
	})
	if err != nil {
		return err
	}
	if s.results > 0 {
		report.Put(s.w, ",")
	}
	s.results++
	report.Put(s.w, "\n", string(doc))
	return nil
}

// fingerprint names a finding by what it keeps when it moves.
func fingerprint(identity []string) string {
	sum := sha256.Sum256([]byte(strings.Join(identity, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Close ends the document and flushes.
func (s *Writer) Close() error {
	if s.results > 0 {
		report.Put(s.w, "\n")
	}
	report.Put(s.w, `],"language":"en-GB","newlineSequences":["\r\n","\n"],"columnKind":"utf16CodeUnits"}]}`, "\n")
	return s.w.Flush()
}

func artifact(file string) artifactDoc {
	uri, base := Place(file)
	return artifactDoc{uri, base}
}

// Place is where a file is for a viewer: relative to the root of the sources,
// whose name is base, or an absolute address without one when it lies outside.
func Place(file string) (uri, base string) {
	if filepath.IsAbs(filepath.FromSlash(file)) {
		return fileURI(file), ""
	}
	return escapePath(file), sourceRoot
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
