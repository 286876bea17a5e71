package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// maxDetails is how many faults of one pack a refusal names.
const maxDetails = 100

// PublishInput is one push.
type PublishInput struct {
	Name      string // of the folder that the files came in
	Files     []pack.File
	Author    string // namespace; empty: the pack's own, else the principal's default
	Version   string // empty: the manifest's, else the next integer
	Signature []byte // content of the signature file; nil without one
	Approve   bool   // make it active at once; for reviewers
	// Origin makes it a mined candidate, which the gates or a reviewer move on;
	// for admins. Its fingerprint and agent are the hub's own.
	Origin *hubapi.Origin
}

// publication is a push that was judged and waits for its transaction.
type publication struct {
	in        PublishInput
	pack      *pack.Pack
	author    string
	version   string // empty: decided in the transaction
	chosen    bool   // the version was named by the caller or must be the manifest's
	digest    string
	files     []FileRow
	signed    []Signed
	signature *Sum
	scan      *hubapi.Scan // nil: not scanned
	// fingerprint is what a rejection remembers.
	fingerprint string
	summary     string     // empty: the description
	from        string     // what its source is to be; empty: as p's role says
	bound       string     // digest that must be active; empty: any
	edits       ReleaseRow // the release that was edited; Seq 0 otherwise
	first       bool       // the name was free; decided in the transaction
}

// Publish takes a pack in as a staged release, or gives back the release that it
// already is. A version is immutable: other content under it is a Conflict. With
// Approve the release is active when Publish returns. Everything is one
// transaction; a refusal leaves nothing behind.
func (h *Hub) Publish(ctx context.Context, p Principal, in PublishInput) (hubapi.PushResult, error) {
	if err := p.check(); err != nil {
		return hubapi.PushResult{}, err
	}
	if !p.publishes() {
		return hubapi.PushResult{}, hubapi.Errorf(hubapi.Forbidden, "%s may not publish", p.Role.WithArticle())
	}
	if in.Approve && !p.reviews() {
		return hubapi.PushResult{}, hubapi.Errorf(hubapi.Forbidden, "%s may not approve", p.Role.WithArticle()).
			WithHint("push without approving; a reviewer moves it on")
	}
	if in.Origin != nil && (p.Role != Admin || in.Approve) {
		return hubapi.PushResult{}, hubapi.Errorf(hubapi.Forbidden, "candidates are brought in by an admin, and not approved with it")
	}
	pub, err := h.judge(p, in)
	if err != nil {
		return hubapi.PushResult{}, err
	}
	if in.Approve && dirty(pub.scan) {
		return hubapi.PushResult{}, scanRefused(pub.pack.Name, pub.scan)
	}
	row, unchanged, err := h.take(ctx, p, pub)
	if err != nil {
		return hubapi.PushResult{}, err
	}
	result := hubapi.PushResult{Release: release(row, nil), Unchanged: unchanged}
	if pub.first {
		// The push is done: a warning that cannot be made must not say otherwise.
		result.Similar, _ = h.similar(ctx, p.Tenant, row.Name, row.Author)
	}
	if stands, err := h.standing(ctx, p, row, pub, unchanged); err == nil {
		result.ScanState, result.Findings, result.Reason, result.Actions = stands.ScanState, stands.Findings, stands.Reason, stands.Actions
	}
	return result, nil
}

// standing is where a pushed release stands in review: what the scan says of it, why it
// was set apart, and what p may do about it. What was there before keeps the scan that it has.
func (h *Hub) standing(ctx context.Context, p Principal, row ReleaseRow, pub *publication, unchanged bool) (hubapi.PushResult, error) {
	out := hubapi.PushResult{ScanState: hubapi.ScanNone, Reason: row.Note.Reason}
	scan := pub.scan
	var tenant TenantRow
	var err error
	if !unchanged {
		err = h.store.Look(ctx, func(r Reader) (err error) {
			tenant, err = r.Tenant(p.Tenant)
			return err
		})
	} else {
		err = h.read(ctx, func(r Reader) (err error) {
			if tenant, err = r.Tenant(p.Tenant); err != nil {
				return err
			}
			stored, err := r.Evidence(row.Seq)
			if err != nil {
				return err
			}
			scan, err = scanOf(stored)
			return err
		})
	}
	if err != nil {
		return out, err
	}
	out.Actions = p.actionsOn(row, refOf(row), tenant)
	if scan != nil {
		out.ScanState, out.Findings = scan.State, scan.Findings[:min(len(scan.Findings), maxDetails)]
	}
	return out, nil
}

