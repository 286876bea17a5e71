package deliver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// releaseOf is the row of a release of a hub of ours, whose files are fetched.
func releaseOf(p *pack.Pack, signed bool) map[string]any {
	return row(p.Name, "---\nname: "+p.Name+"\ndescription: d\n---\n", "kx", map[string]any{
		"author": "acme", "version": "1", "digest": string(p.Digest()), "archive": "/a", "signed": signed,
	})
}

// W16: before a file lands it is the one that the catalogue means, by whom it says. What
// is there stays when it is not.
func TestNothingLandsThatTheCatalogueDoesNotMean(t *testing.T) {
	old, update := skillMD(t, "a", "1"), skillMD(t, "a", "2")
	keyed := []byte(`{"v":1,"dsse":[{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"keyid":"k","sig":"` + strings.Repeat("AAAA", 21) + `AA=="}]}]}`)
	for name, c := range map[string]struct {
		first []byte // the signature of what is there
		fetch func() (*pack.Pack, []byte, error)
		why   string
	}{
		"other files":   {fetch: func() (*pack.Pack, []byte, error) { return skillMD(t, "a", "3"), nil, nil }, why: "the catalogue says"},
		"another skill": {fetch: func() (*pack.Pack, []byte, error) { return skillMD(t, "b", "2"), nil, nil }, why: "the catalogue says"},
		"a bad signature": {fetch: func() (*pack.Pack, []byte, error) {
			return nil, nil, hubapi.Errorf(hubapi.Invalid, "its signature is wrong")
		}, why: "signature is wrong"},
		"a signature less":    {first: keyed, fetch: func() (*pack.Pack, []byte, error) { return update, nil, nil }, why: "signed with a key"},
		"a hub that is gone":  {fetch: func() (*pack.Pack, []byte, error) { return nil, nil, hubapi.Errorf(hubapi.Unavailable, "no hub") }, why: "no hub"},
		"what it should have": {fetch: func() (*pack.Pack, []byte, error) { return update, nil, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			give := func(fetch func() (*pack.Pack, []byte, error)) func(*Reconciler) {
				return func(r *Reconciler) {
					r.Fetch = func(context.Context, hubapi.Ref, bool) (*pack.Pack, []byte, error) { return fetch() }
				}
			}
			g.hub.rows = []map[string]any{releaseOf(old, c.first != nil), row("other", "x")}
			if got := lists(g.sync(OwnedTarget, give(func() (*pack.Pack, []byte, error) { return old, c.first, nil }))); got != "installed a other; added a other; converged" {
				t.Fatal(got)
			}
			before := tree(t, g.dir)
			g.hub.rows = []map[string]any{releaseOf(update, c.first != nil), row("other", "x")}
			s := g.sync(OwnedTarget, give(c.fetch))
			if c.why == "" {
				if got := lists(s); got != "installed a other; added a; converged" {
					t.Error(got)
				}
				return
			}
			if len(s.Kx.Failed) != 1 || !strings.Contains(s.Kx.Failed[0].Reason, c.why) || s.Kx.Status != hubapi.ReconcileIncomplete {
				t.Errorf("%s: %+v", lists(s), s.Kx.Failed)
			}
			same(t, before, tree(t, g.dir))
		})
	}
}

// X14: what a machine with 400 skills tells a hub that keeps 8 KiB is kept.
func TestASummaryOfManySkillsIsKept(t *testing.T) {
	g := newRig(t)
	for i := range 400 {
		slug := "skill-" + strings.Repeat("x", 20) + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
		if i >= 26*26 {
			t.Fatal("too few names")
		}
		g.hub.rows = append(g.hub.rows, row(slug, "x"))
	}
	s := g.sync(OwnedTarget)
	whole, err := json.Marshal(s)
	must(t, err)
	told, err := json.Marshal(s.Fit(hubapi.MaxReconcile))
	must(t, err)
	if len(s.Installed) != 400 || len(whole) <= hubapi.MaxReconcile || len(told) > hubapi.MaxReconcile || !strings.Contains(string(told), `"installed":400`) {
		t.Errorf("%d skills, %d bytes, told in %d: %s", len(s.Installed), len(whole), len(told), told)
	}
}

// W10 and H25: a marker with the right owner in a folder of the user's own is no receipt.
func TestAForgedMarkerIsNotOurs(t *testing.T) {
	for _, mode := range []SyncMode{OwnedTarget, AdditiveTarget} {
		g := newRig(t)
		g.hub.rows = []map[string]any{row("a", "x"), row("b", "x")}
		g.sync(mode)
		forged := skillMD(t, "mine", "1")
		_, err := Install(mustOpen(t, g.dir), forged, InstallOptions{Owner: "kx-test", Now: now, Source: "sync:http://hub.test"})
		must(t, err)
		before := tree(t, g.dir)
		for range 2 {
			s := g.sync(mode, confirm)
			if got := lists(s); got != "installed a b; converged" {
				t.Errorf("%s: %s", mode, got)
			}
			// In a directory of the catalogue's alone nothing told why it is still there.
			told := slices.ContainsFunc(s.Kx.Collided, func(n hubapi.ReconcileNote) bool {
				return n.Slug == "mine" && strings.Contains(n.Reason, "its marker is not one that kx sync wrote here")
			})
			if told != (mode == OwnedTarget) {
				t.Errorf("%s: collided %v", mode, s.Kx.Collided)
			}
		}
		same(t, before, tree(t, g.dir))
		g.hub.rows = append(g.hub.rows, row("mine", "another text"))
		if got := lists(g.sync(mode)); got != "installed a b; collisions mine; incomplete" {
			t.Errorf("%s: %s", mode, got)
		}
	}
}
