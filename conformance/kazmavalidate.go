package conformance

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/internal/report"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// What each thing takes off a score of 100, as the Kazma reference counts.
const (
	lossManifest   = 30 // once
	lossPermission = 5  // for each unknown one in list form
)

// KazmaValidation is the answer of "kazma hub validate". Score is between 0 and
// 100; it says how much there is to look at and does not decide over Passed.
type KazmaValidation struct {
	Path     string   `json:"path"`
	Passed   bool     `json:"passed"`
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
	Score    float64  `json:"score"`
}

// ValidateKazma runs the five checks of the Kazma reference over the folder at
// path: manifest, entry point, permissions, MCP servers, and a scan of the Python
// sources. What our stricter reader refuses is an error too. The error it returns
// is about a path that is not there.
func ValidateKazma(path string) (*KazmaValidation, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		v := &KazmaValidation{Path: displayPath(path), Errors: []string{"Missing " + kazmaManifest}, Warnings: []string{}}
		v.Score = 100 - lossManifest
		return v, nil
	}
	in, err := pack.Inspect(path, pack.Options{Format: pack.Kazma})
	if err != nil {
		return nil, err
	}
	warnings, lost, err := scanPython(path)
	if err != nil {
		return nil, err
	}
	return judgeKazma(in, path, permissionsAreListed(manifestBytes(path, pack.Kazma)), warnings, lost), nil
}

// judgeKazma puts the answer together: what the reader found, and what the scan of
// the sources did.
func judgeKazma(in *pack.Inspection, path string, listForm bool, warnings []string, loss int) *KazmaValidation {
	v := &KazmaValidation{Path: displayPath(path), Errors: []string{}, Warnings: []string{}}
	manifestFault := false
	for _, e := range append(append(pack.Errors(nil), in.Faults...), in.Layout...) {
		v.Errors = append(v.Errors, clip(e.Error()))
		manifestFault = manifestFault || countsAsManifest(e)
	}
	if manifestFault {
		loss += lossManifest
	}
	for _, e := range in.Warnings {
		v.Warnings = append(v.Warnings, clip(e.Error()))
		if rule, _ := ruleByID(e.ID); rule.area == areaPermissions && listForm {
			loss += lossPermission
		}
	}
	v.Warnings = append(v.Warnings, warnings...)
	v.Score = float64(min(max(100-loss, 0), 100))
	v.Passed = len(v.Errors) == 0
	return v
}

// countsAsManifest tells which faults the reference's first check would see, or
// would see if it read as strictly as we do. A server of an unknown type and a
// missing entry file belong to its other checks, which take nothing off.
func countsAsManifest(e *pack.Error) bool {
	rule, _ := ruleByID(e.ID)
	switch rule.area {
	case areaLoad, areaManifest, areaName, areaDescription, areaIntegrity:
		return true
	case areaServers:
		return e.ID != "mcp.type"
	}
	return false
}

// permissionsAreListed tells whether the manifest gives its permissions as a list,
// the only form whose values the reference looks at.
func permissionsAreListed(manifest []byte) bool {
	m, _, _ := yamledit.Parse(manifest)
	value := m.Get("permissions")
	return value != nil && value.Kind == yamledit.Sequence
}

// scanPython reads every regular .py file below the folder, in ascending order,
// within the limits that a pack has. Links are not followed.
func scanPython(folder string) (warnings []string, loss int, err error) {
	root, err := fsx.Open(folder)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	files, total := 0, int64(0)
	err = eachFile(root, ".", 0, func(name string) error {
		if !strings.HasSuffix(name, ".py") {
			return nil
		}
		files++
		data, err := root.ReadFile(name, pack.MaxBytes-total)
		switch {
		case files > pack.MaxFiles || errors.Is(err, fsx.ErrTooLarge):
			warnings = append(warnings, "not every Python file was scanned: the folder is larger than a pack may be")
			return fs.SkipAll
		case err != nil:
			warnings = append(warnings, name+" was not scanned: "+fileErrorText(err))
			return nil
		}
		total += int64(len(data))
		found, lost := pythonPatterns(data)
		for _, text := range found {
			warnings = append(warnings, name+": "+text)
		}
		loss += lost
		return nil
	})
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return warnings, loss, err
}

// eachFile calls visit for every regular file below dir, ascending.
func eachFile(root fsx.Root, dir string, depth int, visit func(name string) error) error {
	if depth > pack.MaxDepth {
		return nil
	}
	entries, err := root.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if dir != "." {
			name = dir + "/" + name
		}
		switch {
		case e.IsDir():
			err = eachFile(root, name, depth+1, visit)
		case e.Type().IsRegular():
			err = visit(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteText prints the answer as the reference does.
func (v *KazmaValidation) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	line := func(parts ...string) {
		// bufio repeats the first error in Flush.
		_, _ = out.WriteString(termtext.Escape(strings.Join(parts, "")) + "\n")
	}
	line("Validation Results for ", v.Path)
	line(strings.Repeat("=", 40))
	some := func(mark string, texts []string) {
		for i, text := range texts {
			if i == maxTextLines {
				line(mark, "and ", strconv.Itoa(len(texts)-i), " more; --json lists them all")
				return
			}
			line(mark, text)
		}
	}
	some("[FAIL] ", v.Errors)
	some("[WARN] ", v.Warnings)
	if len(v.Errors)+len(v.Warnings) == 0 {
		line("[PASS] Manifest structure valid")
		line("[PASS] Entry point found")
		line("[PASS] MCP servers configured")
		line("[PASS] No security issues found")
	}
	line("Security Score: ", strconv.FormatFloat(v.Score, 'f', 0, 64), "/100")
	return out.Flush()
}

// WriteJSON prints the answer as the reference does: two spaces of indent, ASCII
// only, the score as a float.
func (v *KazmaValidation) WriteJSON(w io.Writer) error {
	var b strings.Builder
	b.WriteString("{\n  \"path\": " + asciiJSON(v.Path) + ",\n  \"passed\": " + strconv.FormatBool(v.Passed))
	writeTexts(&b, "errors", v.Errors)
	writeTexts(&b, "warnings", v.Warnings)
	b.WriteString(",\n  \"score\": " + pythonFloat(v.Score) + "\n}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// asciiJSON is s as a JSON string in ASCII.
func asciiJSON(s string) string {
	doc, err := report.Compact(s)
	if err != nil {
		// A string always encodes.
		return `""`
	}
	var b strings.Builder
	for _, r := range string(doc) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r < 0x10000:
			writeUnit(&b, r)
		default:
			high, low := utf16.EncodeRune(r)
			writeUnit(&b, high)
			writeUnit(&b, low)
		}
	}
	return b.String()
}

func writeUnit(b *strings.Builder, unit rune) {
	hex := strconv.FormatInt(int64(unit), 16)
	b.WriteString(`\u` + strings.Repeat("0", 4-len(hex)) + hex)
}
