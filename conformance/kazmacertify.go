package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// Scores of the Kazma reference: below the first a lint does not pass, below the
// second there is something critical, and from the third on a skill may qualify
// for the standard badge.
const (
	lintScore     = 80
	criticalScore = 50
	standardScore = 90
)

// minDescription is how many characters make a description complete.
const minDescription = 20

// The requirements that files answer by themselves.
const (
	ReqManifest = "manifest_valid"
	ReqLint     = "security_lint_pass"
	ReqCritical = "no_critical_vulnerabilities"
	ReqDocs     = "documentation_complete"

	reqEntry       = "entry_point_exists"
	reqDescription = "description_complete"
	reqLicense     = "license_present"
)

// Met is one requirement and whether it is met, with what was seen.
type Met struct {
	Requirement string
	Met         bool
	Why         string
}

// KazmaCertification is the answer of "kazma hub check-certification": what can be
// known about a folder before a hub looks at it.
type KazmaCertification struct {
	Path         string
	Requirements []Met // in the reference's order
	Score        float64
	Errors       []string
	Warnings     []string
}

// CheckCertification judges the folder at path by the six local requirements of the
// Kazma reference. The error is about a folder that is not there, or whose manifest
// is not there or cannot be read at all.
func CheckCertification(folder string) (*KazmaCertification, error) {
	data := manifestBytes(folder, pack.Kazma)
	if data == nil {
		return nil, &NotFoundError{Path: path.Join(displayPath(folder), kazmaManifest)}
	}
	root, faults, _ := yamledit.Parse(data)
	if root == nil {
		return nil, fmt.Errorf("cannot read %s: %w", kazmaManifest, faults[0])
	}
	in, err := pack.Inspect(folder, pack.Options{Format: pack.Kazma})
	if err != nil {
		return nil, err
	}
	v, err := ValidateKazma(folder)
	if err != nil {
		return nil, err
	}
	c := &KazmaCertification{Path: v.Path, Score: v.Score, Errors: v.Errors, Warnings: v.Warnings}
	manifest, entry := true, true
	for _, e := range in.Faults {
		rule, _ := ruleByID(e.ID)
		entry = entry && rule.area != areaEntry
		manifest = manifest && !countsAsManifest(e) && rule.area != areaServers
	}
	add := func(requirement string, met bool) {
		c.Requirements = append(c.Requirements, Met{Requirement: requirement, Met: met})
	}
	add(ReqManifest, manifest)
	add(ReqLint, v.Passed && v.Score >= lintScore)
	add(ReqCritical, v.Score >= criticalScore)
	add(reqEntry, entry)
	add(reqDescription, complete(scalarOf(root, "description")))
	add(reqLicense, strings.TrimSpace(scalarOf(root, "license")) != "")
	return c, nil
}

func scalarOf(m *yamledit.Mapping, key string) string {
	if v := m.Get(key); v != nil && v.Kind == yamledit.Scalar {
		return v.Text
	}
	return ""
}

func complete(description string) bool {
	return utf8.RuneCountInString(strings.TrimSpace(description)) >= minDescription
}

// count is how many requirements are met.
func (c *KazmaCertification) count() (met int) {
	for _, r := range c.Requirements {
		if r.Met {
			met++
		}
	}
	return met
}

// Qualifies tells whether the folder could have the basic or the standard badge, as
// far as its files say. The reference's basic badge asks for any three requirements,
// so that a skill whose entry file is missing can have it; ours asks for the three
// that a hub will ask for as well.
func (c *KazmaCertification) Qualifies(standard bool) bool {
	if standard {
		return c.Score >= standardScore && c.count() == len(c.Requirements)
	}
	for _, r := range c.Requirements[:3] {
		if !r.Met {
			return false
		}
	}
	return c.Score >= lintScore
}

// WriteText prints the answer as the reference does.
func (c *KazmaCertification) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	line := func(parts ...string) {
		// bufio repeats the first error in Flush.
		_, _ = out.WriteString(termtext.Escape(strings.Join(parts, "")) + "\n")
	}
	line("Certification Check for ", c.Path)
	line(strings.Repeat("=", 40))
	for _, r := range c.Requirements {
		state := "[UNMET] "
		if r.Met {
			state = "[MET] "
		}
		line("  ", state, r.Requirement)
	}
	line()
	line(fmt.Sprintf("Result: %d/%d requirements met", c.count(), len(c.Requirements)))
	line("Security Score: ", strconv.FormatFloat(c.Score, 'f', 0, 64), "/100")
	line()
	line("Qualification:")
	for _, badge := range []struct {
		name string
		yes  bool
	}{{"basic", c.Qualifies(false)}, {"standard", c.Qualifies(true)}} {
		answer := "[NO]  "
		if badge.yes {
			answer = "[YES] "
		}
		line("  ", answer, badge.name, " badge")
	}
	return out.Flush()
}

