package scan

import (
	"bytes"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/kortecx/kx/pack"
)

// kind says how a file is read.
type kind uint8

const (
	markdown kind = iota
	script        // a program in any language
	config        // JSON, YAML, TOML, .env and the like
)

// place says where a unit of text stands. It is a bit set, so that a rule can
// name several.
type place uint16

const (
	inProse   place = 1 << iota // what a reader of the rendered text reads
	inCode                      // a code block of a markdown file
	inScript                    // a statement of a program
	inComment                   // a comment of a program
	inConfig                    // a line of configuration
	inFront                     // the frontmatter of a markdown file, or a manifest
	inHidden                    // text that the rendered view hides
	inDecoded                   // text that was encoded
	inHeading

	inText     = inProse | inFront | inHidden | inDecoded | inHeading
	inCommands = inCode | inScript | inProse | inConfig | inFront | inHidden | inDecoded
	inPrograms = inCode | inScript | inDecoded
	everywhere = inText | inCommands | inComment
)

// unit is a piece of text that is judged as one: a paragraph, a list item, a
// logical line of code.
type unit struct {
	start, end int // in the normal text
	in         place
	section    int // index of document.sections
	block      int // number of the code block, 0 outside
	lead       int // index of the prose unit before the code block, -1 without
	item       bool
	marks      mark
}

// section is what stands under one heading.
type section struct {
	title string // with the titles above it, normal
	marks mark   // of the titles
	start int    // offset in the normal text
	level int
}

// document is one text file.
type document struct {
	path     string
	kind     kind
	language string // sh, py, js, ps1, … ; empty when unknown
	data     []byte // of the file, which nobody changes
	whole    string // data, where somebody asked for raw
	kinds    class  // of the bytes of data
	lower    string // data with its letters in lower case, when that is all of the normal text
	normal
	marks    mark  // of all units
	lines    []int // raw offsets at which lines start
	units    []unit
	sections []section
	seen     sightings
}

// read makes a document of a file. It needs a buffer, which it gives back.
func (d *document) read(f *pack.File, buffer []byte) []byte {
	d.path, d.data, d.kinds = f.Path, f.Data, kindsOf(f.Data)
	d.kind, d.language = classify(f.Path, f.Data)
	if d.kinds&foldByte == 0 {
		buffer = slices.Grow(buffer[:0], len(f.Data))[:len(f.Data)]
		lower(buffer, f.Data)
		d.lower = string(buffer)
		d.text = d.lower
	} else {
		d.normal = normalise(d.raw())
	}
	d.lines = append(d.lines, 0)
	for at := 0; ; {
		n := bytes.IndexByte(d.data[at:], '\n')
		if n < 0 {
			return buffer
		}
		at += n + 1
		d.lines = append(d.lines, at)
	}
}

// raw is the whole text as it is in the file. Most files have nothing for which it is
// needed, and to copy them all would cost more than to scan them.
func (d *document) raw() string {
	if d.whole == "" {
		d.whole = string(d.data)
	}
	return d.whole
}

// forget makes a document that another file can be read into.
func (d *document) forget() {
	clear(d.sections)
	*d = document{lines: d.lines[:0], units: d.units[:0], sections: d.sections[:0]}
}

// lacks tells whether no byte of some kinds is in the normal text. False says nothing.
func (d *document) lacks(kinds class) bool { return d.kinds&(kinds|foldByte) == 0 }

// position gives the line and the column, from 1, of a raw offset.
func (d *document) position(at int) (line, column int) {
	line = sort.SearchInts(d.lines, at+1)
	return line, at - d.lines[line-1] + 1
}

// rawText is the raw text behind a stretch of the normal text.
func (d *document) rawText(start, end int) string {
	from, to := d.origin(start), d.origin(max(end-1, start))+1
	return string(d.data[min(from, len(d.data)):min(max(to, from), len(d.data))])
}

// classify tells what kind of text a file is by its name and its first line.
func classify(name string, data []byte) (kind, string) {
	base := strings.ToLower(path.Base(name))
	switch ext := path.Ext(base); ext {
	case ".md", ".markdown", ".mdx", ".mdc", ".rst", ".adoc":
		return markdown, ""
	case ".sh", ".bash", ".zsh", ".fish", ".ksh", ".command":
		return script, "sh"
	case ".py", ".pyw", ".pyi":
		return script, "py"
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".vue", ".svelte":
		return script, "js"
	case ".ps1", ".psm1", ".psd1":
		return script, "ps1"
	case ".bat", ".cmd", ".vbs", ".wsf", ".hta":
		return script, "bat"
	case ".rb", ".pl", ".php", ".lua", ".go", ".rs", ".java", ".kt", ".swift", ".c", ".cc", ".cpp", ".h", ".cs", ".scala", ".r", ".applescript", ".scpt", ".sql", ".awk":
		return script, ext[1:]
	case ".csv", ".tsv", ".map", ".lock", ".log", ".ipynb", ".json", ".jsonc", ".json5", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".xml", ".plist", ".properties", ".service":
		return config, ext[1:]
	case ".html", ".htm", ".svg":
		return markdown, "html"
	}
	switch base {
	case "makefile", "dockerfile", "justfile", "rakefile", "gemfile", "vagrantfile":
		return script, "sh"
	case ".cursorrules", ".windsurfrules", ".clinerules":
		return markdown, ""
	case ".env", ".npmrc", ".pypirc", ".netrc", ".gitconfig":
		return config, ""
	}
	first, _, _ := bytes.Cut(data[:min(len(data), 200)], []byte("\n"))
	if bytes.HasPrefix(first, []byte("#!")) {
		for _, l := range [...][2]string{{"python", "py"}, {"node", "js"}, {"deno", "js"}, {"bun", "js"}, {"ruby", "rb"}, {"perl", "pl"}, {"pwsh", "ps1"}, {"sh", "sh"}} {
			if bytes.Contains(first, []byte(l[0])) {
				return script, l[1]
			}
		}
		return script, "sh"
	}
	if strings.HasPrefix(base, ".env") {
		return config, ""
	}
	if looksLikeProgram(data) {
		return script, ""
	}
	return markdown, "" // prose with or without markup
}

// looksLikeProgram tells whether a third of the lines end as statements do.
func looksLikeProgram(data []byte) bool {
	lines, statements := 0, 0
	for line := range bytes.Lines(data[:min(len(data), 16<<10)]) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		lines++
		switch line[len(line)-1] {
		case ';', '{', '}', ')', '\\':
			statements++
		}
	}
	return lines >= 4 && statements*3 >= lines
}

// divide cuts the text into units. It needs a buffer, which it gives back.
func (d *document) divide(buffer []byte) []byte {
	v := divider{d: d, text: append(buffer[:0], d.text...), lead: -1, depth: make([]int, 0, 8)}
	v.section("", 0, 0)
	switch d.kind {
	case markdown:
		v.markdown()
	case script:
		v.program()
	case config:
		v.lines()
	}
	if v.changed {
		d.text = string(v.text)
	}
	return v.text
}
