package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/sorting"
)

// Fetch reads a source whole, or the part of it that ref.Path names. A pack with
// faults is among what was found; a source without any pack is an error.
func (s *Sources) Fetch(ctx context.Context, ref Ref) (*Fetched, error) {
	limits := s.Limits.orDefault()
	ctx, cancel := context.WithTimeout(ctx, limits.Timeout)
	defer cancel()
	if ref.Kind == Dir && isGit(s.onDisk(ref.Location)) { // a bare repository has no files of its own
		ref = Ref{Kind: Git, Location: ref.Location}
	}
	read, ok := map[Kind]func(context.Context, Ref, Limits) (*Fetched, error){
		Dir: s.fetchDir, Hub: s.fetchHub, Git: s.fetchGit, Archive: s.fetchArchive, Site: s.fetchSite,
	}[ref.Kind]
	if !ok {
		return nil, hubapi.Errorf(hubapi.Unsupported, "sources of kind %q cannot be read", ref.Kind)
	}
	out, err := read(ctx, ref, limits)
	if err != nil {
		return nil, overdue(ctx, ref, err)
	}
	if len(out.Found) == 0 {
		e := fail(hubapi.NotFound, "source.empty", "there is no pack in %s", ref)
		e.WithHint("a pack is a folder with SKILL.md, skill.json or skill_manifest.yaml")
		if len(out.Notes) > 0 {
			e.WithHint("%s", out.Notes[0].Message)
		}
		return nil, e
	}
	for i := range out.Found {
		if f := &out.Found[i]; f.refused != nil { // told with its source: packs of several are called alike
			f.Faults = faults(out.RefOf(f).String(), f.refused)
		}
	}
	if len(out.Found) == 1 && out.Signature == nil {
		out.Signature = out.Found[0].Signature
	}
	return out, nil
}

// overdue words the error of a source that took too long, or that the user gave up, and
// says of any other which source it is about.
func overdue(ctx context.Context, ref Ref, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fail(hubapi.Timeout, "fetch.timeout", "%s was not read in time", ref)
	case ctx.Err() != nil:
		return hubapi.Errorf(hubapi.Interrupted, "interrupted")
	}
	return withPlace(ref, asError(err, hubapi.Unavailable, "cannot read %s", ref))
}

// Pick gives the one pack that which names: by its folder in the source, by its
// name, or, when which is empty, because there is only one. Where several fit, the
// error lists them. A pack with faults is refused with them.
func (f *Fetched) Pick(which string) (*Found, error) {
	var fits []*Found
	for i := range f.Found {
		found := &f.Found[i]
		if found.Path == which && which != "" {
			fits = []*Found{found}
			break
		}
		if which == "" || found.Name == which || path.Base(found.Path) == which {
			fits = append(fits, found)
		}
	}
	fits = withoutCopies(fits)
	switch len(fits) {
	case 0:
		return nil, fail(hubapi.NotFound, "source.no-such", "there is no pack %q in %s", clip(which), f.Ref).
			WithHint("it has: %s", choices(pointers(f.Found)))
	case 1:
		if fits[0].Faults != nil {
			return nil, fits[0].Faults
		}
		return fits[0], nil
	}
	if which == "" {
		return nil, fail(hubapi.Conflict, "source.ambiguous", "%s holds %d packs: %s", f.Ref, len(fits), choices(fits)).
			WithHint("name one of them, or ask for all")
	}
	return nil, fail(hubapi.Conflict, "source.ambiguous", "%s holds several packs called %q: %s", f.Ref, clip(which), choices(fits)).
		WithHint("name the folder of the one that you mean")
}

// All gives every pack that can be used. The error is for two folders with one name,
// of which nobody can say which is meant; packs with faults are left out, and so are
// further copies of the same content.
func (f *Fetched) All() ([]*Found, error) {
	byName := map[string][]*Found{}
	var out []*Found
	for i := range f.Found {
		found := &f.Found[i]
		if found.Faults != nil {
			continue
		}
		same := withoutCopies(append(byName[found.Name], found))
		if len(same) > 1 {
			return nil, fail(hubapi.Conflict, "source.ambiguous", "%s holds several packs called %q: %s", f.Ref, clip(found.Name), choices(same)).
				WithHint("name the folder of the one that you mean")
		}
		if len(byName[found.Name]) == 0 {
			out = append(out, found)
		}
		byName[found.Name] = same
	}
	return out, nil
}

// withoutCopies drops packs of a name and content that came before: repositories
// keep copies for several agents.
func withoutCopies(list []*Found) []*Found {
	type identity struct{ name, digest string }
	seen := map[identity]bool{}
	var out []*Found
	for _, f := range list {
		id := identity{f.Name, string(f.Digest)}
		if f.Digest != "" && seen[id] {
			continue
		}
		seen[id] = true
		out = append(out, f)
	}
	return out
}

func pointers(list []Found) []*Found {
	out := make([]*Found, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// choices lists packs for a person.
func choices(list []*Found) string {
	const most = 20
	var words []string
	for i, f := range list {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		where := f.Path
		if where == "" {
			where = "."
		}
		if path.Base(where) != f.Name {
			where += " (" + clip(f.Name) + ")"
		}
		words = append(words, where)
	}
	return strings.Join(words, ", ")
}

// revisionOf identifies what was found by its content: the digest of a single pack,
// else a hash over all of them.
func revisionOf(found []Found) string {
	if len(found) == 1 && found[0].Digest != "" {
		return string(found[0].Digest)
	}
	h := sha256.New()
	for _, f := range found {
		text := string(f.Digest)
		if f.Faults != nil {
			text = f.Faults.Error()
		}
		fmt.Fprintf(h, "%q %q\n", f.Path, text)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func sortFound(found []Found) {
	sorting.Sort(found, func(a, b Found) int { return strings.Compare(a.Path, b.Path) })
}

// progress tells the caller what is going on.
func (s *Sources) progress(p Progress) {
	if s.Progress != nil {
		s.Progress(p)
	}
}

// RefOf names the source of one pack alone.
func (f *Fetched) RefOf(found *Found) Ref {
	ref := f.Ref
	switch {
	case ref.Kind == Hub || found.Path == "":
	case ref.Kind == Dir:
		ref.Location = cleanPath(path.Join(ref.Location, found.Path))
	default:
		ref.Path = found.Path
	}
	return ref
}
