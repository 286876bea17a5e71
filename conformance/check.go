package conformance

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

// maxMessage bounds one message in bytes: a manifest may hold a key of 64 KiB,
// and no reader of a report wants it whole.
const maxMessage = 600

// Check judges the pack at path: its folder, or its manifest file. It always
// answers with a report; a path that cannot be read is a report that failed.
func Check(path string, o Options) *Report {
	t, err := resolve(path)
	if err != nil {
		return unreadable(path, err)
	}
	return checkTarget(t.wants(o.Format), o)
}

func checkTarget(t Target, o Options) *Report {
	in, err := pack.Inspect(t.Path, pack.Options{Format: t.Format})
	if err != nil {
		return unreadable(t.Path, err)
	}
	return judge(in, t.Path, o, func() []byte { return manifestBytes(t.Path, in.Format) })
}

// Judge is Check for a folder that was inspected already, or for files in
// memory that pack.Read inspected. path is only reported.
func Judge(in *pack.Inspection, path string, o Options) *Report {
	return judge(in, path, o, func() []byte { return nil })
}

// judge fills a report. manifest reads the manifest file again; it is asked only
// for a pack that does not load.
func judge(in *pack.Inspection, path string, o Options, manifest func() []byte) *Report {
	r := &Report{
		Connector: in.Name,
		Reachable: in.Pack != nil,
		Format:    in.Format,
		Path:      displayPath(path),
		Findings:  []Finding{},
	}
	// As in the reference: what a pack that does not load calls itself is not
	// worth more than where it lies.
	if folder := folderName(path); in.Pack == nil && folder != "" || r.Connector == "" {
		r.Connector = folder
	}
	j := &judgement{in: in, report: r, strict: o.Strict}
	j.addAll(in.Faults, Error)
	j.addAll(in.Layout, Error)
	j.addAll(in.Warnings, Warning)
	switch in.Format {
	case pack.Kortecx:
		j.kortecx(manifest)
	case pack.SkillMD:
		j.skillMD()
	case pack.Kazma:
		j.kazma()
	default:
		j.check(checkLoads, gateLoads, "")
	}
	j.close()
	return r
}

// unreadable is the report about a path at which there is no folder to judge.
func unreadable(path string, err error) *Report {
	r := &Report{Connector: folderName(path), Path: displayPath(path), Findings: []Finding{}}
	fault := &pack.Error{Kind: pack.KindPack, ID: "pack.unreadable", Text: fileErrorText(err)}
	var known *pack.Error
	switch {
	case errors.As(err, &known):
		fault = known
	case errors.Is(err, fs.ErrNotExist):
		fault.ID = "pack.not-found"
	}
	j := &judgement{in: &pack.Inspection{Faults: pack.Errors{fault}}, report: r}
	j.add(fault, Error)
	j.check(checkLoads, gateLoads, "")
	j.close()
	return r
}

