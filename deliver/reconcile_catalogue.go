package deliver

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/yamledit"
	"github.com/kortecx/kx/pack"
)

// protectedSlugs are folders that belong to the programs whose catalogue this is.
// No catalogue may fill them, and none is ever removed.
var protectedSlugs = []string{"caura", "memclaw"}

func isProtected(slug string) bool { return slices.Contains(protectedSlugs, slug) }

// maxSkillText is how large the text of a row may be, in bytes.
const maxSkillText = 1 << 20

// maxRowDescription is how many characters of a description agents take.
const maxRowDescription = 1024

// missingSlug stands for the name of a row that has none.
const missingSlug = "<missing>"

// want is one skill that the catalogue says should be there.
type want struct {
	slug    string // the row's id
	folder  string
	author  string
	version string
	digest  pack.Digest
	release bool // a release of a hub of ours: its files are fetched
	signed  bool // the hub says so
	// unreviewed: the hub says that nobody reviewed the release, in a tenant that opted
	// out of that.
	unreviewed bool
	text       []byte
}

func (w *want) ref() hubapi.Ref {
	return hubapi.Ref{Author: w.author, Name: w.slug, Version: w.version}
}

// catalogue is the answer of a hub, judged row by row.
type catalogue struct {
	count   int
	wants   []want          // ascending by folder
	named   map[string]bool // slugs and folders of all rows, good and bad
	skipped []hubapi.ReconcileNote
	failed  []hubapi.ReconcileNote
	// doubts are reasons not to believe that what has no row should go.
	doubts []string

	tenant     string
	etag       string
	generation *int64
	complete   bool // the hub says how many rows there are, and they are here

	known string // its identity, once that was asked for
}

// rowRules are what rows are judged by.
type rowRules struct {
	tenant, fleet string // empty: any
	requireHash   bool
	requireSigned bool
	fetchAll      bool // releases, also those that a row holds whole
	releasesOnly  bool
}

// judgeRows turns an answer into what should be on disk. A row that cannot be used is
// passed over with its reason, and what is there in its name stays. An answer with rows
// of another tenant than the one that was asked for, or of several, is refused whole:
// it was made for somebody else, and then no row of it is to be believed.
func judgeRows(in hubclient.InstallableAnswer, rules rowRules) (*catalogue, error) {
	for _, row := range in.Rows {
		switch {
		case row.TenantID == "":
		case rules.tenant == "":
			rules.tenant = row.TenantID
		case row.TenantID != rules.tenant:
			return nil, hubapi.Errorf(hubapi.Conflict, "the hub's catalogue is refused: the row %.80q belongs to the tenant %.80q, not to %.80q", row.DocID, row.TenantID, rules.tenant).
				WithHint("nothing was changed; the hub, or what stands before it, mixes up tenants")
		}
	}
	c := &catalogue{
		count: len(in.Rows), named: map[string]bool{}, tenant: rules.tenant,
		etag: in.ETag, generation: in.Generation, complete: in.Total != nil && *in.Total == len(in.Rows),
	}
	if len(in.Rows) == hubapi.MaxInstallable && in.Total == nil {
		c.doubts = append(c.doubts, fmt.Sprintf("the hub sent as many skills as one answer holds (%d), so there may be more", hubapi.MaxInstallable))
	}
	if in.Total != nil && *in.Total != len(in.Rows) {
		c.doubts = append(c.doubts, fmt.Sprintf("the hub says that it has %d skills, and sent %d", *in.Total, len(in.Rows)))
	}
	seen := map[string]int{}
	for i := range in.Rows {
		row := &in.Rows[i]
		seen[row.DocID]++
		c.named[row.DocID] = true
		if row.DocID == "" {
			c.doubt("a row of the catalogue does not say which skill it is")
		}
		w, why := c.judge(row, rules)
		switch {
		case why == "" && w.folder != "":
			c.named[w.folder] = true
			c.wants = append(c.wants, w)
		case why != "":
			c.pass(row.DocID, why)
		}
		*row = hubclient.InstallableRow{} // the text is in the want now
	}
	c.once(seen)
	return c, nil
}

func (c *catalogue) doubt(why string) {
	if !slices.Contains(c.doubts, why) {
		c.doubts = append(c.doubts, why)
	}
}

