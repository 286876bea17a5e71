package hub

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

const defaultDomain = "general"

// protectedNames are those of skills that installers bring themselves: a catalogue
// row of that name would take their place on a node.
var protectedNames = []string{"memclaw", "caura"}

func checkProtected(name string) error {
	if !slices.Contains(protectedNames, name) {
		return nil
	}
	e := hubapi.Errorf(hubapi.Invalid, "the name %q is reserved: installers bring a skill of that name themselves", name)
	return e.WithHint("publish under another name").With(hubapi.Detail{ID: "name.reserved", Message: e.Message})
}

func byName(rows map[int64]ReleaseRow) []ReleaseRow {
	out := slices.Collect(maps.Values(rows))
	sorting.Sort(out, func(a, b ReleaseRow) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// skillData is a release as the data of a document; without whole its content and
// hash are left out.
func skillData(r Reader, row ReleaseRow, whole bool) (hubapi.SkillData, error) {
	d := hubapi.SkillData{
		Name: row.Name, Slug: row.Name, Description: strings.TrimSpace(row.Description), Summary: row.Summary,
		Domain: defaultDomain, Kind: "create", Source: row.Source, Status: row.Status, Tags: row.Tags,
		CreatedAt: seconds(row.CreatedAt), UpdatedAt: seconds(row.UpdatedAt),
		KX: hubapi.SkillRelease{
			Author: row.Author, Version: row.Version, Digest: row.Digest, Signed: row.Signature != nil,
			Archive: "/api/v1/releases/" + row.Author + "/" + row.Name + "/" + url.PathEscape(row.Version) + "/archive",
		},
	}
	if d.Tags == nil {
		d.Tags = []string{}
	}
	stored, err := r.Evidence(row.Seq)
	if err != nil {
		return d, err
	}
	if d.Origin, err = originOf(stored); err != nil {
		return d, err
	}
	d.Origin.AgentID = cmp.Or(d.Origin.AgentID, row.PublishedBy)
	category, err := r.Category(row.Seq)
	if err != nil && !errors.Is(err, ErrNoRow) {
		return d, err
	}
	d.Domain = cmp.Or(category, d.Origin.Domain, defaultDomain)
	s, err := scanOf(stored)
	if err != nil {
		return d, err
	}
	if s != nil {
		d.Scan = &hubapi.SkillScan{
			State: s.State, ScannedAt: seconds(s.ScannedAt), Critical: s.Critical, Warn: s.Warn, Info: s.Info,
			Findings: s.Findings[:min(len(s.Findings), maxCardFindings)],
		}
	}
	if !whole {
		return d, nil
	}
	text, _, err := skillText(r, row)
	if text != "" {
		d.Content, d.ContentHash = text, textHash(text)
	}
	return d, err
}

func textHash(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

// skillText is the SKILL.md that a release is for an agent. It begins with the
// fence of its frontmatter and a line feed, so that no reader puts another head
// before it. Where there is none, why says so.
func skillText(r Reader, row ReleaseRow) (text, why string, err error) {
	var data []byte
	switch format := pack.Format(row.Format); format {
	case pack.SkillMD:
		file, err := r.File(row.Seq, format.ManifestFile())
		if errors.Is(err, ErrNoRow) {
			return "", "it has no SKILL.md", nil
		}
		if err != nil {
			return "", "", err
		}
		if data, err = content(r, file.Sum); err != nil {
			return "", "", err
		}
	case pack.Kortecx:
		p, err := storedPack(r, row)
		if e := hubapi.AsError(err); e != nil {
			if e.Code == hubapi.Invalid { // by rules that are newer than it
				return "", e.Message, nil
			}
			return "", "", err
		}
		files, err := pack.AgentFiles(p)
		if err != nil {
			return "", "it cannot be a skill of its name: " + err.Error(), nil
		}
		data = files[0].Data
	default:
		return "", "a pack of the format " + row.Format + " has no SKILL.md", nil
	}
	text, why = safeText(data)
	return text, why, nil
}

// safeText gives a SKILL.md the beginning that every reader takes for that of a
// frontmatter.
func safeText(data []byte) (text, why string) {
	first, rest, _ := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	switch {
	case strings.TrimRight(string(first), " \t\r") != "---":
		return "", "its SKILL.md does not begin with frontmatter"
	case !utf8.Valid(rest) || bytes.IndexByte(rest, 0) >= 0:
		return "", "its SKILL.md is not plain text"
	}
	return "---\n" + string(rest), ""
}

// skillHead is what a skill that was written without frontmatter says of itself.
type skillHead struct {
	name, description string
	title             string // what it calls itself; empty: the name
	domain, summary   string
	tags              []string
}

// skillFile makes the SKILL.md of a text that has no frontmatter; one that has is
// taken as it is.
func skillFile(head skillHead, text string) []byte {
	if hasFrontmatter(text) {
		return []byte(text)
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	name := head.name
	if yamledit.ReadsAs(name) != "" || name == "" || name[0] < 'a' {
		name = yamledit.Quote(name)
	}
	b.WriteString("name: " + name + "\n")
	b.WriteString("description: " + yamledit.Quote(strings.TrimSpace(head.description)) + "\n")
	var more []string
	for _, m := range [][2]string{{"category", head.domain}, {"summary", head.summary}, {"title", head.title}} {
		if m[1] != "" && (m[0] != "category" || m[1] != defaultDomain) {
			more = append(more, "  "+m[0]+": "+yamledit.Quote(m[1])+"\n")
		}
	}
	if len(more) > 0 {
		b.WriteString("metadata:\n" + strings.Join(more, ""))
	}
	if len(head.tags) > 0 {
		b.WriteString("tags:\n")
		for _, tag := range head.tags {
			b.WriteString("  - " + yamledit.Quote(tag) + "\n")
		}
	}
	b.WriteString("---\n")
	b.WriteString(text)
	return b.Bytes()
}

// hasFrontmatter tells whether a text brings its own head, in any of the forms that
// some reader takes for one.
func hasFrontmatter(text string) bool {
	first, _, more := strings.Cut(strings.TrimPrefix(text, "\ufeff"), "\n")
	return more && strings.TrimRight(first, " \t\r") == "---"
}