// take is the transaction of a push that was judged.
func (h *Hub) take(ctx context.Context, p Principal, pub *publication) (row ReleaseRow, unchanged bool, err error) {
	err = h.write(ctx, func(w Writer) (err error) {
		row, unchanged, err = h.publish(w, p, pub)
		return err
	})
	return row, unchanged, err
}

// judge does all that needs no transaction.
func (h *Hub) judge(p Principal, in PublishInput) (*publication, error) {
	pub, err := h.assess(in)
	if err != nil {
		return nil, err
	}
	if pub.author, err = p.author(in.Author, pub.pack.Author); err != nil {
		return nil, err
	}
	if in.Origin != nil {
		origin := *in.Origin
		origin.AgentID = p.ID
		pub.in.Origin, pub.fingerprint = &origin, Fingerprint(origin)
	}
	return pub, nil
}

// assess judges what is pushed, whoever pushes it.
func (h *Hub) assess(in PublishInput) (*publication, error) {
	seen := pack.Read(in.Name, in.Files, pack.Options{})
	if faults := slices.Concat(seen.Faults, seen.Layout); len(faults) > 0 || seen.Pack == nil {
		return nil, packError("the pack cannot be published", faults)
	}
	pub := &publication{in: in, pack: seen.Pack, digest: string(seen.Pack.Digest()), fingerprint: contentFingerprint(seen.Pack)}
	if err := hubapi.CheckName(pub.pack.Name); err != nil {
		return nil, err
	}
	if err := checkProtected(pub.pack.Name); err != nil {
		return nil, err
	}
	if fault := sign.PairFault(seen.Pack); fault != nil {
		return nil, hubapi.Errorf(hubapi.Invalid, "the pack cannot be published: %s", fault.Text).
			WithHint("sign it again").
			With(hubapi.Detail{ID: fault.ID, Message: fault.Text, File: seen.Format.ManifestFile()})
	}
	var err error
	if err := pub.pickVersion(); err != nil {
		return nil, err
	}
	if pub.signed, err = h.readSignature(in.Signature); err != nil {
		return nil, err
	}
	if in.Signature != nil {
		sum := Sum(sha256.Sum256(in.Signature))
		pub.signature = &sum
	}
	for _, f := range pub.pack.Files {
		pub.files = append(pub.files, FileRow{
			Path: f.Path, Size: int64(len(f.Data)), Sum: pack.FileSum(f),
			Executable: f.Executable && pub.pack.Format == pack.SkillMD,
		})
	}
	pub.scan = h.scan(pub.pack)
	return pub, nil
}

func (pub *publication) pickVersion() error {
	own, asked := pub.pack.Version, pub.in.Version
	pub.version, pub.chosen = own, true
	if pub.pack.Format == pack.SkillMD {
		pub.chosen = asked != ""
		if asked != "" {
			pub.version = asked
		}
		if pub.version == "" {
			return nil
		}
	} else if asked != "" && asked != own {
		return hubapi.Errorf(hubapi.Invalid, "the manifest says version %q, not %q", own, asked).
			WithHint("change the version in %s, or leave it out here", pub.pack.Format.ManifestFile())
	}
	if err := hubapi.CheckVersion(pub.version); err != nil {
		if asked == "" && pub.pack.Format == pack.SkillMD {
			return hubapi.AsError(err).WithHint("metadata.version in SKILL.md is the version of the release; name another one with the push, or change it")
		}
		return err
	}
	return nil
}

