package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// Limits on what comes with a submitted manifest, in bytes.
const (
	maxSourceURL   = 2048
	maxSubmitterID = 256
)

const actSubmit = "submit"

// SubmitInput is a manifest that comes without code.
type SubmitInput struct {
	Manifest    []byte // a JSON object
	SourceURL   string // kept as it is, never fetched
	SubmitterID string // what the submitter calls themselves
}

// Submit takes a Kazma manifest in, as the Kazma API does. It has no code, so it is
// no release and reserves nothing; it becomes the release of its author, name and
// version when that is pushed. The same submission again is the same one.
func (h *Hub) Submit(ctx context.Context, p Principal, in SubmitInput) (hubapi.Submission, error) {
	if err := p.check(); err != nil {
		return hubapi.Submission{}, err
	}
	if !p.publishes() {
		return hubapi.Submission{}, hubapi.Errorf(hubapi.Forbidden, "%s may not submit", p.Role.WithArticle())
	}
	row, err := submission(in)
	if err != nil {
		return hubapi.Submission{}, err
	}
	// A submission reserves nothing, so a key without namespaces (the shared
	// secret of a Kazma hub) may submit for anybody, as it may there.
	if all := p.Role == Admin && p.Tenant == LocalTenant; !all && len(p.Authors) > 0 && !slices.Contains(p.Authors, row.Author) {
		return hubapi.Submission{}, hubapi.Errorf(hubapi.Forbidden, "this key may not submit as %q", row.Author)
	}
	if row.ID, err = uuid(h.random); err != nil {
		return hubapi.Submission{}, err
	}
	row.Tenant, row.By, row.At = p.Tenant, p.ID, h.now()
	var out hubapi.Submission
	err = h.write(ctx, func(w Writer) error {
		skill, err := w.Skill(p.Tenant, row.Name)
		if err == nil && skill.Author != row.Author {
			return hubapi.Errorf(hubapi.Conflict, "the name %q belongs to the author %q", row.Name, skill.Author)
		}
		if err != nil && !errors.Is(err, ErrNoRow) {
			return err
		}
		earlier, err := w.SameSubmission(row)
		if err == nil {
			out, err = h.resolve(w, p, earlier)
			return err
		}
		if !errors.Is(err, ErrNoRow) {
			return err
		}
		if err := w.AddSubmission(row); err != nil {
			return err
		}
		about := ReleaseRow{Author: row.Author, Name: row.Name, Version: row.Version}
		if err := h.audit(w, p, actSubmit, about, "submission "+row.ID); err != nil {
			return err
		}
		out, err = h.resolve(w, p, row)
		return err
	})
	return out, err
}

// submission judges what was submitted.
func submission(in SubmitInput) (SubmissionRow, error) {
	if !shortText(in.SourceURL, maxSourceURL) {
		return SubmissionRow{}, hubapi.Errorf(hubapi.Invalid, "source_url is text of at most %d bytes", maxSourceURL)
	}
	if !shortText(in.SubmitterID, maxSubmitterID) {
		return SubmissionRow{}, hubapi.Errorf(hubapi.Invalid, "submitter_id is text of at most %d bytes", maxSubmitterID)
	}
	node, faults := strictjson.Parse(in.Manifest)
	if len(faults) > 0 {
		return SubmissionRow{}, hubapi.Errorf(hubapi.Invalid, "%s", faults[0].Text).
			With(hubapi.Detail{ID: faults[0].ID, Message: faults[0].Text, Pointer: faults[0].Pointer})
	}
	if node.Kind != strictjson.Object {
		return SubmissionRow{}, hubapi.Errorf(hubapi.Invalid, "the manifest is not an object")
	}
	text, err := sign.KazmaCanonicalJSON(value(node))
	if err != nil {
		return SubmissionRow{}, hubapi.Errorf(hubapi.Invalid, "%v", err)
	}
	// JSON with spaces behind colons and commas is YAML, so the one reader of
	// manifests judges it. The entry file is promised, not here: an empty one
	// stands for it.
	files := []pack.File{{Path: pack.Kazma.ManifestFile(), Data: append(text[:len(text):len(text)], '\n')}}
	for _, m := range node.Members {
		if m.Name != "entry_point" || m.Value.Kind != strictjson.String {
			continue
		}
		if file, _, fault := pack.ResolveEntry(m.Value.Text); fault == nil && file != pack.Kazma.ManifestFile() {
			files = append(files, pack.File{Path: file})
		}
	}
	seen := pack.Read("submission", files, pack.Options{Format: pack.Kazma})
	if len(seen.Faults) > 0 || seen.Pack == nil {
		return SubmissionRow{}, manifestError(seen.Faults)
	}
	row := SubmissionRow{
		Author: seen.Pack.Author, Name: seen.Pack.Name, Version: seen.Pack.Version, Manifest: string(text),
		SourceURL: in.SourceURL, SubmitterID: in.SubmitterID,
	}
	for _, err := range []error{hubapi.CheckAuthor(row.Author), hubapi.CheckName(row.Name), hubapi.CheckVersion(row.Version)} {
		if err != nil {
			return SubmissionRow{}, err
		}
	}
	return row, nil
}

