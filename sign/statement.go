package sign

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// What a statement says about itself. They are signed, so a release can never be
// taken for another kind of document.
const (
	PayloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://github.com/kortecx/kx/release/v1"

	digestAlgorithm = "sp1"
	digestPrefix    = "sp1:"

	timeLayout = "2006-01-02T15:04:05Z"
)

// LocalAuthor signs when nobody names an author, as design.md has it.
const LocalAuthor = "local"

// maxLabel is the most bytes of an author, a name or a version in a statement.
const maxLabel = 256

// Statement is what a key vouches for: these files are that version of that skill.
type Statement struct {
	Author   string
	Name     string
	Version  string // empty when the signer bound none, which only skill-md allows
	Format   pack.Format
	Digest   pack.Digest
	Files    []StatementFile // ascending by path
	SignedAt time.Time       // UTC, whole seconds
	Expires  time.Time       // zero: never
}

// StatementFile is one file as it was signed.
type StatementFile struct {
	Path       string
	Size       int64
	SHA256     string // 64 lower-case hex digits
	Executable bool   // skill-md only; carried beside the digest, which it does not enter
}

// Subject is "author/name".
func (s Statement) Subject() string { return s.Author + "/" + s.Name }

// StatementOptions says what a pack's own manifest leaves open.
type StatementOptions struct {
	Author   string    // empty: the kazma manifest's author where it is a namespace, else LocalAuthor
	Version  string    // skill-md only; empty: the pack's own, if any
	SignedAt time.Time // required
	Expires  time.Time // zero: never
}

// Signable tells why a folder may not be signed: it is no pack, it holds what a
// pack may not hold, or one of its files has a second name on this disk (whoever
// owns that name can change the file, and it may be somebody's secret).
func Signable(in *pack.Inspection) error {
	if err := in.Err(); err != nil {
		return err
	}
	if len(in.Layout) > 0 {
		return in.Layout
	}
	return refuseHardlinks(in.Pack, in.Warnings)
}

func refuseHardlinks(p *pack.Pack, more []*pack.Error) error {
	for _, warnings := range [][]*pack.Error{p.Warnings, more} {
		for _, w := range warnings {
			if w.ID == IDHardlink {
				return refuse(IDHardlink, "%s is a hard link: it has a second name outside the pack", w.Place.File).
					hint("copy the file over itself, then sign")
			}
		}
	}
	return nil
}

// NewStatement describes the pack as it is in memory. Call Signable first for one
// that was read from disk. The name is the manifest's; so is the version, except
// for skill-md. A kazma manifest whose author is a namespace must be signed as
// that author, or the two would contradict each other.
func NewStatement(p *pack.Pack, o StatementOptions) (Statement, error) {
	if err := refuseHardlinks(p, nil); err != nil {
		return Statement{}, err
	}
	s := Statement{
		Author: o.Author, Name: p.Name, Version: p.Version, Format: p.Format,
		SignedAt: o.SignedAt.UTC().Truncate(time.Second), Files: statementFiles(p, nil),
	}
	if !o.Expires.IsZero() {
		s.Expires = o.Expires.UTC().Truncate(time.Second)
	}
	own := isNamespace(p.Author)
	switch {
	case s.Author == "" && own:
		s.Author = p.Author
	case s.Author == "":
		s.Author = LocalAuthor
	case own && s.Author != p.Author:
		return Statement{}, refuse(IDSubject, "the manifest names the author %q, so it cannot be signed as %q", p.Author, s.Author).
			hint("sign as that author, or change the manifest")
	}
	if o.Version != "" && o.Version != p.Version {
		if p.Format != pack.SkillMD {
			return Statement{}, refuse(IDVersion, "the manifest says version %q, so it cannot be signed as %q", p.Version, o.Version)
		}
		s.Version = o.Version
	}
	s.Digest = s.filesDigest()
	if o.SignedAt.IsZero() {
		return Statement{}, refuse(IDStatement, "no time of signing was given")
	}
	if err := s.check(); err != nil {
		return Statement{}, err
	}
	return s, nil
}

// statementFiles lists the files of a pack. Their sums may be nil.
func statementFiles(p *pack.Pack, sums *pack.Summed) []StatementFile {
	if sums == nil {
		made := pack.SumFiles(p.Files)
		sums = &made
	}
	files := make([]StatementFile, len(p.Files))
	for i, f := range p.Files {
		files[i] = StatementFile{
			Path: f.Path, Size: int64(len(f.Data)), SHA256: sums.Files[i],
			Executable: f.Executable && p.Format == pack.SkillMD,
		}
	}
	return files
}