// publish is the transaction.
func (h *Hub) publish(w Writer, p Principal, pub *publication) (row ReleaseRow, unchanged bool, err error) {
	name := pub.pack.Name
	pub.first = false
	skill, err := w.Skill(p.Tenant, name)
	switch {
	case errors.Is(err, ErrNoRow):
		pub.first = true
		skill = SkillRow{Tenant: p.Tenant, Name: name, Author: pub.author, NextInteger: 1}
		if skill.ID, err = w.AddSkill(skill); err != nil {
			return row, false, err
		}
	case err != nil:
		return row, false, err
	case skill.Author != pub.author:
		return row, false, hubapi.Errorf(hubapi.Conflict, "the name %q belongs to the author %q", name, skill.Author).
			WithHint("publish under another name")
	}

	if !pub.first { // a skill that is new has no release
		there, err := find(w, skill, pub)
		if err == nil {
			return h.republish(w, p, pub, there)
		}
		if !errors.Is(err, ErrNoRow) {
			return row, false, err
		}
	}

	version := pub.version
	if version == "" {
		if version, err = nextFree(w, skill); err != nil {
			return row, false, err
		}
	}
	if next, ok := integerAfter(version, pub.version == ""); ok && next > skill.NextInteger {
		if err := w.SetNextInteger(skill.ID, next); err != nil {
			return row, false, err
		}
	}
	ref := hubapi.Ref{Author: pub.author, Name: name, Version: version}
	if err := checkSigned(pub.signed, ref, pub.digest); err != nil {
		return row, false, err
	}
	said, err := h.notCooling(w, p, pub)
	if err != nil {
		return row, false, err
	}
	var base []ReleaseRow
	if !pub.first {
		if base, err = w.Releases(skill.ID, hubapi.Active, 1); err != nil {
			return row, false, err
		}
	}
	if pub.bound != "" && (len(base) == 0 || base[0].Digest != pub.bound) {
		return row, false, skillFault(hubapi.Conflict, "target", "/target", "the active skill %s changed meanwhile", name)
	}
	now := h.now()
	row = ReleaseRow{
		Skill: skill.ID, Tenant: p.Tenant, Name: name, Author: pub.author, Version: version,
		Status: pub.status(), Digest: pub.digest, Format: string(pub.pack.Format),
		Summary: cmp.Or(pub.summary, pub.pack.Description), Description: pub.pack.Description,
		Tags: pub.pack.Tags, Tools: pub.pack.Tools, Source: pub.source(p),
		PublishedBy: p.ID, CreatedAt: now, UpdatedAt: now, Signature: pub.signature,
		Fingerprint: pub.fingerprint, EditedFrom: pub.edits.Seq, Note: ReviewNote{Base: pub.edits.Note.Base},
	}
	if pub.edits.Seq == 0 && len(base) == 1 {
		row.Note.Base = base[0].Digest
	}
	if row.Status == hubapi.Quarantined {
		row.Note.Reason = fmt.Sprintf("the rules %s found %d critical things", pub.scan.Rules, pub.scan.Critical)
	}
	for i, f := range pub.pack.Files {
		if err := w.PutContent(pub.files[i].Sum, f.Data); err != nil {
			return row, false, err
		}
	}
	if pub.signature != nil {
		if err := w.PutContent(*pub.signature, pub.in.Signature); err != nil {
			return row, false, err
		}
	}
	if row.Seq, err = w.AddRelease(row); err != nil {
		return row, false, err
	}
	if err := w.AddFiles(row.Seq, pub.files); err != nil {
		return row, false, err
	}
	if err := categorize(w, row, pub.pack); err != nil {
		return row, false, err
	}
	if pub.in.Origin != nil || pub.scan != nil {
		if err := w.SetEvidence(row.Seq, evidence(pub.in.Origin, pub.scan)); err != nil {
			return row, false, err
		}
	}
	if row.Status == hubapi.Quarantined {
		said = strings.TrimPrefix(said+"; quarantined: "+row.Note.Reason, "; ")
	}
	if err := h.audit(w, p, string(Publish), row, said); err != nil {
		return row, false, err
	}
	if err := h.logRelease(w, p, translog.Submit, row, ""); err != nil {
		return row, false, err
	}
	if row.Status == hubapi.Quarantined {
		if err := h.logRelease(w, p, translog.Quarantine, row, row.Note.Reason); err != nil {
			return row, false, err
		}
	}
	if pub.in.Approve {
		row, err = h.approvePushed(w, p, row)
	}
	return row, false, err
}

// status is the one in which a release begins.
func (pub *publication) status() hubapi.Status {
	switch {
	case dirty(pub.scan):
		return hubapi.Quarantined
	case pub.in.Origin != nil:
		return hubapi.Candidate
	}
	return hubapi.Staged
}

func (pub *publication) source(p Principal) string {
	switch {
	case pub.in.Origin != nil:
		return "forge"
	case pub.from != "":
		return pub.from
	case p.Role == Agent:
		return "agent"
	}
	return "manual"
}

// notCooling refuses content that was rejected and is in its cool-off. Reviewers
// may bring it in all the same; what is to be noted then is the answer. A mined
// candidate is held by its gates instead.
func (h *Hub) notCooling(r Reader, p Principal, pub *publication) (string, error) {
	cools, row, err := h.cooling(r, p.Tenant, pub.fingerprint)
	if err != nil || !cools || pub.in.Origin != nil || pub.edits.Seq != 0 {
		return "", err
	}
	if p.reviews() {
		return "in spite of the rejection by " + row.RejectedBy, nil
	}
	e := hubapi.Errorf(hubapi.Conflict, "this content was rejected on %s and is not taken again before %s: %s",
		row.RejectedAt.Format(time.DateOnly), row.Until.Format(time.DateOnly), row.Reason)
	return "", e.With(hubapi.Detail{ID: "review.cooloff", Message: e.Message}).
		WithHint("change what was wrong with it, or ask a reviewer")
}