func (c *catalogue) pass(slug, why string) {
	if slug == "" {
		slug = missingSlug
	}
	c.skipped = append(c.skipped, hubapi.ReconcileNote{Slug: clipped(slug), Reason: why})
}

// clipped keeps a hostile name from filling a report.
func clipped(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// once takes out skills that the catalogue has twice: which of them is meant, nobody
// can say.
func (c *catalogue) once(seen map[string]int) {
	folders := map[string]int{}
	for _, w := range c.wants {
		folders[w.folder]++
	}
	kept := c.wants[:0]
	for _, w := range c.wants {
		switch {
		case seen[w.slug] > 1:
			c.pass(w.slug, "the catalogue has it more than once")
		case folders[w.folder] > 1:
			c.pass(w.slug, "another skill of the catalogue would be the same folder "+w.folder)
		default:
			kept = append(kept, w)
		}
	}
	clear(c.wants[len(kept):])
	c.wants = kept
	sorting.Sort(c.wants, func(a, b want) int { return strings.Compare(a.folder, b.folder) })
}

// judge turns one row into a want, or says why it is none. A row that would be one
// but does not hold what it says is among the failures instead.
func (c *catalogue) judge(row *hubclient.InstallableRow, rules rowRules) (want, string) {
	switch {
	case row.Fault != "":
		return want{}, row.Fault
	case row.DocID == "":
		return want{}, "it has no id"
	case rules.fleet != "" && row.FleetID != nil && *row.FleetID != "" && *row.FleetID != rules.fleet:
		c.doubt("the catalogue has skills of another fleet")
		return want{}, fmt.Sprintf("it belongs to the fleet %.80q", *row.FleetID)
	case row.Collection != "" && row.Collection != hubapi.SkillsCollection:
		return want{}, fmt.Sprintf("it is a document of the collection %.80q", row.Collection)
	}
	slug := row.DocID
	if _, bare, prefixed := strings.Cut(slug, "/"); prefixed && hubapi.CheckName(bare) == nil {
		return want{}, "its id has a prefix, which cannot be a part of a folder's name"
	}
	if hubapi.CheckName(slug) != nil {
		return want{}, "its id cannot be the name of a folder"
	}
	if isProtected(slug) {
		return want{}, "the name is protected: the folder belongs to another program"
	}
	if status := row.Data.Status; status != nil && *status != string(hubapi.Active) && !optedOut(row.Data) {
		return want{}, fmt.Sprintf("it is %.40q, and only what is active is installed", *status)
	}
	text := ""
	if row.Data.Content != nil {
		text = *row.Data.Content
	}
	switch hash := row.Data.ContentHash; {
	case hash != nil && *hash != "" && *hash != "sha256:"+hexSum([]byte(text)):
		c.failed = append(c.failed, hubapi.ReconcileNote{Slug: slug, Reason: "its content does not have the hash that the row gives"})
		return want{}, "its content does not have the hash that the row gives"
	case (hash == nil || *hash == "") && rules.requireHash && row.Data.KX == nil:
		return want{}, "it has no hash, and one is required"
	}
	if row.Data.KX != nil {
		return releaseRow(slug, text, *row.Data.KX, rules)
	}
	return textRow(slug, text, row.Data, rules)
}

// optedOut tells whether a row that is not active is one all the same that nodes are to
// have. Which these are is decided by the hub alone, by the settings of the tenant: that
// of a tenant without review says so of each. A status alone is a hub's mistake.
func optedOut(data hubclient.InstallableData) bool {
	return data.KX != nil && data.KX.Unreviewed && (*data.Status == string(hubapi.Staged) || *data.Status == string(hubapi.Candidate))
}

// releaseRow is a row of a hub of ours. What is one file, and has the release's digest, is
// there already; the rest is fetched when it is needed.
func releaseRow(slug, text string, kx hubapi.SkillRelease, rules rowRules) (want, string) {
	switch {
	case !isDigest(kx.Digest):
		return want{}, "its release has no digest"
	case hubapi.CheckAuthor(kx.Author) != nil || hubapi.CheckVersion(kx.Version) != nil:
		return want{}, "its release has no author or no version that there could be"
	case rules.requireSigned && !kx.Signed:
		return want{}, "it is not signed, and a signature is required"
	}
	w := want{
		slug: slug, folder: slug, author: kx.Author, version: kx.Version,
		digest: pack.Digest(kx.Digest), signed: kx.Signed, release: true, unreviewed: kx.Unreviewed,
	}
	if pack.ValidSkillName(slug) != nil {
		// What a kortecx pack becomes has a narrower grammar; its text tells.
		if name := frontmatterName([]byte(text)); pack.ValidSkillName(name) == nil && hyphened(slug) == name {
			w.folder = name
		}
	}
	if isProtected(w.folder) {
		return want{}, "the name is protected: the folder belongs to another program"
	}
	if files := []pack.File{{Path: skillFile, Data: []byte(text)}}; !rules.fetchAll && !w.signed && w.folder == slug && pack.DigestFiles(files) == w.digest {
		w.release, w.text = false, files[0].Data
	}
	return w, ""
}

func hyphened(slug string) string {
	return strings.Join(strings.FieldsFunc(slug, func(r rune) bool { return r == '.' || r == '_' || r == '-' }), "-")
}

func frontmatterName(text []byte) string {
	front, _, _, faults, _ := pack.SplitFrontmatter(text)
	if len(faults) > 0 {
		return ""
	}
	m, faultsYAML, _ := yamledit.Parse(front)
	if len(faultsYAML) > 0 {
		return ""
	}
	for _, e := range m.Entries {
		if e.Key == "name" && e.Value.Kind == yamledit.Scalar {
			return e.Value.Text
		}
	}
	return ""
}

// textRow is a row that holds a skill as text.
func textRow(slug, text string, data hubclient.InstallableData, rules rowRules) (want, string) {
	description := ""
	if data.Description != nil {
		description = strings.TrimSpace(*data.Description)
	}
	switch {
	case rules.requireSigned:
		return want{}, "it is not signed, and a signature is required"
	case rules.releasesOnly:
		return want{}, "it is no release, so nothing says whose it is, and the trust policy refuses that"
	case strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")) == "":
		return want{}, "it has no content"
	case len(text) > maxSkillText:
		return want{}, fmt.Sprintf("its content has more than %d KiB", maxSkillText>>10)
	case strings.ContainsRune(text, 0):
		return want{}, "its content is no text"
	case description == "":
		return want{}, "it has no description"
	}
	name := ""
	if data.Name != nil {
		name = strings.TrimSpace(*data.Name)
	}
	file, why := skillText(slug, name, description, text)
	if why != "" {
		return want{}, why
	}
	return want{slug: slug, folder: slug, text: file, digest: pack.DigestFiles([]pack.File{{Path: skillFile, Data: file}})}, ""
}

// skillText is the SKILL.md of a skill that came as text: the text itself when it
// begins with frontmatter that can be read, without what would hide it from agents (a
// byte order mark, blanks behind the fence); else a frontmatter and the text behind it,
// byte for byte.
func skillText(slug, name, description, content string) (file []byte, why string) {
	text := []byte(strings.TrimPrefix(content, "\ufeff"))
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if fence, ok := bytes.CutPrefix(first, []byte("---")); ok && len(bytes.Trim(fence, " \t\r")) == 0 {
		front, _, _, faults, _ := pack.SplitFrontmatter(text)
		if len(faults) > 0 {
			return nil, "its frontmatter cannot be read: " + faults[0].Text
		}
		if _, faults, _ := yamledit.Parse(front); len(faults) > 0 {
			return nil, "its frontmatter cannot be read: " + faults[0].Text
		}
		end := "\n"
		if bytes.HasSuffix(first, []byte("\r")) {
			end = "\r\n"
		}
		return append([]byte("---"+end), rest...), ""
	}
	var b bytes.Buffer
	b.WriteString("---\nname: " + plainSlug(slug) + "\ndescription: " + yamledit.Quote(shortened(description)) + "\n")
	if name != "" && name != slug {
		// Agents want the folder's name as the skill's; the other is for people.
		b.WriteString("metadata:\n  title: " + yamledit.Quote(shortened(name)) + "\n")
	}
	b.WriteString("---\n\n")
	b.Write(text)
	return b.Bytes(), ""
}

// plainSlug leaves a name without quotes where that is the same text to every reader.
func plainSlug(slug string) string {
	if slug[0] >= 'a' && slug[0] <= 'z' && yamledit.ReadsAs(slug) == "" {
		return slug
	}
	return yamledit.Quote(slug)
}

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= maxRowDescription {
		return text
	}
	return string([]rune(text)[:maxRowDescription-1]) + "…"
}
