package deliver

import (
	"context"
	"fmt"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// needsReview is the error for an update that somebody has to look at first.
type needsReview struct{ review Review }

func (e *needsReview) Error() string {
	r := &e.review
	files := make([]string, len(r.Files))
	for i, f := range r.Files {
		files[i] = f.Path
		added, removed := lineChanges(f.Text)
		if added+removed > 0 {
			files[i] += fmt.Sprintf(" (%d lines more, %d less)", added, removed)
		}
	}
	text := "its update needs review: it changes " + strings.Join(files, ", ")
	if len(r.Findings) > 0 {
		text += fmt.Sprintf(", and the scan finds %d things in it that were not there", len(r.Findings))
	}
	return text
}

// lineChanges counts the lines of a unified difference.
func lineChanges(diff string) (added, removed int) {
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return added, removed
}

// accepted runs a skill that came as text through the gate, as the pack that it is for
// agents, where it is one.
func (t *targetRun) accepted(ctx context.Context, p *pack.Pack) (*pack.Pack, error) {
	if in := pack.Read(p.Name, p.Files, pack.Options{Format: p.Format}); in.Pack != nil {
		p = in.Pack
	}
	if t.Accept == nil {
		return p, nil
	}
	return p, t.Accept(ctx, p)
}

// needsReview holds an update against what lies there. The error is a *needsReview.
func (t *targetRun) needsReview(before *State, p *pack.Pack) error {
	have := before.Marker
	if have.Digest == p.Digest() {
		return nil // of the record alone
	}
	contents, err := readContents(t.root, before.Slug)
	if err != nil {
		return err
	}
	old := &pack.Pack{Format: have.Format, Name: have.Name}
	for _, f := range asFiles(contents) {
		old.Files = append(old.Files, pack.File{Path: f.Path, Data: f.Data, Executable: f.Perm&0o100 != 0})
	}
	if in := pack.Read(before.Slug, old.Files, pack.Options{Format: old.Format}); in.Pack != nil {
		old = in.Pack
	}
	was := Locked{Source: have.Source, Revision: string(have.Digest), Version: have.Version, Digest: have.Digest, Signed: len(have.Signature) > 0}
	review := NewReview(before.Slug, was, old, Offer{Source: syncSource + t.Origin, Pack: p})
	if review.WhitespaceOnly && !review.Widened() {
		t.log("reviewed", joined(t.target.Dir, before.Slug), "no semantic change: nothing but white space")
		return nil
	}
	return &needsReview{review}
}

// reviewed tells of an update that was held back.
func (t *targetRun) reviewed(st step, review Review) {
	why := (&needsReview{review}).Error()
	t.details.Held = append(t.details.Held, hubapi.ReconcileNote{Dir: t.target.Dir, Slug: st.slug, Reason: why})
	t.undone = true
	t.log("held", joined(t.target.Dir, st.folder), why)
	if t.Reviewed != nil {
		t.Reviewed(t.target.Dir, review)
	}
}
