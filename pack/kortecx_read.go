package pack

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/strictjson"
)

// readKortecx judges a tree as a kortecx pack. The order of the faults is the
// reference loader's: manifest, name, instructions, README. What it ignores but
// its conformance check refuses goes into Layout.
func readKortecx(t *tree) *Inspection {
	in := &Inspection{Format: Kortecx, Name: t.name, Warnings: t.warnings}
	m := in.kortecxManifest(t)
	files := make([]File, 0, 3)
	for _, name := range [...]string{"README.md", "instructions.md", "skill.json"} {
		i, ok := slices.BinarySearchFunc(t.files, name, func(f File, name string) int { return strings.Compare(f.Path, name) })
		if ok {
			files = append(files, t.files[i])
		}
	}
	in.kortecxInstructions(t)
	in.kortecxReadme(t)
	in.kortecxLayout(t)
	total := 0
	for i := range files {
		total += len(files[i].Data)
	}
	if total > MaxBytes && len(in.Faults) == 0 {
		in.Faults = append(in.Faults, tooLarge("", int64(total)))
	}
	if len(in.Faults) == 0 {
		in.Pack = &Pack{
			Format: Kortecx, Name: m.Name, Version: m.Version, Description: m.Description, Tags: m.Tags, Tools: m.Tools,
			Kortecx: m, Files: files, Warnings: in.Warnings,
		}
	}
	return in
}

// faultsOf gives what was found about one file before any grammar looked.
func (t *tree) faultsOf(name string) (own Errors) {
	for _, f := range t.faults {
		if f.Place.File == name {
			own = append(own, f)
		}
	}
	return own
}

// kortecxManifest reads skill.json and holds its name against the folder's.
func (in *Inspection) kortecxManifest(t *tree) *KortecxManifest {
	in.Faults = append(in.Faults, t.faultsOf("skill.json")...)
	data, ok := t.file("skill.json")
	if !ok {
		return nil
	}
	p := manifestParser{data: data}
	m, name := p.parse(PackForm)
	in.Faults = append(in.Faults, p.faults...)
	in.Warnings = append(in.Warnings, p.warnings...)
	if name == nil || ValidName(name.Text) != nil {
		return m
	}
	in.Name = name.Text
	if name.Text != t.name {
		e := p.at(KindPack, "pack.name-mismatch", name.Offset, "/name",
			fmt.Sprintf("the manifest's name is %s, the folder's is %s", quoted(name.Text), quoted(t.name)))
		e.Hint = "rename the folder or change the name: they must be equal, also in case"
		in.Faults = append(in.Faults, e)
	}
	return m
}

func (in *Inspection) kortecxInstructions(t *tree) {
	const name = "instructions.md"
	own := t.faultsOf(name)
	in.Faults = append(in.Faults, own...)
	data, ok := t.file(name)
	switch {
	case !ok && len(own) > 0: // it is there, and why it was not read has been said
	case !ok:
		in.fault("pack.no-instructions", name, "the file is missing: a kortecx pack needs it")
	case len(data) == 0:
		in.fault("pack.empty-instructions", name, "the file is empty")
	case len(data) > MaxInstructions:
		in.Faults = append(in.Faults, instructionsTooLarge(int64(len(data))))
	case !utf8.Valid(data):
		in.Faults = append(in.Faults, notUTF8("pack.invalid-utf8", name, data))
	case !hasMeaning(data):
		in.fault("pack.empty-meaning", name, "there is nothing in the file but space and comments")
	default:
		in.textWarnings(name, data)
	}
}

func (in *Inspection) kortecxReadme(t *tree) {
	const name = "README.md"
	in.Faults = append(in.Faults, t.faultsOf(name)...)
	data, ok := t.file(name)
	switch {
	case !ok:
	case len(data) > MaxBytes:
		in.Faults = append(in.Faults, tooLarge(name, int64(len(data))))
	case !utf8.Valid(data):
		in.Faults = append(in.Faults, notUTF8("pack.readme", name, data))
	default:
		in.textWarnings(name, data)
	}
}

// kortecxLayout lists everything in the folder that a kortecx pack does not have.
func (in *Inspection) kortecxLayout(t *tree) {
	for _, f := range t.faults {
		if !kortecxFile(f.Place.File) {
			in.Layout = append(in.Layout, f)
		}
	}
	add := func(id, name, text, hint string) {
		in.Layout = append(in.Layout, &Error{Kind: KindPack, ID: id, Place: Place{File: name}, Text: text, Hint: hint})
	}
	for _, dir := range t.dirs {
		if !strings.Contains(dir, "/") {
			add("pack.subdirectory", dir, "this is a subdirectory: a kortecx pack has none", "")
		}
	}
	for i := range t.files {
		f := &t.files[i]
		if strings.Contains(f.Path, "/") {
			continue
		}
		if !kortecxFile(f.Path) {
			add("pack.unexpected-file", f.Path, "unexpected file: a kortecx pack has skill.json, instructions.md and README.md only", "")
		}
		if f.Executable {
			add("pack.executable", f.Path, "the file is executable: a pack is declarative", "chmod a-x "+f.Path)
		}
	}
	sorting.Stable(in.Layout, func(a, b *Error) int { return strings.Compare(a.Place.File, b.Place.File) })
}

func kortecxFile(name string) bool {
	return name == "skill.json" || name == "instructions.md" || name == "README.md"
}

func (in *Inspection) fault(id, name, text string) {
	in.Faults = append(in.Faults, &Error{Kind: KindPack, ID: id, Place: Place{File: name}, Text: text})
}

// textWarnings remarks on what some readers of markdown trip over. The bytes
// stay as they are: they are part of the identity.
func (in *Inspection) textWarnings(name string, data []byte) {
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		in.Warnings = append(in.Warnings, &Error{
			Kind: KindPack, ID: "text.bom", Place: Place{File: name, Line: 1, Column: 1}, Text: "the file starts with a byte order mark",
		})
	}
	if at := bytes.Index(data, []byte("\r\n")); at >= 0 {
		line, column := strictjson.Position(data, at)
		in.Warnings = append(in.Warnings, &Error{
			Kind: KindPack, ID: "text.crlf", Place: Place{File: name, Line: line, Column: column}, Text: "lines end in CR LF",
		})
	}
}

// hasMeaning tells whether a markdown text says anything to a reader: more than
// space, invisible characters and HTML comments.
func hasMeaning(data []byte) bool {
	for len(data) > 0 {
		if rest, ok := bytes.CutPrefix(data, []byte("<!--")); ok {
			_, data, _ = bytes.Cut(rest, []byte("-->"))
			continue
		}
		r, size := utf8.DecodeRune(data)
		if !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf) {
			return true
		}
		data = data[size:]
	}
	return false
}

func instructionsTooLarge(size int64) *Error {
	return &Error{
		Kind: KindPack, ID: "pack.instructions-too-large", Place: Place{File: "instructions.md"},
		Text: fmt.Sprintf("instructions.md is %d bytes long, %d are allowed", size, MaxInstructions),
		Hint: "split the skill, or move reference material to where a tool can fetch it",
	}
}

func notUTF8(id, name string, data []byte) *Error {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	line, column := strictjson.Position(data, at)
	return &Error{
		Kind: KindPack, ID: id, Place: Place{File: name, Line: line, Column: column},
		Text: fmt.Sprintf("the byte at offset %d is not UTF-8", at),
	}
}