// approvePushed approves what was just pushed or is pushed again.
func (h *Hub) approvePushed(w Writer, p Principal, row ReleaseRow) (ReleaseRow, error) {
	t, err := p.step(Approve, row, refOf(row))
	if err != nil {
		return row, err
	}
	row, _, err = h.activate(w, p, t, row, false)
	return row, err
}

// find looks for the release that the push may already be. Whoever named no
// version means the content: any release of it will do.
func find(w Writer, skill SkillRow, pub *publication) (ReleaseRow, error) {
	if !pub.chosen {
		row, err := w.ReleaseWithDigest(skill.ID, pub.digest)
		if !errors.Is(err, ErrNoRow) {
			return row, err
		}
	}
	if pub.version == "" {
		return ReleaseRow{}, ErrNoRow
	}
	return w.Release(skill.ID, pub.version)
}

// republish answers a push of what is there: the same release, or a conflict.
func (h *Hub) republish(w Writer, p Principal, pub *publication, row ReleaseRow) (ReleaseRow, bool, error) {
	if row.Digest != pub.digest {
		return row, false, hubapi.Errorf(hubapi.Conflict, "%s is already there with other content: it is %s, this push is %s", refOf(row), row.Digest, pub.digest).
			WithHint("a version never changes; raise the version and push again")
	}
	if err := checkSigned(pub.signed, refOf(row), row.Digest); err != nil {
		return row, false, err
	}
	if pub.signature != nil {
		var err error
		if row, err = h.addSignature(w, p, row, pub.in.Signature); err != nil {
			return row, false, err
		}
	}
	if pub.in.Approve && row.Status != hubapi.Active {
		var err error
		if row, err = h.approvePushed(w, p, row); err != nil {
			return row, false, err
		}
	}
	return row, true, nil
}

// nextFree is the version of a release that names none: the next integer that no
// release has.
func nextFree(r Reader, skill SkillRow) (string, error) {
	for n := skill.NextInteger; n > 0; n++ {
		version := strconv.FormatInt(n, 10)
		if _, err := r.Release(skill.ID, version); errors.Is(err, ErrNoRow) {
			return version, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", hubapi.Errorf(hubapi.Conflict, "%s/%s has no next integer version", skill.Author, skill.Name).
		WithHint("name a version")
}

// integerAfter gives the integer behind a version that is one in its plain form. A
// version that somebody chose counts only where every reader sees the same number.
func integerAfter(version string, own bool) (int64, bool) {
	const most = 1 << 53 // beyond it, numbers are not the same to every reader
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil || n < 0 || n >= most && !own || n == math.MaxInt64 || strconv.FormatInt(n, 10) != version {
		return 0, false
	}
	return n + 1, true
}

// packError maps the faults of a pack.
func packError(what string, faults pack.Errors) *hubapi.Error {
	e := hubapi.Errorf(hubapi.Invalid, "%s: %v", what, faults)
	if len(faults) > 0 {
		e.Hint = faults[0].Hint
	}
	for _, f := range faults[:min(len(faults), maxDetails)] {
		e.Details = append(e.Details, hubapi.Detail{
			ID: f.ID, Message: f.Text, File: f.Place.File,
			Line: f.Place.Line, Column: f.Place.Column, Pointer: f.Place.Pointer,
		})
	}
	return e
}

// release is a row as the API shows it; files are given in detail answers only.
func release(row ReleaseRow, files []FileRow) hubapi.Release {
	r := hubapi.Release{
		Name: row.Name, Author: row.Author, Version: row.Version, Status: row.Status,
		Digest: row.Digest, Format: row.Format, Description: row.Description,
		Tags: row.Tags, Tools: row.Tools, Signed: row.Signature != nil,
		PublishedBy: row.PublishedBy, CreatedAt: row.CreatedAt, ApprovedBy: row.ApprovedBy, ReplacedBy: row.Note.ReplacedBy,
	}
	if r.Tags == nil {
		r.Tags = []string{}
	}
	if !row.ApprovedAt.IsZero() {
		r.ApprovedAt = &row.ApprovedAt
	}
	for _, f := range files {
		r.Files = append(r.Files, hubapi.ReleaseFile{
			Path: f.Path, Size: f.Size, SHA256: fmt.Sprintf("%x", f.Sum), Executable: f.Executable,
		})
	}
	return r
}

func refOf(row ReleaseRow) hubapi.Ref {
	return hubapi.Ref{Author: row.Author, Name: row.Name, Version: row.Version}
}
