package hub

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/scan"
)

// skillDraft is a written skill that was judged.
type skillDraft struct {
	head    skillHead
	content string
	source  string
	status  hubapi.Status // staged, or active from who may say so
	update  bool          // made from the active release, whose content has the hash target
	target  string
	files   []pack.File // beside SKILL.md
	scan    *scan.SentinelResult
	ignored []string // members that were passed over, ascending
}

// skillFault is a refusal of a written skill; pointer leads to what is wrong.
func skillFault(code hubapi.Code, id, pointer, format string, args ...any) *hubapi.Error {
	e := hubapi.Errorf(code, format, args...)
	return e.With(hubapi.Detail{ID: "skill." + id, Message: e.Message, Pointer: pointer})
}

// requiredMembers, in the order in which they are listed when they are missing.
var requiredMembers = []string{"description", "domain", "kind", "name", "slug", "source"}

// SkillDataGuide tells agents what a written skill must have, by the same list.
func SkillDataGuide() string {
	return "In the collection skills it needs " + strings.Join(requiredMembers, ", ") +
		" and content (the text of the skill): doc_id and slug are the name of the skill, kind is create or update, source is agent."
}

// knownMembers are those that a release keeps in some way. All others, and those
// that the hub sets itself, are passed over.
var knownMembers = []string{
	"content", "description", "domain", "kind", "name", "slug", "source", "status", "summary", "support_files", "tags", "target",
}

