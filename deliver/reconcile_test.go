package deliver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// The rows of the reference reconciler's behaviour, each with our outcome: the same
// where it is good, and safe where it is not.

// W9 is X4, W12 is R10, W13 is X7 and X10, W16 is the hash of the content.
func TestOwnedTargets(t *testing.T) {
	type tick struct {
		rows    []map[string]any
		options []func(*Reconciler)
		before  func(g *rig)
		want    string
		folders string
		check   func(t *testing.T, g *rig)
	}
	rows := func(list ...map[string]any) []map[string]any { return list }
	cases := map[string][]tick{
		"R1 an empty catalogue removes nothing by itself": {
			{rows: rows(row("foo", "text")), want: "installed foo; added foo; converged", folders: "foo"},
			{before: func(g *rig) { g.put("memclaw/SKILL.md", "bundled") }, want: "protected memclaw; held foo; incomplete", folders: "foo memclaw"},
			{options: []func(*Reconciler){confirm}, want: "removed foo; protected memclaw; converged", folders: "memclaw", check: func(t *testing.T, g *rig) {
				if g.read("memclaw/SKILL.md") != "bundled" {
					t.Error("the protected folder was changed")
				}
			}},
		},
		"R1 with what was there before": {
			{before: func(g *rig) { g.put("memclaw/SKILL.md", "bundled"); g.put("foo/SKILL.md", "theirs") }, want: "protected memclaw; held foo; incomplete", folders: "foo memclaw"},
			{options: []func(*Reconciler){claim}, want: "protected memclaw; held foo; incomplete", folders: "foo memclaw"},
			{options: []func(*Reconciler){claim, confirm}, want: "removed foo; protected memclaw; converged", folders: "memclaw"},
		},
		"R2 cold start": {
			{rows: rows(row("git-rebase", "Rebase.\n", "description", "rebase steps"), row("b", "b"), row("a", "a")), want: "installed a b git-rebase; added a b git-rebase; converged", folders: "a b git-rebase", check: func(t *testing.T, g *rig) {
				if got := g.read("git-rebase/SKILL.md"); got != "---\nname: git-rebase\ndescription: \"rebase steps\"\n---\n\nRebase.\n" {
					t.Errorf("written as %q", got)
				}
			}},
		},
		"R3 converge": {
			{rows: rows(row("a", "a"), row("c", "c")), want: "installed a c; added a c; converged", folders: "a c"},
			{rows: rows(row("a", "a"), row("b", "b")), want: "installed a b; added b; removed c; converged", folders: "a b"},
		},
		"R4 idempotent": {
			{rows: rows(row("a", "a")), want: "installed a; added a; converged", folders: "a"},
			{rows: rows(row("a", "a")), want: "installed a; converged", folders: "a"},
		},
		"R5 unsafe ids": {
			{rows: rows(row("../etc/passwd", "x"), row("Capitalized", "x"), row("valid-slug", "x")), want: "installed valid-slug; added valid-slug; skipped ../etc/passwd Capitalized; converged", folders: "valid-slug"},
		},
		"R6 bad shape": {
			{rows: rows(row("no-content", "", "content", nil), row("no-description", "x", "description", nil), row("blank", "x", "description", " \n"), row("good", "x")), want: "installed good; added good; skipped blank no-content no-description; converged", folders: "good"},
		},
		"R7 escapes": {
			{rows: rows(row("q", "say \"hi\" \\ there", "description", `with "quotes" and \`)), want: "installed q; added q; converged", folders: "q", check: func(t *testing.T, g *rig) {
				if got := g.read("q/SKILL.md"); got != "---\nname: q\ndescription: \"with \\\"quotes\\\" and \\\\\"\n---\n\nsay \"hi\" \\ there" {
					t.Errorf("written as %q", got)
				}
			}},
		},
		"R8 its own frontmatter": {
			{rows: rows(row("own", "---\nname: own\ndescription: mine\n---\nbody\n", "description", "other")), want: "installed own; added own; converged", folders: "own", check: func(t *testing.T, g *rig) {
				if got := g.read("own/SKILL.md"); got != "---\nname: own\ndescription: mine\n---\nbody\n" {
					t.Errorf("written as %q", got)
				}
			}},
		},
		"R10 an edit is kept": {
			{rows: rows(row("a", "a")), want: "installed a; added a; converged", folders: "a"},
			{rows: rows(row("a", "a2")), before: func(g *rig) { g.put("a/SKILL.md", "mine") }, want: "kept a; incomplete", folders: "a", check: func(t *testing.T, g *rig) {
				if g.read("a/SKILL.md") != "mine" {
					t.Error("the edit is lost")
				}
			}},
			{options: []func(*Reconciler){confirm}, want: "kept a; incomplete", folders: "a"},
			{rows: rows(row("a", "a2")), before: func(g *rig) { g.put("a/SKILL.md", asText("a", "a")) }, want: "installed a; added a; converged", folders: "a"},
		},
		"R11 deactivation, by a hub that counts its changes": {
			{rows: rows(row("a", "a")), before: func(g *rig) { g.hub.generation = 4 }, want: "installed a; added a; converged", folders: "a"},
			{before: func(g *rig) { g.hub.generation = 5 }, want: "removed a; converged", folders: ""},
		},
		"R11 with the generation of before": {
			{rows: rows(row("a", "a")), before: func(g *rig) { g.hub.generation = 4 }, want: "installed a; added a; converged", folders: "a"},
			{want: "held a; incomplete", folders: "a"},
			{before: func(g *rig) { g.hub.generation = 3 }, want: "held a; incomplete", folders: "a"},
		},
		"R12 a file in the way": {
			{rows: rows(row("bad-skill", "x"), row("good-skill", "x")), before: func(g *rig) { g.put("bad-skill", "a file") }, want: "installed good-skill; added good-skill; collisions bad-skill; incomplete", folders: "bad-skill good-skill", check: func(t *testing.T, g *rig) {
				if g.read("bad-skill") != "a file" {
					t.Error("the file was changed")
				}
			}},
		},
		"X1 ids with a prefix": {
			{rows: rows(row("forge/x", "x"), row("agent/y", "y")), want: "skipped agent/y forge/x; unusable", folders: ""},
		},
		"X4 a protected name in the catalogue": {
			{rows: rows(row("memclaw", "evil"), row("caura", "evil"), row("a", "a")), before: func(g *rig) { g.put("memclaw/SKILL.md", "bundled") }, want: "installed a; added a; skipped caura memclaw; protected memclaw; converged", folders: "a memclaw", check: func(t *testing.T, g *rig) {
				if g.read("memclaw/SKILL.md") != "bundled" {
					t.Error("the bundled file was overwritten")
				}
			}},
		},
		"X7 a name and a description with lines": {
			{rows: rows(row("a", "text", "name", "a\nuser-invocable: true", "description", "eu: west\nallowed-tools: Bash")), want: "installed a; added a; converged", folders: "a", check: func(t *testing.T, g *rig) {
				want := "---\nname: a\ndescription: \"eu: west\\nallowed-tools: Bash\"\nmetadata:\n  title: \"a\\nuser-invocable: true\"\n---\n\ntext"
				if got := g.read("a/SKILL.md"); got != want {
					t.Errorf("written as %q", got)
				}
			}},
		},
		"X10 a byte order mark, blanks behind the fence, carriage returns": {
			{rows: rows(
				row("bom", "\ufeff---\nname: bom\ndescription: d\n---\nbody"),
				row("blank", "--- \nname: blank\ndescription: d\n---\nbody"),
				row("crlf", "---\r\nname: crlf\r\ndescription: d\r\n---\r\nbody\r\n"),
			), want: "installed blank bom crlf; added blank bom crlf; converged", folders: "blank bom crlf", check: func(t *testing.T, g *rig) {
				for name, want := range map[string]string{
					"bom":   "---\nname: bom\ndescription: d\n---\nbody",
					"blank": "---\nname: blank\ndescription: d\n---\nbody",
					"crlf":  "---\r\nname: crlf\r\ndescription: d\r\n---\r\nbody\r\n",
				} {
					if got := g.read(name + "/SKILL.md"); got != want {
						t.Errorf("%s is written as %q", name, got)
					}
				}
			}},
		},
		"X11 content of spaces": {
			{rows: rows(row("a", " \n\t"), row("open", "---\nname: a\nno end")), want: "skipped a open; unusable", folders: ""},
		},
		"a bad row in the name of what is there": {
			{rows: rows(row("a", "a"), row("b", "b")), want: "installed a b; added a b; converged", folders: "a b"},
			{rows: rows(row("a", "a"), row("b", " ")), want: "installed a; skipped b; converged", folders: "a b"},
		},
		"a skill that the catalogue has twice": {
			{rows: rows(row("a", "one"), row("a", "two"), row("b", "b")), want: "installed b; added b; skipped a; converged", folders: "b"},
		},
		"many removals at once": {
			{rows: rows(row("a", "x"), row("b", "x"), row("c", "x"), row("d", "x"), row("e", "x"), row("f", "x"), row("g", "x")), want: "installed a b c d e f g; added a b c d e f g; converged", folders: "a b c d e f g"},
			{rows: rows(row("a", "x"), row("b", "x"), row("c", "x")), want: "installed a b c; held d e f g; incomplete", folders: "a b c d e f g"},
			{rows: rows(row("a", "x"), row("b", "x"), row("c", "x"), row("d", "x")), want: "installed a b c d; held e f g; incomplete", folders: "a b c d e f g"},
			{rows: rows(row("a", "x"), row("b", "x"), row("c", "x"), row("d", "x")), options: []func(*Reconciler){confirm}, want: "installed a b c d; removed e f g; converged", folders: "a b c d"},
			{rows: rows(row("b", "x"), row("c", "x")), want: "installed b c; removed a d; converged", folders: "b c"},
		},
		"what somebody put into a folder that is ours alone": {
			{rows: rows(row("a", "x"), row("b", "x")), want: "installed a b; added a b; converged", folders: "a b"},
			{rows: rows(row("a", "x"), row("b", "x")), before: func(g *rig) {
				g.put("stray/SKILL.md", "x")
				g.put("theirs/.memclaw-owned", "")
				g.put("Not A Skill/x", "")
			}, want: "installed a b; removed stray; converged", folders: "Not A Skill a b theirs"},
		},
		"a copied claim is none": {
			{before: func(g *rig) {
				g.put("mine/SKILL.md", "x")
				g.put(sentinel, string(g.reconciler().sentinelText()))
			}, rows: rows(row("a", "x"), row("b", "x")), want: "installed a b; added a b; held mine; incomplete", folders: "a b mine"},
		},
		"the hash of the content": {
			{rows: rows(row("good", "hello world", "content_hash", "sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"), row("bad", "hello", "content_hash", "sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9")), want: "installed good; added good; skipped bad; failed bad; incomplete", folders: "good"},
		},
		"a hash that is required": {
			{options: []func(*Reconciler){func(r *Reconciler) { r.RequireHash = true }}, rows: rows(row("good", "hello world", "content_hash", "sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"), row("bare", "x")), want: "installed good; added good; skipped bare; converged", folders: "good"},
		},
		"a signature that is required": {
			{options: []func(*Reconciler){func(r *Reconciler) { r.RequireSigned = true }}, rows: rows(row("bare", "x")), want: "skipped bare; unusable", folders: ""},
		},
		"releases only": {
			{options: []func(*Reconciler){func(r *Reconciler) { r.ReleasesOnly = true }}, rows: rows(row("bare", "x")), want: "skipped bare; unusable", folders: ""},
		},
	}
	for name, ticks := range cases {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			for i, tick := range ticks {
				if tick.before != nil {
					tick.before(g)
				}
				g.hub.rows = tick.rows
				s := g.sync(OwnedTarget, tick.options...)
				if got := lists(s); got != tick.want {
					t.Errorf("tick %d: %s\nwant %s\n%+v", i+1, got, tick.want, *s.Kx)
				}
				if got := strings.Join(g.folders(), " "); got != tick.folders {
					t.Errorf("tick %d: on disk %s, want %s", i+1, got, tick.folders)
				}
				if tick.check != nil {
					tick.check(t, g)
				}
				if s.CatalogCount != len(tick.rows) {
					t.Errorf("tick %d: %d rows counted", i+1, s.CatalogCount)
				}
				nothingStaged(t, g.dir)
			}
		})
	}
}

// W10 is X5 and X6.
func TestAdditiveTargets(t *testing.T) {
	rows := func(list ...map[string]any) []map[string]any { return list }
	cases := map[string]struct {
		first   []map[string]any // a run before
		prepare func(g *rig)
		rows    []map[string]any
		options []func(*Reconciler)
		want    string
		folders string
	}{
		"A1 a new skill":                    {rows: rows(row("a", "x")), want: "installed a; added a; converged", folders: "a"},
		"A2 foreign, not in the catalogue":  {prepare: func(g *rig) { g.put("theirs/SKILL.md", "x") }, want: "converged", folders: "theirs"},
		"A3 collision":                      {prepare: func(g *rig) { g.put("a/SKILL.md", "theirs") }, rows: rows(row("a", "x")), want: "collisions a; incomplete", folders: "a"},
		"A4 ours goes, a neighbour stays":   {first: rows(row("a", "x"), row("b", "x")), prepare: func(g *rig) { g.put("theirs/SKILL.md", "x") }, rows: rows(row("b", "x")), want: "installed b; removed a; converged", folders: "b theirs"},
		"A4 with an empty catalogue":        {first: rows(row("a", "x")), prepare: func(g *rig) { g.put("theirs/SKILL.md", "x") }, options: []func(*Reconciler){confirm}, want: "removed a; converged", folders: "theirs"},
		"A5 update":                         {first: rows(row("a", "x")), rows: rows(row("a", "y")), want: "installed a; added a; converged", folders: "a"},
		"A6 a marker that was deleted":      {first: rows(row("a", "x")), prepare: func(g *rig) { must(g.t, os.Remove(filepath.Join(g.dir, "a", MarkerFile))) }, rows: rows(row("a", "x")), want: "collisions a; incomplete", folders: "a"},
		"A7 a foreign folder named memclaw": {prepare: func(g *rig) { g.put("memclaw/SKILL.md", "x") }, want: "converged", folders: "memclaw"},
		"X13 a file at the slug":            {prepare: func(g *rig) { g.put("a", "x") }, rows: rows(row("a", "x")), want: "collisions a; incomplete", folders: "a"},
		"another installer's folder":        {prepare: func(g *rig) { g.put("a/SKILL.md", "x"); g.put("a/.memclaw-owned", "") }, rows: rows(row("a", "x")), want: "collisions a; incomplete", folders: "a"},
		"X5 the folder is a link": {prepare: func(g *rig) {
			put(g.t, g.base, "outside/SKILL.md", "theirs")
			must(g.t, os.Symlink(filepath.Join(g.base, "outside"), filepath.Join(g.dir, "a")))
		}, rows: rows(row("a", "x")), want: "collisions a; incomplete", folders: "a"},
		"X5 SKILL.md is a link": {first: rows(row("a", "x")), prepare: func(g *rig) {
			put(g.t, g.base, "outside.md", "theirs")
			must(g.t, os.Remove(filepath.Join(g.dir, "a", "SKILL.md")))
			must(g.t, os.Symlink(filepath.Join(g.base, "outside.md"), filepath.Join(g.dir, "a", "SKILL.md")))
		}, rows: rows(row("a", "y")), want: "kept a; incomplete", folders: "a"},
		"X6 a link to a folder with our marker": {first: rows(row("a", "x")), prepare: func(g *rig) {
			must(g.t, os.Rename(filepath.Join(g.dir, "a"), filepath.Join(g.base, "outside")))
			must(g.t, os.Symlink(filepath.Join(g.base, "outside"), filepath.Join(g.dir, "a")))
		}, rows: rows(row("a", "y")), want: "collisions a; incomplete", folders: "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			if c.first != nil {
				g.hub.rows = c.first
				g.sync(AdditiveTarget)
			}
			if c.prepare != nil {
				c.prepare(g)
			}
			outside := map[string]string{}
			for at, data := range tree(t, g.base) {
				if strings.HasPrefix(at, "outside") || strings.Contains(at, "theirs") {
					outside[at] = data
				}
			}
			g.hub.rows = c.rows
			s := g.sync(AdditiveTarget, c.options...)
			if got := lists(s); got != c.want {
				t.Errorf("%s\nwant %s\n%+v", got, c.want, *s.Kx)
			}
			if got := strings.Join(g.folders(), " "); got != c.folders {
				t.Errorf("on disk %s, want %s", got, c.folders)
			}
			now := tree(t, g.base)
			for at, data := range outside {
				if now[at] != data {
					t.Errorf("%s was changed", at)
				}
			}
		})
	}
}

// TestAProtectedFolderOfOursStays is A8: no catalogue of ours could write it, so the
// receipt is one of an older program.
func TestAProtectedFolderOfOursStays(t *testing.T) {
	g := newRig(t)
	g.hub.rows = []map[string]any{row("a", "x"), row("b", "x")}
	g.sync(AdditiveTarget)
	_, err := Install(mustOpen(t, g.dir), skillMD(t, "memclaw", "1"), InstallOptions{Owner: "kx-test", Now: now})
	must(t, err)
	state := mustOpen(t, filepath.Join(g.base, "state"))
	known, err := readReceipts(state, realPath(g.dir))
	must(t, err)
	data, err := os.ReadFile(filepath.Join(g.dir, "memclaw", MarkerFile))
	must(t, err)
	known.put(receipt{Folder: "memclaw", Slug: "memclaw", Digest: skillMD(t, "memclaw", "1").Digest(), Marker: hexSum(data)})
	must(t, known.save(state))
	if got := lists(g.sync(AdditiveTarget)); got != "installed a b; protected memclaw; converged" {
		t.Error(got)
	}
}

// W14, P1: one target that fails leaves the others alone.
func TestTargetsAreIndependent(t *testing.T) {
	g := newRig(t)
	g.hub.rows = []map[string]any{row("a", "x")}
	second, file := filepath.Join(g.base, "agent", "second"), filepath.Join(g.base, "agent", "file")
	put(t, second, "a/SKILL.md", "theirs")
	put(t, g.base, "agent/file", "")
	s, err := g.reconciler().Run(context.Background(), []SyncTarget{
		{Dir: filepath.Join(file, "below", "it"), Mode: OwnedTarget}, // X9
		{Dir: g.dir, Mode: OwnedTarget},
		{Dir: second, Mode: AdditiveTarget}, // P3
		{Dir: filepath.Join(g.base, "agent", "third"), Mode: OwnedTarget},
	}, nil)
	must(t, err)
	if got := lists(s); got != "installed a; added a; collisions a; failed ; incomplete" {
		t.Error(got)
	}
	if len(s.Targets) != 4 || len(s.Targets[1].Installed) != 1 || len(s.Targets[2].Collisions) != 1 || len(s.Targets[3].Added) != 1 {
		t.Errorf("%+v", s.Targets)
	}
	if s.Targets[3].Mode != "owned" || s.Targets[2].Mode != "additive" {
		t.Errorf("%+v", s.Targets)
	}
}

// P2: what is told of the only target is what is told of all.
func TestTheOnlyTargetMirrorsTheSummary(t *testing.T) {
	g := newRig(t)
	g.put("taken/SKILL.md", "theirs")
	g.put("memclaw/SKILL.md", "bundled")
	for _, rows := range [][]map[string]any{{row("a", "x"), row("gone", "x"), row("taken", "x"), row("memclaw", "x")}, {row("a", "y"), row("b", "x")}} {
		g.hub.rows = rows
		s := g.sync(AdditiveTarget, func(r *Reconciler) { r.ConfirmRemovals = true })
		want := []hubapi.ReconcileTarget{{
			Dir: g.dir, Mode: "additive", Installed: s.Installed, Added: s.Added, Removed: s.Removed, Collisions: s.Collisions, Protected: s.Protected,
		}}
		same(t, want, s.Targets)
		if len(s.Added) == 0 {
			t.Errorf("nothing to mirror: %+v", s)
		}
	}
}

// W14, X8, and rows of other shapes: one bad row is that row's matter.
func TestBadRowsAreThatRowsMatter(t *testing.T) {
	for name, bad := range map[string]string{
		"null": "null", "a number": "5", "no id": `{"data":{}}`, "data of text": `{"doc_id":"x","data":"y"}`,
		"content of numbers": `{"doc_id":"x","data":{"content":5,"description":"d"}}`,
		"null data":          `{"doc_id":"x","data":null}`,
		"an id of objects":   `{"doc_id":{},"data":{}}`,
		"a hollow release":   `{"doc_id":"x","data":{"content":"c","description":"d","kx":{}}}`,
		"nul":                `{"doc_id":"x","data":{"content":"c\u0000","description":"d"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			good, err := json.Marshal(row("good", "x"))
			must(t, err)
			g.hub.body = "[" + bad + "," + string(good) + "]"
			s := g.sync(OwnedTarget)
			if len(s.Added) != 1 || s.Added[0] != "good" || len(s.Skipped) != 1 || s.CatalogCount != 2 || len(s.Kx.Skipped) != 1 || s.Kx.Skipped[0].Reason == "" {
				t.Errorf("%+v %+v", s, *s.Kx)
			}
		})
	}
}

// W8, W15, H23 and R18: no answer but a catalogue changes anything, and what is there is told.
func TestHubsThatAnswerNonsense(t *testing.T) {
	whole, err := json.Marshal([]map[string]any{row("a", "x")})
	must(t, err)
	cases := map[string]struct {
		body, kind string
		status     int
	}{
		"503":                   {body: `{"detail":"skill lifecycle gate unavailable"}`, status: 503},
		"R9 a gateway":          {body: "<html>bad gateway</html>", kind: "text/html", status: 502},
		"X2 an empty object":    {body: "{}"},
		"X2 an error with 200":  {body: `{"error":"x"}`},
		"X2 204":                {status: 204},
		"X3 a page":             {body: "<html></html>", kind: "text/html"},
		"X3 a page as JSON":     {body: "<html></html>"},
		"null":                  {body: "null"},
		"documents null":        {body: `{"documents":null}`},
		"documents of text":     {body: `{"documents":"none"}`},
		"text":                  {body: `"[]"`},
		"cut":                   {body: string(whole[:len(whole)-9])},
		"cut behind the rows":   {body: string(whole[:len(whole)-1])},
		"more behind it":        {body: string(whole) + "[]"},
		"an empty body":         {body: " "},
		"not modified, unasked": {status: 304},
		"another status":        {body: "[]", status: 206},
		"members twice":         {body: `{"documents":[],"documents":[]}`},
		"too many":              {body: "[" + strings.Repeat(`{"doc_id":"a"},`, 1000) + `{"doc_id":"a"}]`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.hub.rows = []map[string]any{row("a", "x"), row("b", "x")}
			g.sync(OwnedTarget)
			before := tree(t, g.dir)
			g.hub.body, g.hub.kind, g.hub.status = c.body, c.kind, c.status
			if c.body == "" && c.status == 0 {
				g.hub.body = " "
			}
			s, err := g.reconciler(confirm).Run(context.Background(), g.targets(OwnedTarget), nil)
			if err == nil {
				t.Errorf("no error: %s", lists(s))
			}
			if s.Kx.Status != hubapi.ReconcileFailed || s.Kx.Error == "" || s.CatalogCount != 0 || len(s.Removed) != 0 {
				t.Errorf("%+v %+v", s, *s.Kx)
			}
			// What is there is told all the same: it is not the same as nothing.
			if strings.Join(s.Installed, " ") != "a b" {
				t.Errorf("installed: %v", s.Installed)
			}
			same(t, before, tree(t, g.dir))
		})
	}
}

// W8 and H23: an answer that may be about somebody else removes nothing.
func TestCataloguesThatMayBeAnothersRemoveNothing(t *testing.T) {
	other := func(r map[string]any, key string, value any) map[string]any { r[key] = value; return r }
	cases := map[string]struct {
		rows    []map[string]any
		prepare func(g *rig)
		change  func(*Reconciler)
	}{
		"empty":               {},
		"another fleet":       {rows: []map[string]any{row("a", "x"), other(row("c", "x"), "fleet_id", "f2")}, change: func(r *Reconciler) { r.Ask.FleetID = "f1" }},
		"a row without an id": {rows: []map[string]any{row("a", "x"), other(row("c", "x"), "doc_id", "")}},
		"another hub":         {rows: []map[string]any{row("a", "x")}, change: func(r *Reconciler) { r.Origin = "http://other.test" }},
		"fewer than it says": {rows: []map[string]any{row("a", "x")}, prepare: func(g *rig) {
			g.hub.generation = 9
			g.hub.body = string(mustJSON(g.t, []map[string]any{}))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.hub.rows = []map[string]any{row("a", "x"), row("b", "x"), row("d", "x")}
			change := func(*Reconciler) {}
			if c.change != nil && name != "another hub" {
				change = c.change
			}
			g.sync(OwnedTarget, change)
			g.hub.rows = c.rows
			if c.prepare != nil {
				c.prepare(g)
			}
			if c.change != nil {
				change = c.change
			}
			s := g.sync(OwnedTarget, change)
			if len(s.Removed) > 0 || len(s.Kx.Held) == 0 || s.Kx.Status == hubapi.ReconcileConverged {
				t.Errorf("%s", lists(s))
			}
			for _, slug := range []string{"a", "b", "d"} {
				if g.read(slug+"/SKILL.md") != asText(slug, "x") {
					t.Errorf("%s is gone", slug)
				}
			}
		})
	}
}

// Nodes of a tenant that opted out of review passed over what the hub gave them: the hub
// says so of each row, and of no other status.
func TestRowsOfATenantThatOptedOutWerePassedOver(t *testing.T) {
	g := newRig(t)
	one := func(slug, status string, unreviewed bool) map[string]any {
		text := asText(slug, "x")
		return row(slug, text, "status", status, "kx", map[string]any{
			"author": "acme", "version": "1", "archive": "/a", "signed": false, "unreviewed": unreviewed,
			"digest": string(pack.DigestFiles([]pack.File{{Path: skillFile, Data: []byte(text)}})),
		})
	}
	g.hub.rows = []map[string]any{one("a", "staged", true), one("b", "candidate", true), one("c", "staged", false), one("d", "quarantined", true), one("e", "rejected", true)}
	if got := lists(g.sync(OwnedTarget)); got != "installed a b; added a b; skipped c d e; converged" {
		t.Error(got)
	}
	// The mark outlives an answer that nothing changed.
	g.hub.rows, g.hub.etag = []map[string]any{one("a", "staged", true)}, `"1"`
	g.sync(OwnedTarget, func(r *Reconciler) { r.ConfirmRemovals = true })
	known := new(memory)
	state := mustOpen(t, filepath.Join(g.base, "state"))
	r := reconciliation{Reconciler: g.reconciler()}
	if found, err := recall(state, r.memoryName(), known); !found || err != nil || len(known.Wants) != 1 || !known.Wants[0].Unreviewed {
		t.Errorf("%+v %v", known.Wants, err)
	}
}

// One row of another tenant was passed over, and the rest of an answer that was made for
// somebody else was followed.
func TestRowsOfAnotherTenantWereFollowedInPart(t *testing.T) {
	of := func(r map[string]any, tenant string) map[string]any { r["tenant_id"] = tenant; return r }
	for name, rows := range map[string][]map[string]any{
		"all rows":  {of(row("c", "x"), "t2"), of(row("a", "y"), "t2")},
		"the first": {of(row("c", "x"), "t2"), row("a", "y")},
		"the last":  {row("a", "y"), of(row("c", "x"), "t2")},
	} {
		for _, asked := range []string{"", "t1"} {
			t.Run(name+" "+asked, func(t *testing.T) {
				g := newRig(t)
				ask := func(r *Reconciler) { r.Ask.TenantID, r.ConfirmRemovals = asked, true }
				g.hub.rows = []map[string]any{row("a", "x"), row("b", "x")}
				g.sync(OwnedTarget, ask)
				before := tree(t, g.base)
				g.hub.rows = rows
				s, err := g.reconciler(ask).Run(context.Background(), g.targets(OwnedTarget), nil)
				if err == nil || s.Kx.Status != hubapi.ReconcileFailed || !strings.Contains(s.Kx.Error, "t2") {
					t.Errorf("%v: %s %+v", err, lists(s), *s.Kx)
				}
				same(t, before, tree(t, g.base))
			})
		}
	}
	g := newRig(t) // nothing is remembered
	g.hub.rows = []map[string]any{row("a", "x"), of(row("c", "x"), "t2")}
	if s, err := g.reconciler().Run(context.Background(), g.targets(OwnedTarget), nil); err == nil || len(g.folders()) > 0 {
		t.Errorf("a catalogue of two tenants: %s", lists(s))
	}
}

// A proposal that a hub served was written to disk.
func TestARowThatIsNotActiveWasWritten(t *testing.T) {
	g := newRig(t)
	g.hub.rows = []map[string]any{row("a", "x", "status", "active"), row("b", "x")}
	g.sync(OwnedTarget)
	g.hub.rows = []map[string]any{row("a", "y", "status", "staged"), row("b", "x"), row("c", "x", "status", "candidate"), row("d", "x", "status", ""), row("e", "x", "status", "Active")}
	s := g.sync(OwnedTarget, confirm)
	if got := lists(s); got != "installed b; skipped a c d e; converged" || !strings.Contains(s.Kx.Skipped[0].Reason, "staged") {
		t.Errorf("%s %+v", got, s.Kx.Skipped)
	}
	if g.read("a/SKILL.md") != asText("a", "x") {
		t.Error("what was there before is gone")
	}
}

// A catalogue of which nothing could be used was said to be converged.
func TestACatalogueOfWhichNothingCouldBeUsedWasConverged(t *testing.T) {
	g := newRig(t)
	g.hub.rows = []map[string]any{row("forge/x", "x"), row("a", ""), row("b", "x"), row("b", "y"), row("c", "x", "description", 5)}
	for range 2 {
		s := g.sync(AdditiveTarget)
		if s.Kx.Status != hubapi.ReconcileUnusable || s.Kx.LastSuccessAt != nil || len(s.Kx.Skipped) < 4 || s.Kx.Error == "" {
			t.Errorf("%s %+v", lists(s), *s.Kx)
		}
	}
	g.hub.rows = nil
	if s := g.sync(AdditiveTarget); s.Kx.Status != hubapi.ReconcileConverged {
		t.Errorf("an empty catalogue: %s", lists(s))
	}
}