// WriteJSON prints the answer as the reference does: two spaces of indent, ASCII
// only, the score as a float.
func (c *KazmaCertification) WriteJSON(w io.Writer) error {
	var b strings.Builder
	b.WriteString("{\n  \"path\": " + asciiJSON(c.Path) + ",\n  \"requirements\": {")
	for i, r := range c.Requirements {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    " + asciiJSON(r.Requirement) + ": " + strconv.FormatBool(r.Met))
	}
	b.WriteString("\n  },\n  \"score\": " + pythonFloat(c.Score))
	writeTexts(&b, "errors", c.Errors)
	writeTexts(&b, "warnings", c.Warnings)
	b.WriteString("\n}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTexts writes ", key: [texts]" as Python indents it.
func writeTexts(b *strings.Builder, key string, texts []string) {
	b.WriteString(",\n  \"" + key + "\": [")
	for i, text := range texts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    " + asciiJSON(text))
	}
	if len(texts) > 0 {
		b.WriteString("\n  ")
	}
	b.WriteString("]")
}

// pythonFloat writes a number of at most a few digits as Python writes a float.
func pythonFloat(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// Evidence is what the files of a pack say about the requirements of a badge. It
// is computed from the files and nothing else: no claim of a manifest enters it.
type Evidence struct {
	Score        float64 // of the lint, 0 to 100
	Requirements []Met   // ReqManifest, ReqLint, ReqCritical, ReqDocs
}

// Evaluate judges files that are in memory, of any format. The lint is that of
// ValidateKazma; a pack of another format is linted for its Python sources.
func Evaluate(name string, files []pack.File) Evidence {
	in := pack.Read(name, files, pack.Options{})
	warnings, loss := lintPython(files)
	var manifest []byte
	if in.Format == pack.Kazma {
		for _, f := range files {
			if f.Path == kazmaManifest {
				manifest = f.Data
			}
		}
	}
	v := judgeKazma(in, name, permissionsAreListed(manifest), warnings, loss)
	e := Evidence{Score: v.Score}
	add := func(requirement string, met bool, why string) {
		e.Requirements = append(e.Requirements, Met{Requirement: requirement, Met: met, Why: why})
	}
	score := "the lint gives " + strconv.FormatFloat(v.Score, 'f', 0, 64) + " of 100"
	if len(v.Errors) > 0 {
		add(ReqManifest, false, v.Errors[0])
		add(ReqLint, false, v.Errors[0])
	} else {
		add(ReqManifest, true, "the pack passes its format's rules")
		add(ReqLint, v.Score >= lintScore, score)
	}
	add(ReqCritical, v.Score >= criticalScore, score)
	documented, why := documented(in.Pack)
	add(ReqDocs, documented, why)
	return e
}

func lintPython(files []pack.File) (warnings []string, loss int) {
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".py") {
			continue
		}
		found, lost := pythonPatterns(f.Data)
		for _, text := range found {
			warnings = append(warnings, f.Path+": "+text)
		}
		loss += lost
	}
	return warnings, loss
}

// documented tells whether a person or an agent finds out from the pack what it is
// for and how it is used.
func documented(p *pack.Pack) (bool, string) {
	switch {
	case p == nil:
		return false, "the pack cannot be read"
	case !complete(p.Description):
		return false, fmt.Sprintf("the description is shorter than %d characters", minDescription)
	case len(bytes.TrimSpace(p.Instructions())) > 0:
		return true, "it is described and has instructions"
	case slices.ContainsFunc(p.Files, isReadme):
		return true, "it is described and has a README"
	}
	return false, "it has neither instructions nor a README"
}

func isReadme(f pack.File) bool {
	name := strings.ToLower(f.Path)
	return strings.TrimSuffix(name, path.Ext(name)) == "readme" && len(bytes.TrimSpace(f.Data)) > 0
}