// checkSkill judges a written skill in the order in which its clients expect the
// refusals: the first fault is the answer. It is MemClaw's validator, with its gaps
// closed: a name is one line, origin is an object, summary is text, a key that is
// status but for its case is no second status, and what the hub stamps is not taken
// from the writer. live tells about the active release; it is asked for an update
// only.
func checkSkill(p Principal, id string, root *strictjson.Node, s hubapi.TenantSettings, live func() (hash []string, err error)) (*skillDraft, error) {
	d := &skillDraft{}
	for _, m := range root.Members {
		if m.Name != "status" && strings.EqualFold(m.Name, "status") {
			return nil, skillFault(hubapi.Invalid, "status-key", strictjson.Child("", m.Name), "%.40q is no key: write status", m.Name)
		}
		if !slices.Contains(knownMembers, m.Name) {
			d.ignored = append(d.ignored, m.Name)
		}
	}
	slices.Sort(d.ignored)
	var missing []string
	for _, key := range requiredMembers {
		if root.Get(key) == nil {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return nil, skillFault(hubapi.Invalid, "required", "", "missing required keys: %s", strings.Join(missing, ", "))
	}
	for _, key := range []string{"name", "slug", "description", "domain"} {
		if root.Get(key).Kind != strictjson.String {
			return nil, skillFault(hubapi.Invalid, "type", "/"+key, "%s must be text, not %s", key, root.Get(key).Kind)
		}
	}
	text := func(key string) string {
		if n := root.Get(key); n != nil {
			return n.Text
		}
		return ""
	}
	d.head = skillHead{name: text("slug"), title: text("name"), description: text("description"), domain: strings.TrimSpace(text("domain"))}
	if err := d.checkSlug(id); err != nil {
		return nil, err
	}
	switch text("kind") {
	case "create":
	case "update":
		d.update = true
	default:
		return nil, skillFault(hubapi.Invalid, "kind", "/kind", "kind must be create or update")
	}
	d.source = text("source")
	if !slices.Contains([]string{"agent", "forge", "imported", "manual"}, d.source) {
		return nil, skillFault(hubapi.Invalid, "source", "/source", "source must be agent, forge, imported or manual")
	}
	if err := d.checkTags(root.Get("tags")); err != nil {
		return nil, err
	}
	if err := d.checkRights(p, root.Get("status")); err != nil {
		return nil, err
	}
	if n := len(d.head.description); n > s.DescriptionMaxBytes {
		return nil, skillFault(hubapi.Invalid, "description-bytes", "/description", "description has %d bytes, at most %d are allowed", n, s.DescriptionMaxBytes)
	}
	if err := d.checkContent(root.Get("content"), s); err != nil {
		return nil, err
	}
	if err := d.checkRest(root); err != nil {
		return nil, err
	}
	if d.update {
		if err := d.checkTarget(root.Get("target"), live); err != nil {
			return nil, err
		}
	}
	d.scan = scan.Sentinel(value(root), scan.SentinelCaps{Content: s.BodyMaxBytes, Description: s.DescriptionMaxBytes})
	for _, f := range d.scan.Findings {
		if f.Fatal {
			e := hubapi.Errorf(hubapi.Invalid, "%s: %s", f.Code, f.Message)
			return nil, e.With(hubapi.Detail{ID: f.Code, Message: f.Message, Pointer: f.Locator})
		}
	}
	return d, d.readFiles(root.Get("support_files"))
}

// checkSlug refuses names that are none, and a slug that is not the document's id.
func (d *skillDraft) checkSlug(id string) error {
	slug := d.head.name
	if err := hubapi.CheckName(slug); err != nil {
		return skillFault(hubapi.Invalid, "slug", "/slug", "slug: %s", hubapi.AsError(err).Message)
	}
	if err := pack.ValidSkillName(slug); err != nil {
		return skillFault(hubapi.Invalid, "slug", "/slug", "slug: %s", err.Text)
	}
	if slug != id {
		return skillFault(hubapi.Invalid, "slug", "/slug", "slug %.80q is not the doc_id %.80q", slug, id)
	}
	if title := d.head.title; strings.TrimSpace(title) == "" || strings.ContainsFunc(title, unicode.IsControl) {
		return skillFault(hubapi.Invalid, "name", "/name", "name must be one line of text that is not blank")
	}
	if d.head.title == slug {
		d.head.title = ""
	}
	return nil
}

func (d *skillDraft) checkTags(tags *strictjson.Node) error {
	if tags == nil {
		return nil
	}
	if tags.Kind != strictjson.Array {
		return skillFault(hubapi.Invalid, "tags", "/tags", "tags must be a list of texts, not %s", tags.Kind)
	}
	for i, tag := range tags.Elems {
		if tag.Kind != strictjson.String {
			return skillFault(hubapi.Invalid, "tags", fmt.Sprint("/tags/", i), "tags must be a list of texts, not of %s", tag.Kind)
		}
		d.head.tags = append(d.head.tags, tag.Text)
	}
	return nil
}

// checkRights judges what only some may write: where a skill comes from, and its
// status.
func (d *skillDraft) checkRights(p Principal, status *strictjson.Node) error {
	switch {
	case d.source == "forge":
		return skillFault(hubapi.Forbidden, "source-role", "/source", "source forge is for candidates that were mined: an admin pushes them with their origin")
	case d.source == "manual" && p.Role == Agent:
		return skillFault(hubapi.Forbidden, "source-role", "/source", "source manual is for people, an agent writes agent or imported")
	}
	d.status = hubapi.Staged
	if status == nil {
		return nil
	}
	if status.Kind != strictjson.String || !knownStatus(hubapi.Status(status.Text)) {
		return skillFault(hubapi.Invalid, "status", "/status", "status must be one of %s", joined(statuses))
	}
	switch s := hubapi.Status(status.Text); {
	case s == hubapi.Staged:
	case s == hubapi.Active && p.Role == Admin:
		d.status = s
	case s == hubapi.Active:
		return skillFault(hubapi.Forbidden, "status-role", "/status", "%s may not write an active skill: leave the status out, and it waits for review", p.Role.WithArticle())
	default:
		return skillFault(hubapi.Forbidden, "status-role", "/status", "nobody writes a skill that is %s", s)
	}
	return nil
}

func (d *skillDraft) checkContent(content *strictjson.Node, s hubapi.TenantSettings) error {
	switch {
	case content == nil && d.source == "imported":
		return nil
	case content == nil:
		return skillFault(hubapi.Invalid, "content", "/content", "content is missing")
	case content.Kind != strictjson.String:
		return skillFault(hubapi.Invalid, "content", "/content", "content must be text, not %s", content.Kind)
	case len(content.Text) > s.BodyMaxBytes:
		return skillFault(hubapi.Invalid, "content-bytes", "/content", "content has %d bytes, at most %d are allowed", len(content.Text), s.BodyMaxBytes)
	}
	d.content = content.Text
	return nil
}

// checkRest refuses types that the reference lets crash it, and what search would
// have nothing to say about.
func (d *skillDraft) checkRest(root *strictjson.Node) error {
	if n := root.Get("summary"); n != nil {
		if n.Kind != strictjson.String || strings.ContainsFunc(n.Text, unicode.IsControl) {
			return skillFault(hubapi.Invalid, "summary", "/summary", "summary must be one line of text")
		}
		d.head.summary = strings.TrimSpace(n.Text)
	}
	if n := root.Get("origin"); n != nil && n.Kind != strictjson.Object {
		return skillFault(hubapi.Invalid, "origin", "/origin", "origin must be an object, not %s", n.Kind)
	}
	if strings.TrimSpace(d.head.description) == "" {
		if d.head.summary == "" {
			return skillFault(hubapi.Invalid, "summary", "/summary", "summary or description must say what the skill is for")
		}
		d.head.description = d.head.summary
	}
	if d.head.summary == strings.TrimSpace(d.head.description) {
		d.head.summary = ""
	}
	return nil
}

// checkTarget holds an update against the release that it says it was made from.
func (d *skillDraft) checkTarget(target *strictjson.Node, live func() ([]string, error)) error {
	var hash *strictjson.Node
	if target != nil && target.Kind == strictjson.Object {
		hash = target.Get("target_content_hash")
	}
	if hash == nil || hash.Kind != strictjson.String || hash.Text == "" {
		return skillFault(hubapi.Invalid, "target", "/target/target_content_hash", "an update names the content that it was made from, in target.target_content_hash")
	}
	hashes, err := live()
	switch {
	case err != nil:
		return err
	case hashes == nil:
		return skillFault(hubapi.NotFound, "target", "/target", "there is no active skill %s to update", d.head.name)
	case len(hashes) == 0:
		return skillFault(hubapi.Conflict, "target", "/target", "the active skill %s has no content_hash", d.head.name)
	case !slices.Contains(hashes, hash.Text):
		return skillFault(hubapi.Conflict, "target", "/target/target_content_hash", "the active skill %s has the content_hash %s, not %.80q", d.head.name, hashes[0], hash.Text).
			WithHint("read it again, make the change there, and write that")
	}
	d.target = hash.Text
	return nil
}

// readFiles takes the files beside SKILL.md, whose paths the pre-scan has judged.
func (d *skillDraft) readFiles(list *strictjson.Node) error {
	if list == nil {
		return nil
	}
	if list.Kind != strictjson.Array {
		return skillFault(hubapi.Invalid, "support-files", "/support_files", "support_files must be a list, not %s", list.Kind)
	}
	for i, n := range list.Elems {
		at := fmt.Sprint("/support_files/", i)
		text := n.Get("content")
		if text == nil {
			text = n.Get("body")
		}
		if text == nil || text.Kind != strictjson.String {
			return skillFault(hubapi.Invalid, "support-files", at, "a file has its text in content")
		}
		d.files = append(d.files, pack.File{Path: n.Get("path").Text, Data: []byte(text.Text)})
	}
	return nil
}
