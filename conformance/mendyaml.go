package conformance

import (
	"bytes"
	"fmt"

	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// kazmaTexts are the keys that are text by the rules of a Kazma manifest and
// that YAML readers take for numbers or dates when they look like it.
var kazmaTexts = []string{"version", "min_core_version", "checksum", "signature"}

func mendKazma(data []byte) ([]byte, []string, []*pack.Error) {
	rest, notes := withoutMark(data)
	out, more := quoteColons(rest)
	notes = append(notes, more...)
	m, faults, _ := yamledit.Parse(out)
	if len(faults) > 0 {
		return out, notes, yamlErrors(faults, 0)
	}
	var set []yamledit.KeyValue
	for _, key := range kazmaTexts {
		if v := m.Get(key); v != nil && v.Kind == yamledit.Scalar && v.ReadsAs() != "" {
			set = append(set, yamledit.KeyValue{Key: key, Value: v.Text})
			notes = append(notes, "quoted "+key+", which YAML reads as a "+v.ReadsAs())
		}
	}
	if len(set) == 0 {
		return out, notes, nil
	}
	quoted, err := yamledit.SetScalars(out, set)
	if err != nil {
		return out, notes[:len(notes)-len(set)], []*pack.Error{{
			Kind: pack.KindYAML, ID: "yaml.syntax", Text: "values could not be quoted in place: " + err.Error(),
		}}
	}
	return quoted, notes, nil
}

// mendSkill mends the fences and the frontmatter of a SKILL.md and nothing behind
// them.
func mendSkill(data []byte) ([]byte, []string, []*pack.Error) {
	out, notes := withoutMark(data)
	out, fenced := mendFences(out)
	if fenced {
		notes = append(notes, "cleaned the fence of the frontmatter")
	}
	start, end, ok := frontmatter(out)
	if !ok {
		return out, notes, nil // whatever is wrong is not for this command to guess
	}
	front, more := quoteColons(out[start:end])
	notes = append(notes, more...)
	m, faults, _ := yamledit.Parse(front)
	var left []*pack.Error
	if len(faults) > 0 {
		left = yamlErrors(faults, 1)
	} else if quoted, keys := quoteMetadata(front, m); len(keys) > 0 {
		front = quoted
		for _, key := range keys {
			notes = append(notes, "quoted metadata "+key+", which must be text")
		}
	}
	return bytes.Join([][]byte{out[:start], front, out[end:]}, nil), notes, left
}

// frontmatter is where the YAML between the fences of a SKILL.md starts and ends.
func frontmatter(data []byte) (start, end int, ok bool) {
	front, _, _, faults, _ := pack.SplitFrontmatter(data)
	if len(faults) > 0 {
		return 0, 0, false
	}
	start = len(firstLine(data))
	return start, start + len(front), true
}

// firstLine is the first line with its end.
func firstLine(data []byte) []byte {
	return data[:bytes.IndexByte(data, '\n')+1]
}

// mendFences takes white space from behind the two fences and gives them the line
// ends of the frontmatter between them.
func mendFences(data []byte) ([]byte, bool) {
	start, end, ok := frontmatter(data)
	if !ok {
		return data, false
	}
	ending := "\n"
	if bytes.HasSuffix(firstLine(data[start:end]), []byte("\r\n")) {
		ending = "\r\n"
	}
	closing, tail := firstLine(data[end:]), "---"+ending
	if len(closing) == 0 { // it ends the file
		closing, tail = data[end:], "---"
	}
	if string(data[:start]) == "---"+ending && string(closing) == tail {
		return data, false
	}
	return bytes.Join([][]byte{[]byte("---" + ending), data[start:end], []byte(tail), data[end+len(closing):]}, nil), true
}

// quoteColons quotes unquoted texts that hold a colon, when that makes readable
// YAML of the whole.
func quoteColons(data []byte) ([]byte, []string) {
	fixed, lines := yamledit.QuoteColons(data)
	if len(lines) == 0 {
		return data, nil
	}
	if _, faults, _ := yamledit.Parse(fixed); len(faults) > 0 {
		return data, nil
	}
	var notes []string
	for _, line := range lines {
		notes = append(notes, fmt.Sprintf("quoted the value on line %d of the YAML", line))
	}
	return fixed, notes
}

// quoteMetadata quotes the values of the metadata map that are not text to every
// reader: some agents refuse a whole listing for one number in it.
func quoteMetadata(front []byte, m *yamledit.Mapping) (out []byte, keys []string) {
	metadata := m.Get("metadata")
	if metadata == nil || metadata.Map == nil {
		return front, nil
	}
	last := 0
	for _, e := range metadata.Map.Entries {
		v := &e.Value
		end := v.Offset + len(v.Text)
		if v.Kind != yamledit.Scalar || v.ReadsAs() == "" || v.Offset < last || end > len(front) ||
			string(front[v.Offset:end]) != v.Text {
			continue
		}
		out = append(append(out, front[last:v.Offset]...), yamledit.Quote(v.Text)...)
		last = end
		keys = append(keys, e.Key)
	}
	return append(out, front[last:]...), keys
}

// yamlErrors places faults of YAML that starts behind the given number of lines.
func yamlErrors(faults []*yamledit.Fault, above int) []*pack.Error {
	var out []*pack.Error
	for _, f := range faults {
		line := f.Line
		if line > 0 {
			line += above
		}
		out = append(out, &pack.Error{
			Kind: pack.KindYAML, ID: f.ID, Text: f.Text, Hint: f.Hint,
			Place: pack.Place{Line: line, Column: f.Column},
		})
	}
	return out
}
