package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
)

// sentinelRules is the version of a scan that only the pre-scan made.
const sentinelRules = "sentinel"

// WriteDocument writes one document. A skill is pushed as a skill-md release with
// the next integer as its version, under p's own author, and waits for review; an
// admin may ask for an active one, by the rules of every approval. A skill that is
// active stays so until what was written is approved.
//
// In a tenant that opted out of review a written skill need have no more than its
// doc_id and something to say; the status that it asks for is not kept, because
// documents show it anyway.
func (h *Hub) WriteDocument(ctx context.Context, p Principal, in hubapi.DocumentWrite) (hubapi.DocumentWritten, error) {
	out := hubapi.DocumentWritten{Collection: in.Collection, DocID: in.DocID}
	if err := p.check(); err != nil {
		return out, err
	}
	if err := checkCollection(in.Collection); err != nil {
		return out, err
	}
	if !p.publishes() {
		return out, hubapi.Errorf(hubapi.Forbidden, "%s may not write documents", p.Role.WithArticle())
	}
	if err := checkDocumentID(in.DocID); err != nil {
		return out, err
	}
	root, err := readDocumentData(in.Data)
	if err != nil {
		return out, err
	}
	if in.FleetID != "" && !plainName(in.FleetID, maxCollection) {
		return out, hubapi.Errorf(hubapi.Invalid, "fleet_id is text of at most %d bytes", maxCollection)
	}
	if in.Collection == hubapi.SkillsCollection {
		return h.writeSkill(ctx, p, in.DocID, root)
	}
	if n := root.Get("summary"); n != nil && n.Kind == strictjson.String && strings.TrimSpace(n.Text) == "" {
		return out, hubapi.Errorf(hubapi.Invalid, "data.summary is blank").WithHint("leave it out, or say what the document is about")
	}
	var data bytes.Buffer
	if err := json.Compact(&data, in.Data); err != nil {
		return out, hubapi.Errorf(hubapi.Invalid, "data: %v", err)
	}
	now := h.now()
	row := DocumentRow{
		Tenant: p.Tenant, Collection: in.Collection, ID: in.DocID, Fleet: in.FleetID, Data: data.String(),
		CreatedBy: p.ID, UpdatedBy: p.ID, CreatedAt: now, UpdatedAt: now,
	}
	err = h.write(ctx, func(w Writer) error {
		out.Action = "updated"
		before, err := w.PlainDocument(p.Tenant, in.Collection, in.DocID)
		if errors.Is(err, ErrNoRow) {
			out.Action, err = "created", nil
		}
		if err != nil {
			return err
		}
		if err := roomFor(w, p.Tenant, out.Action == "created", len(row.Data)-len(before.Data)); err != nil {
			return err
		}
		return w.PutPlainDocument(row)
	})
	out.OK, out.Indexed = err == nil, err == nil
	return out, err
}

// roomFor refuses a write that would leave a tenant with more than its share.
func roomFor(r Reader, tenant string, one bool, more int) error {
	counts, err := r.CountPlain(tenant)
	if err != nil {
		return err
	}
	n, size := 0, int64(more)
	if one {
		n++
	}
	for _, c := range counts {
		n, size = n+c.Count, size+c.Bytes
	}
	if n > maxTenantDocs && one || size > maxTenantDocSize && more > 0 {
		return hubapi.Errorf(hubapi.TooLarge, "a tenant keeps at most %d documents and %d MiB of them", maxTenantDocs, maxTenantDocSize>>20).
			WithHint("delete documents that nobody needs")
	}
	return nil
}

// liveSkill is what an update may be made from.
type liveSkill struct {
	digest string
	hashes []string // of the whole SKILL.md and of its text alone; none where it has no SKILL.md
}