// manifestError is packError without the places: lines and columns of the text that
// was made here mean nothing to who sent the manifest.
func manifestError(faults pack.Errors) *hubapi.Error {
	e := packError("", faults)
	texts := make([]string, len(e.Details))
	for i := range e.Details {
		e.Details[i].File, e.Details[i].Line, e.Details[i].Column = "", 0, 0
		texts[i] = e.Details[i].Message
	}
	e.Message = strings.Join(texts, "; ")
	return e
}

func shortText(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// value is a JSON value as sign.KazmaCanonicalJSON takes it.
func value(n *strictjson.Node) any {
	switch n.Kind {
	case strictjson.Bool:
		return n.Text == "true"
	case strictjson.Number:
		return number(n.Text)
	case strictjson.String:
		return n.Text
	case strictjson.Array:
		list := make([]any, len(n.Elems))
		for i, e := range n.Elems {
			list[i] = value(e)
		}
		return list
	case strictjson.Object:
		object := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			object[m.Name] = value(m.Value)
		}
		return object
	}
	return nil
}

// Submission gives a submission and what became of it, to who made it and to
// reviewers of its tenant; to others it is not there.
func (h *Hub) Submission(ctx context.Context, p Principal, id string) (hubapi.Submission, error) {
	if err := p.check(); err != nil {
		return hubapi.Submission{}, err
	}
	var out hubapi.Submission
	err := h.read(ctx, func(r Reader) error {
		row, err := r.Submission(p.Tenant, id)
		if errors.Is(err, ErrNoRow) || err == nil && row.By != p.ID && !p.reviews() {
			return hubapi.Errorf(hubapi.NotFound, "there is no submission %.40q", id)
		}
		if err != nil {
			return err
		}
		out, err = h.resolve(r, p, row)
		return err
	})
	return out, err
}

// resolve finds the release that a submission became. Its status is told to who
// may see the submission; the release itself only to who may see that.
func (h *Hub) resolve(r Reader, p Principal, row SubmissionRow) (hubapi.Submission, error) {
	ref := hubapi.Ref{Author: row.Author, Name: row.Name, Version: row.Version}
	out := hubapi.Submission{
		ID: row.ID, SkillID: hubapi.KazmaID(ref), SourceURL: row.SourceURL, SubmitterID: row.SubmitterID,
		SubmittedBy: row.By, SubmittedAt: row.At, Status: hubapi.SubmissionPending,
	}
	skill, err := r.Skill(row.Tenant, row.Name)
	if errors.Is(err, ErrNoRow) || err == nil && skill.Author != row.Author {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	became, err := r.Release(skill.ID, row.Version)
	if errors.Is(err, ErrNoRow) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Status = string(became.Status)
	if _, err := visible(r, p, ref); err != nil {
		if hubapi.AsError(err).Code == hubapi.NotFound {
			return out, nil
		}
		return out, err
	}
	shown := release(became, nil)
	out.Release = &shown
	badge, err := r.Badge(became.Seq)
	if errors.Is(err, ErrNoRow) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	b := h.badge(became, badge)
	out.Badge = &b
	return out, nil
}

// uuid makes a UUID of version 4.
func uuid(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", hubapi.Errorf(hubapi.Internal, "no randomness: %v", err)
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
