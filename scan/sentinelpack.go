package scan

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/pack"
)

// sentinelFile is one text that the pre-scan was asked about, and where it lies.
type sentinelFile struct {
	path   string
	text   string
	offset int // of the text in its file
}

// sentinel asks MemClaw's pre-scan about a pack, as the document that it would be
// there. The caps on sizes are for documents that agents write, not for packs.
//
// The pre-scan knows no context, so what it sees weighs little in the report by
// itself; where a rule of ours sees the same line as serious, it has the severity
// of the reference. The status has the exact outcome.
func (s *scanner) sentinel(p *pack.Pack) {
	main := "instructions.md"
	if p.Format == pack.SkillMD {
		main = p.Format.ManifestFile()
	}
	whole, _ := p.File(main)
	instructions := p.Instructions()
	before := max(0, len(whole)-len(instructions))
	var body sentinelText
	if bytes.HasSuffix(whole, instructions) {
		body = s.sentinelText(main, whole, before)
	} else {
		body = newSentinelText(string(instructions))
	}
	z := sentinel{}
	z.prose("data.content", &body)
	z.text("data.description", p.Description)
	support := func(f *pack.File) bool {
		return f.Path != p.Format.ManifestFile() && f.Path != "instructions.md" && utf8.Valid(f.Data)
	}
	for i := range p.Files {
		if f := &p.Files[i]; support(f) {
			role, _, _ := strings.Cut(f.Path, "/")
			text := s.sentinelText(f.Path, f.Data, 0)
			z.path(f.Path, role, "data.", f.Path)
			z.support(&text, role, "data.", f.Path, ".content")
		}
	}
	result := SentinelResult{State: SentinelClean, Findings: z.findings}
	result.judge()
	s.report.Sentinel = result.Status()
	if len(z.findings) == 0 {
		return
	}

	texts := map[string]sentinelFile{
		"data.description": {path: p.Format.ManifestFile()},
		"data.content":     {main, body.raw(), before},
	}
	for i := range p.Files {
		if f := &p.Files[i]; support(f) {
			texts["data."+f.Path+".content"] = sentinelFile{f.Path, string(f.Data), 0}
			texts["data."+f.Path+".path"] = sentinelFile{path: f.Path}
		}
	}
	serious := map[string]map[int]bool{}
	for _, f := range s.report.Findings {
		if f.Severity.Rank() >= High.Rank() {
			if serious[f.File] == nil {
				serious[f.File] = map[int]bool{}
			}
			serious[f.File][f.Line] = true
		}
	}
	for i := range z.findings {
		s.sentinelFinding(&z.findings[i], texts, serious)
	}
}

// sentinelText is the content of a file from an offset on, which most documents have
// already.
func (s *scanner) sentinelText(name string, data []byte, from int) sentinelText {
	i := sort.Search(len(s.docs), func(i int) bool { return s.docs[i].path >= name })
	if i == len(s.docs) || s.docs[i].path != name {
		return newSentinelText(string(data[from:]))
	}
	d := &s.docs[i]
	if d.joined {
		return newSentinelText(d.raw()[from:])
	}
	t := sentinelText{of: d, from: from, kinds: d.kinds, may: d.seen.signs}
	if d.kinds&foldByte == 0 {
		t.lower = d.lower[from:]
	} else {
		t.lower = lowerASCII(t.raw())
	}
	return t
}

func (s *scanner) sentinelFinding(f *SentinelFinding, texts map[string]sentinelFile, serious map[string]map[int]bool) {
	field, span, hasSpan := strings.Cut(f.Locator, "[")
	at := texts[field]
	rule := s.set.rule(f.Code)
	out := Finding{Rule: f.Code, Severity: min2(rule.Severity, Low), File: at.path, Reason: rule.Reason, Fix: rule.Fix}
	if hasSpan && at.text != "" {
		start, end := byteSpan(at.text, span)
		out.Excerpt = clean(at.text[start:end])
		whole := at.text
		if data, ok := s.pack.File(at.path); ok {
			whole = string(data)
		}
		before := whole[:min(len(whole), at.offset+start)]
		out.Line = 1 + strings.Count(before, "\n")
		out.Column = len(before) - strings.LastIndexByte(before, '\n')
	}
	if serious[at.path][out.Line] {
		out.Severity = rule.Severity
	}
	s.put(out)
}

func min2(a, b Severity) Severity {
	if a.Rank() < b.Rank() {
		return a
	}
	return b
}

// byteSpan turns "12:34]", in characters, into offsets of bytes.
func byteSpan(text, span string) (start, end int) {
	from, to := 0, 0
	target := &from
	for i := range len(span) {
		switch c := span[i]; {
		case c == ':':
			target = &to
		case '0' <= c && c <= '9':
			*target = *target*10 + int(c-'0')
		}
	}
	n := 0
	start, end = len(text), len(text)
	for i := range text {
		if n == from {
			start = i
		}
		if n == to {
			return start, i
		}
		n++
	}
	return min(start, end), end
}