// filesDigest is sp1 over the hashes that the statement lists, which ties the list
// to the digest in its subject.
func (s Statement) filesDigest() pack.Digest {
	var lines []byte
	for _, f := range s.Files {
		lines = append(append(append(append(lines, f.SHA256...), "  "...), f.Path...), '\n')
	}
	sum := sha256.Sum256(lines)
	return pack.Digest(digestPrefix + hex.EncodeToString(sum[:]))
}

// check holds the rules that JSON types cannot express, for statements to be
// signed and for those that were read.
func (s Statement) check() error {
	if !isNamespace(s.Author) {
		return refuse(IDSubject, "%q is not an author: lower-case letters, digits, dots, dashes and underscores, 64 at most", s.Author)
	}
	if why := labelFault(s.Name); s.Name == "" || strings.Contains(s.Name, "/") || why != "" {
		return refuse(IDSubject, "%q cannot be the name of a signed skill", s.Name)
	}
	if why := labelFault(s.Version); why != "" {
		return refuse(IDVersion, "version %q %s", s.Version, why)
	}
	if s.Version == "" && s.Format != pack.SkillMD {
		return refuse(IDVersion, "a %s release has a version", s.Format)
	}
	if len(s.Files) == 0 || len(s.Files) > pack.MaxFiles {
		return refuse(IDStatement, "a statement lists 1 to %d files, not %d", pack.MaxFiles, len(s.Files))
	}
	for i, f := range s.Files {
		if fault := pack.CheckPath(f.Path); fault != nil {
			return refuse(IDStatement, "file %q: %s", f.Path, fault.Text)
		}
		switch {
		case i > 0 && s.Files[i-1].Path >= f.Path:
			return refuse(IDStatement, "file %q is listed twice or out of order", f.Path)
		case f.Size < 0 || f.Size > pack.MaxBytes:
			return refuse(IDStatement, "file %q cannot have %d bytes", f.Path, f.Size)
		case !isHex256(f.SHA256):
			return refuse(IDStatement, "file %q has no SHA-256 of 64 lower-case hex digits", f.Path)
		case f.Executable && s.Format != pack.SkillMD:
			return refuse(IDStatement, "file %q is executable, which only a skill-md pack can have", f.Path)
		}
	}
	if s.Digest != s.filesDigest() {
		return refuse(IDStatement, "the digest in the subject is not that of the files listed")
	}
	for _, t := range []time.Time{s.SignedAt, s.Expires} {
		if y := t.Year(); y < 0 || y > 9999 {
			return refuse(IDStatement, "year %d cannot be written", y)
		}
	}
	if !s.Expires.IsZero() && !s.Expires.After(s.SignedAt) {
		return refuse(IDStatement, "it expires at %s and was signed at %s", formatTime(s.Expires), formatTime(s.SignedAt))
	}
	return nil
}

// labelFault says why text cannot stand for a name or version, or nothing.
func labelFault(text string) string {
	switch {
	case len(text) > maxLabel:
		return fmt.Sprintf("has more than %d bytes", maxLabel)
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has a character that does not print"
	}
	return ""
}

// isNamespace is the grammar of authors (and names) in a hub, and of key names.
func isNamespace(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

func formatTag(f pack.Format) string {
	switch f {
	case pack.Kortecx:
		return "kortecx.skill/v1"
	case pack.Kazma:
		return "kazma.skill_manifest"
	}
	return string(f)
}

func formatOfTag(tag string) (pack.Format, bool) {
	for _, f := range pack.Formats {
		if formatTag(f) == tag {
			return f, true
		}
	}
	return "", false
}

func formatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(timeLayout, text)
	if err != nil || formatTime(t) != text { // the parser takes fractions unasked
		return time.Time{}, refuse(IDStatement, "%q is not a time such as %s", text, timeLayout)
	}
	return t, nil
}