// fileErrorText drops the path that an os error repeats: the report names it.
func fileErrorText(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// folderName is the last component of path made absolute, as the reference names
// a pack that did not load.
func folderName(path string) string {
	name := filepath.Base(path)
	if name == "." || name == ".." {
		if abs, err := filepath.Abs(path); err == nil {
			name = filepath.Base(abs)
		}
	}
	if name == "" || name == "." || name == string(filepath.Separator) {
		return "<pack>"
	}
	return name
}

// manifestBytes reads a manifest file for a second look, nil when that is not
// safe or not possible: the first look has already said why.
func manifestBytes(folder string, f pack.Format) []byte {
	root, err := fsx.Open(folder)
	if err != nil {
		return nil
	}
	data, err := root.ReadFile(f.ManifestFile(), pack.MaxManifest)
	if closeErr := root.Close(); err != nil || closeErr != nil {
		return nil
	}
	return data
}

// judgement collects findings and checks of one report.
type judgement struct {
	in     *pack.Inspection
	report *Report
	strict bool
}

func (j *judgement) addAll(list []*pack.Error, s Severity) {
	for _, e := range list {
		j.add(e, s)
	}
}

// add makes a finding of one fault or warning.
func (j *judgement) add(e *pack.Error, s Severity) {
	if j.strict {
		s = Error
	}
	j.report.Findings = append(j.report.Findings, finding(j.report.Format, e, s))
}

func finding(f pack.Format, e *pack.Error, s Severity) Finding {
	kind := e.Kind
	if kind == "" {
		kind = pack.KindInvalid // rules of this package are about values
	}
	return Finding{
		ID:       e.ID,
		Kind:     string(kind),
		Severity: s,
		Check:    checkOf(f, e),
		File:     e.Place.File,
		Line:     e.Place.Line,
		Column:   e.Place.Column,
		Pointer:  clip(e.Place.Pointer),
		Message:  clip(e.Text),
		Hint:     clip(e.Hint),
	}
}

// own adds a finding of a rule of this package; see rules.go for its severity.
func (j *judgement) own(id string, at pack.Place, text, hint string) {
	rule, _ := ruleByID(id)
	j.add(&pack.Error{ID: id, Place: at, Text: text, Hint: hint}, rule.Severity)
}

// check records that a check was judged; detail is what it says when it passes.
// Whether it passes is settled by close, when all findings are known.
func (j *judgement) check(name string, gate int, detail string) {
	j.report.Checks = append(j.report.Checks, CheckResult{Name: name, Gate: gate, Detail: detail})
}

// judged records a check when it could be judged, or when something was found.
func (j *judgement) judged(could bool, name string, gate int, detail string) {
	if could || j.first(name) != nil {
		j.check(name, gate, detail)
	}
}

// first is the first error that belongs to the named check.
func (j *judgement) first(check string) *Finding {
	for i := range j.report.Findings {
		if f := &j.report.Findings[i]; f.Check == check && f.Severity == Error {
			return f
		}
	}
	return nil
}

// read tells whether a manifest could be read, and whole: else nobody can say that
// what is in it is valid.
func (j *judgement) read(manifest string) bool {
	return !j.blind(manifest) && !slices.ContainsFunc(j.report.Findings, func(f Finding) bool {
		return f.File == manifest && f.Severity == Error && f.Check == checkLoads
	})
}

// close settles every check. A check fails for an error of its own; the one that
// says whether the pack loads fails for any fault of loading.
func (j *judgement) close() {
	r := j.report
	r.Passed = r.Reachable
	for i := range r.Checks {
		c := &r.Checks[i]
		c.Passed = true
		f := j.first(c.Name)
		switch {
		case f != nil:
			c.Passed, c.Detail = false, j.failure(f, c.Name)
		case c.Name == checkLoads && !r.Reachable:
			c.Passed = false
			if len(r.Findings) > 0 {
				c.Detail = placed(&r.Findings[0])
			}
		}
		r.Passed = r.Passed && c.Passed
	}
	if _, warnings := r.Count(); warnings > 0 {
		errorsFirst(r.Findings)
	}
}

// failure is the detail of a failed check: its first error and how many follow.
func (j *judgement) failure(f *Finding, check string) string {
	more := -1
	for i := range j.report.Findings {
		if g := &j.report.Findings[i]; g.Check == check && g.Severity == Error {
			more++
		}
	}
	if more == 0 {
		return placed(f)
	}
	return placed(f) + " (and " + strconv.Itoa(more) + " more)"
}

// placed is a finding in one piece: place and message.
func placed(f *Finding) string {
	if at := f.place().String(); at != "" {
		return at + ": " + f.Message
	}
	return f.Message
}

func (f *Finding) place() pack.Place {
	return pack.Place{File: f.File, Line: f.Line, Column: f.Column}
}

// errorsFirst moves warnings behind errors and keeps the order otherwise.
func errorsFirst(list []Finding) {
	var warnings []Finding
	errors := list[:0]
	for _, f := range list {
		if f.Severity == Error {
			errors = append(errors, f)
		} else {
			warnings = append(warnings, f)
		}
	}
	copy(list[len(errors):], warnings)
}

// clip shortens text of the pack that a message quotes, at a character.
func clip(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}

// plural is "1 file" or "2 files".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