func (h *Hub) writeSkill(ctx context.Context, p Principal, id string, root *strictjson.Node) (hubapi.DocumentWritten, error) {
	out := hubapi.DocumentWritten{Collection: hubapi.SkillsCollection, DocID: id}
	var (
		g    gate
		base *liveSkill
	)
	err := h.read(ctx, func(r Reader) (err error) {
		base = nil
		if g, err = gateOf(r, p); err != nil {
			return err
		}
		if kind := root.Get("kind"); g.opted && kind != nil && kind.Text == "update" {
			base, err = liveOf(r, p, id)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	var d *skillDraft
	if g.opted {
		d, err = checkSkill(p, id, root, g.settings, func() ([]string, error) {
			if base == nil {
				return nil, nil
			}
			return base.hashes, nil
		})
	} else {
		d, err = plainSkill(p, id, root)
	}
	if err != nil {
		return out, err
	}
	pub, err := h.drafted(p, d)
	if err != nil {
		return out, err
	}
	if d.update && base != nil {
		pub.bound = base.digest
	}
	pub.in.Approve = d.status == hubapi.Active && !dirty(pub.scan)
	row, _, err := h.take(ctx, p, pub)
	if err != nil {
		return out, err
	}
	out.OK, out.Action = true, "updated"
	if pub.first {
		out.Action = "created"
	}
	out.Status, out.Author, out.Version, out.Digest = row.Status, row.Author, row.Version, row.Digest
	out.Indexed, out.Ignored = row.Status == hubapi.Active, d.ignored
	if pub.scan != nil {
		out.Findings = pub.scan.Findings
	}
	return out, nil
}

// liveOf is the active release of a skill as updates are bound to it, nil where
// there is none.
func liveOf(r Reader, p Principal, slug string) (*liveSkill, error) {
	row, err := documentRelease(r, p, gate{opted: true}, slug)
	if errors.Is(err, ErrNoRow) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, _, err := skillText(r, row)
	live := &liveSkill{digest: row.Digest, hashes: []string{}}
	if err == nil && text != "" {
		_, body, _, _, _ := pack.SplitFrontmatter([]byte(text))
		live.hashes = append(live.hashes, textHash(text), textHash(string(body)))
	}
	return live, err
}

// plainSkill is a skill that is written in a tenant without review: it needs no more
// than a release cannot be without.
func plainSkill(p Principal, id string, root *strictjson.Node) (*skillDraft, error) {
	text := func(key string) string {
		if n := root.Get(key); n != nil && n.Kind == strictjson.String {
			return n.Text
		}
		return ""
	}
	d := &skillDraft{source: text("source"), status: hubapi.Staged, content: text("content")}
	d.head = skillHead{name: id, description: cmp.Or(strings.TrimSpace(text("description")), strings.TrimSpace(text("summary")), "The skill "+id+".")}
	if domain := strings.TrimSpace(text("domain")); domain != "" {
		d.head.domain = domain
	}
	if s := strings.TrimSpace(text("summary")); s != d.head.description && !strings.ContainsAny(s, "\r\n") {
		d.head.summary = s
	}
	if !slices.Contains([]string{"agent", "imported", "manual"}, d.source) || d.source == "manual" && p.Role == Agent {
		d.source = "" // as a push by p would be
	}
	if text("status") == string(hubapi.Active) && p.Role == Admin {
		d.status = hubapi.Active
	}
	for _, m := range root.Members {
		if !slices.Contains([]string{"content", "description", "domain", "name", "slug", "source", "status", "summary"}, m.Name) {
			d.ignored = append(d.ignored, m.Name)
		}
	}
	slices.Sort(d.ignored)
	return d, nil
}

// drafted makes the pack of a written skill and judges it as any push is.
func (h *Hub) drafted(p Principal, d *skillDraft) (*publication, error) {
	text := d.content
	if strings.TrimSpace(text) == "" { // an imported one may have none; a release has to say something
		text = strings.TrimSpace(d.head.description) + "\n"
	}
	for i, f := range d.files {
		// Reading a pack leaves the file out, which is right for a folder that kx filled.
		if f.Path == pack.OwnedMarker {
			return nil, skillFault(hubapi.Invalid, "path.reserved", fmt.Sprint("/files/", i), "the file %s is what kx writes into folders that it fills, and no part of a skill", f.Path).
				WithHint("leave it out")
		}
	}
	files := append([]pack.File{{Path: pack.SkillMD.ManifestFile(), Data: skillFile(d.head, text)}}, d.files...)
	sorting.Stable(files, func(a, b pack.File) int { return strings.Compare(a.Path, b.Path) })
	for i, f := range files[1:] {
		if f.Path == files[i].Path {
			return nil, skillFault(hubapi.Invalid, "support-files", "", "the file %.80q is there twice", f.Path)
		}
	}
	pub, err := h.assess(PublishInput{Name: d.head.name, Files: files})
	if err != nil {
		return nil, err
	}
	if pub.author, err = p.author("", pub.pack.Author); err != nil {
		return nil, err
	}
	pub.version, pub.chosen = "", false
	pub.from, pub.summary = d.source, d.head.summary
	if d.scan != nil {
		pub.scan = h.withSentinel(pub.scan, d.scan)
	}
	return pub, nil
}

// withSentinel adds to a scan what the pre-scan of a document holds for critical:
// the rules of the hub weigh the same words by their context.
func (h *Hub) withSentinel(s *hubapi.Scan, found *scan.SentinelResult) *hubapi.Scan {
	alone := s == nil
	if alone {
		s = &hubapi.Scan{State: hubapi.ScanClean, Rules: sentinelRules, ScannedAt: h.now(), Findings: []hubapi.Finding{}}
	}
	for _, f := range found.Findings {
		finding := hubapi.Finding{Rule: f.Code, Severity: f.Severity, Message: fmt.Sprintf("%s (%s)", f.Message, f.Locator)}
		switch {
		case f.Severity == "critical":
			s.Critical++
			s.State = hubapi.ScanQuarantined
			s.Findings = slices.Insert(s.Findings, 0, finding)
		case alone:
			finding.Severity = "low"
			s.Warn++
			s.Findings = append(s.Findings, finding)
		}
	}
	return s
}

// SubmitSkill takes a proposal in: a skill-md release under p's own author, with the
// next integer as its version. It is staged, or quarantined when a scan finds
// something critical. The same content again is the release that it already is.
func (h *Hub) SubmitSkill(ctx context.Context, p Principal, in hubapi.SkillSubmit) (hubapi.SkillSubmitted, error) {
	if err := p.check(); err != nil {
		return hubapi.SkillSubmitted{}, err
	}
	if !p.publishes() {
		return hubapi.SkillSubmitted{}, hubapi.Errorf(hubapi.Forbidden, "%s may not propose skills", p.Role.WithArticle())
	}
	d := &skillDraft{head: skillHead{name: in.Name, description: in.Description}, content: in.Content}
	if err := pack.ValidSkillName(in.Name); err != nil {
		return hubapi.SkillSubmitted{}, skillFault(hubapi.Invalid, "name", "/name", "%s", err.Text)
	}
	if strings.TrimSpace(in.Description) == "" && !hasFrontmatter(in.Content) {
		return hubapi.SkillSubmitted{}, skillFault(hubapi.Invalid, "description", "/description", "description must say what the skill is for")
	}
	if len(in.Files) >= pack.MaxFiles {
		return hubapi.SkillSubmitted{}, hubapi.Errorf(hubapi.TooLarge, "a skill has at most %d files", pack.MaxFiles)
	}
	for i, f := range in.Files {
		if !utf8.ValidString(f.Content) {
			return hubapi.SkillSubmitted{}, skillFault(hubapi.Invalid, "files", fmt.Sprint("/files/", i), "a file's content is UTF-8 text")
		}
		d.files = append(d.files, pack.File{Path: f.Path, Data: []byte(f.Content)})
	}
	pub, err := h.drafted(p, d)
	if err != nil {
		return hubapi.SkillSubmitted{}, err
	}
	if said := strings.TrimSpace(in.Description); hasFrontmatter(in.Content) && said != "" && said != strings.TrimSpace(pub.pack.Description) {
		return hubapi.SkillSubmitted{}, skillFault(hubapi.Invalid, "description", "/description", "the frontmatter of content has another description").
			WithHint("leave description empty, or the frontmatter out")
	}
	row, unchanged, err := h.take(ctx, p, pub)
	if err != nil {
		return hubapi.SkillSubmitted{}, err
	}
	out := hubapi.SkillSubmitted{Release: release(row, nil), Unchanged: unchanged}
	if pub.scan != nil {
		out.Findings = pub.scan.Findings
	}
	return out, nil
}
