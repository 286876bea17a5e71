package cli

import (
	"path/filepath"

	"github.com/kortecx/kx/deliver"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/source"
)

// samePlace is a source as it is, whatever it was called: a folder or an archive of this
// machine is where it really lies. Relative paths begin at dir.
func samePlace(ref source.Ref, dir string) source.Ref {
	if ref.Remote() {
		return ref
	}
	at := filepath.FromSlash(ref.Location)
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	if ref.Kind == source.Dir {
		at, ref.Path = filepath.Join(at, filepath.FromSlash(ref.Path)), ""
	}
	if absolute, err := filepath.Abs(at); err == nil {
		at = absolute
	}
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	ref.Location = filepath.ToSlash(at)
	return ref
}

// refsOnce leaves out what was named before, also in other words.
func (in *installer) refsOnce(refs []wantedRef) []wantedRef {
	dir := in.a.path(".")
	seen := map[source.Ref]string{}
	var out []wantedRef
	for _, r := range refs {
		at := samePlace(r.ref, dir)
		if before, twice := seen[at]; twice {
			in.noteOnce(before, r.text)
			continue
		}
		seen[at] = r.text
		out = append(out, r)
	}
	return out
}

// offersOnce leaves out the skills that several REFs gave, and refuses all of those that
// want one name and are from different sources: none of them is more right than another.
func (in *installer) offersOnce(offers []deliver.Offer) (out []deliver.Offer, errs []error) {
	as := in.c.String("as")
	names := make([]string, len(offers))
	count := map[string]int{}
	for i, o := range offers {
		names[i] = first(as, pack.SkillName(o.Pack))
		count[names[i]]++
	}
	if len(count) == len(offers) {
		return offers, nil
	}
	seen := map[source.Ref]string{}
	again, rivals := map[int]bool{}, map[string][]string{}
	for i, o := range offers {
		if count[names[i]] == 1 {
			continue
		}
		at := source.Ref{Location: o.Source}
		if ref, err := source.Parse(o.Source, source.ParseOptions{}); err == nil {
			at = samePlace(ref, in.dir)
		}
		if before, twice := seen[at]; twice {
			in.noteOnce(before, o.Source)
			again[i] = true
			continue
		}
		seen[at] = o.Source
		rivals[names[i]] = append(rivals[names[i]], o.Source)
	}
	for i, o := range offers {
		switch {
		case again[i]:
		case len(rivals[names[i]]) > 1:
			errs = append(errs, deliver.OneName(names[i], rivals[names[i]]))
		default:
			out = append(out, o)
		}
	}
	return out, errs
}

func (in *installer) noteOnce(before, again string) {
	if before == again {
		in.a.note("%s: note: %s is named more than once, and installed once", in.a.program, termtext.Escape(again))
		return
	}
	in.a.note("%s: note: %s and %s are the same, which is installed once", in.a.program, termtext.Escape(before), termtext.Escape(again))
}