// Payload is the statement as the bytes that are signed: an in-toto Statement v1
// in compact JSON, its fields always in the same order.
func (s Statement) Payload() []byte {
	text := strictjson.AppendString
	b := append([]byte(nil), `{"_type":"`+statementType+`","subject":[{"name":`...)
	b = text(b, s.Subject())
	b = append(b, `,"digest":{"sha256":`...)
	b = text(b, strings.TrimPrefix(string(s.Digest), digestPrefix))
	b = append(b, `}}],"predicateType":"`+predicateType+`","predicate":{"format":`...)
	b = text(b, formatTag(s.Format))
	b = append(b, `,"name":`...)
	b = text(b, s.Subject())
	b = append(b, `,"version":`...)
	b = text(b, s.Version)
	b = append(b, `,"digestAlgorithm":"`+digestAlgorithm+`","files":[`...)
	for i, f := range s.Files {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"path":`...)
		b = text(b, f.Path)
		b = fmt.Appendf(b, `,"size":%d,"sha256":`, f.Size)
		b = text(b, f.SHA256)
		if f.Executable {
			b = append(b, `,"executable":true`...)
		}
		b = append(b, '}')
	}
	b = append(b, `],"signedAt":`...)
	b = text(b, formatTime(s.SignedAt))
	if !s.Expires.IsZero() {
		b = append(b, `,"expires":`...)
		b = text(b, formatTime(s.Expires))
	}
	return append(b, "}}"...)
}

type (
	wireStatement struct {
		Type          string        `json:"_type"`
		Subject       []wireSubject `json:"subject"`
		PredicateType string        `json:"predicateType"`
		Predicate     wirePredicate `json:"predicate"`
	}
	wireSubject struct {
		Name   string     `json:"name"`
		Digest wireDigest `json:"digest"`
	}
	wireDigest struct {
		SHA256 string `json:"sha256"`
	}
	wirePredicate struct {
		Format          string     `json:"format"`
		Name            string     `json:"name"`
		Version         string     `json:"version"`
		DigestAlgorithm string     `json:"digestAlgorithm"`
		Files           []wireFile `json:"files"`
		SignedAt        string     `json:"signedAt"`
		Expires         *string    `json:"expires"`
	}
	wireFile struct {
		Path       string `json:"path"`
		Size       int64  `json:"size"`
		SHA256     string `json:"sha256"`
		Executable bool   `json:"executable"`
	}
)

// ParseStatement reads a payload strictly. What it returns is what the signer said
// only if the signature over these very bytes was verified; until then it is what
// somebody wrote.
func ParseStatement(payload []byte) (Statement, error) {
	var w wireStatement
	if err := strictjson.Unmarshal(payload, &w); err != nil {
		return Statement{}, &Error{ID: IDStatement, Text: fmt.Sprintf("the signed statement: %v", err), Err: err}
	}
	format, known := formatOfTag(w.Predicate.Format)
	switch {
	case w.Type != statementType:
		return Statement{}, refuse(IDStatement, "the signed statement has _type %q, not %q", w.Type, statementType)
	case w.PredicateType != predicateType:
		return Statement{}, refuse(IDStatement, "the signed statement is a %q, not a %q", w.PredicateType, predicateType)
	case len(w.Subject) != 1:
		return Statement{}, refuse(IDStatement, "the signed statement has %d subjects, not one", len(w.Subject))
	case w.Subject[0].Name != w.Predicate.Name:
		return Statement{}, refuse(IDStatement, "the signed statement is about %q and about %q", w.Subject[0].Name, w.Predicate.Name)
	case w.Predicate.DigestAlgorithm != digestAlgorithm:
		return Statement{}, refuse(IDStatement, "digest algorithm %q is not known", w.Predicate.DigestAlgorithm)
	case !known:
		return Statement{}, refuse(IDStatement, "pack format %q is not known", w.Predicate.Format)
	}
	author, name, _ := strings.Cut(w.Predicate.Name, "/")
	s := Statement{
		Author: author, Name: name, Version: w.Predicate.Version, Format: format,
		Digest: pack.Digest(digestPrefix + w.Subject[0].Digest.SHA256),
		Files:  make([]StatementFile, len(w.Predicate.Files)),
	}
	for i, f := range w.Predicate.Files {
		s.Files[i] = StatementFile(f)
	}
	var err error
	if s.SignedAt, err = parseTime(w.Predicate.SignedAt); err != nil {
		return Statement{}, err
	}
	if w.Predicate.Expires != nil {
		if s.Expires, err = parseTime(*w.Predicate.Expires); err != nil {
			return Statement{}, err
		}
	}
	if err := s.check(); err != nil {
		return Statement{}, err
	}
	return s, nil
}
