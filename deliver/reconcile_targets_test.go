package deliver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTargetLists(t *testing.T) {
	cases := map[string]struct {
		text    string
		want    string
		remarks int
	}{
		"T1 unset":                     {},
		"T1 blank":                     {text: " \n"},
		"T2 two":                       {text: `[{"dir":"/a/b","mode":"owned"},{"dir":"~/c","mode":"additive"}]`, want: "/a/b owned false, ~/c additive false"},
		"T3 register absent":           {text: `[{"dir":"/a/b","mode":"additive"}]`, want: "/a/b additive false"},
		"T4 register true, and yes":    {text: `[{"dir":"/a/b","mode":"additive","register":true},{"dir":"/a/c","mode":"additive","register":"yes"},{"dir":"/a/d","mode":"additive","register":1}]`, want: "/a/b additive true, /a/c additive false, /a/d additive false"},
		"T5 no JSON":                   {text: `[{"dir":`, remarks: 1},
		"T6 an object":                 {text: `{"dir":"/a/b","mode":"owned"}`, remarks: 1},
		"T7 missing dir, weird mode":   {text: `[{"mode":"owned"},{"dir":" ","mode":"owned"},{"dir":"/a/b","mode":"weird"},{"dir":5,"mode":"owned"},7,null,{"dir":"/a/b","mode":"owned"}]`, want: "/a/b owned false", remarks: 6},
		"members that nobody knows":    {text: `[{"dir":"/a/b","mode":"owned","later":{}}]`, want: "/a/b owned false"},
		"commas":                       {text: " /a/b:owned, ~/c:additive:register ", want: "/a/b owned false, ~/c additive true"},
		"commas, two that are none":    {text: "/a/b,:owned,/a/c:owned", want: "/a/c owned false", remarks: 2},
		"more with commas":             {text: strings.Repeat(",", 300), remarks: 257},
		"too long":                     {text: strings.Repeat(" ", maxTargetList) + "[]x", remarks: 1},
		"more targets than anyone has": {text: "[" + strings.Repeat(`{"mode":"owned"},`, 300) + `{}]`, remarks: 257},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			targets, remarks := ParseTargetList(c.text)
			var got []string
			for _, target := range targets {
				got = append(got, fmt.Sprintf("%s %s %t", target.Dir, target.Mode, target.Register))
			}
			if s := strings.Join(got, ", "); s != c.want || len(remarks) != c.remarks {
				t.Errorf("%s, with %d remarks: %q", s, len(remarks), remarks)
			}
		})
	}
}

func TestTargetsOfACommandLine(t *testing.T) {
	for text, want := range map[string]string{
		"a:owned": "a owned false", "a:additive:register": "a additive true", `C:\x:owned`: `C:\x owned false`, "a:b:additive": "a:b additive false",
		"a": "", "a:": "", ":owned": "", "a:Owned": "", "a:register": "", "a:owned:registered": "", " :owned": "",
		"a,b:owned": "", "a:owned,b:additive": "", "a:owned,": "",
	} {
		got := ""
		target, err := ParseTarget(text)
		if err == nil {
			got = fmt.Sprintf("%s %s %t", target.Dir, target.Mode, target.Register)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// W17, X12: what it would be a mistake to own, or to fill twice.
func TestTargetsThatAreRefused(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home, working, kx := filepath.Join(base, "home"), filepath.Join(base, "work", "project"), filepath.Join(base, "home", ".kx")
	for _, dir := range []string{home, working, kx, filepath.Join(base, "real")} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	must(t, os.Symlink(filepath.Join(base, "real"), filepath.Join(base, "link")))
	must(t, os.Symlink(home, filepath.Join(base, "home-link")))
	places := Places{Home: home, Working: working, KxHome: kx}
	cases := map[string]struct {
		targets []SyncTarget
		want    string // the directories that are taken, below base
		refused int
		again   int // of refused
	}{
		"T8 a target twice":                 {targets: []SyncTarget{{Dir: "s", Mode: OwnedTarget}, {Dir: "./s/", Mode: AdditiveTarget}, {Dir: filepath.Join(base, "work/project/s"), Mode: OwnedTarget}}, want: "work/project/s", refused: 2, again: 2},
		"T8 a target twice, through a link": {targets: []SyncTarget{{Dir: filepath.Join(base, "real"), Mode: AdditiveTarget}, {Dir: filepath.Join(base, "link"), Mode: AdditiveTarget}, {Dir: filepath.Join(base, "link", "..", "real"), Mode: AdditiveTarget, Register: true}}, want: "real", refused: 2, again: 2},
		"T9 too near the root":              {targets: []SyncTarget{{Dir: "/", Mode: OwnedTarget}, {Dir: "/a", Mode: AdditiveTarget}}, refused: 2},
		"T9 two segments":                   {targets: []SyncTarget{{Dir: filepath.Join(base, "a", "b"), Mode: OwnedTarget}}, want: "a/b"},
		"home":                              {targets: []SyncTarget{{Dir: "~", Mode: OwnedTarget}, {Dir: home, Mode: AdditiveTarget}, {Dir: filepath.Join(base, "home-link"), Mode: AdditiveTarget}}, refused: 3},
		"what holds home":                   {targets: []SyncTarget{{Dir: base, Mode: OwnedTarget}}, refused: 1},
		"below home":                        {targets: []SyncTarget{{Dir: "~/.claude/skills", Mode: OwnedTarget}}, want: "home/.claude/skills"},
		"another's home":                    {targets: []SyncTarget{{Dir: "~root/x", Mode: OwnedTarget}}, refused: 1},
		"the working directory":             {targets: []SyncTarget{{Dir: ".", Mode: OwnedTarget}, {Dir: "..", Mode: OwnedTarget}}, refused: 2},
		"the working directory, shared":     {targets: []SyncTarget{{Dir: ".", Mode: AdditiveTarget}}, want: "work/project"},
		"kx's own":                          {targets: []SyncTarget{{Dir: kx, Mode: AdditiveTarget}, {Dir: filepath.Join(kx, "hub"), Mode: AdditiveTarget}}, refused: 2},
		"X12 one in another":                {targets: []SyncTarget{{Dir: "s", Mode: OwnedTarget}, {Dir: "s/t", Mode: AdditiveTarget}}, want: "work/project/s", refused: 1},
		"X12 one around another":            {targets: []SyncTarget{{Dir: "s/t", Mode: AdditiveTarget}, {Dir: "s", Mode: OwnedTarget}}, want: "work/project/s/t", refused: 1},
		"X12 through a link":                {targets: []SyncTarget{{Dir: filepath.Join(base, "real"), Mode: OwnedTarget}, {Dir: filepath.Join(base, "link", "x"), Mode: AdditiveTarget}}, want: "real", refused: 1},
		"names that only begin the same":    {targets: []SyncTarget{{Dir: "s", Mode: OwnedTarget}, {Dir: "s2", Mode: OwnedTarget}}, want: "work/project/s work/project/s2"},
		"a link, owned":                     {targets: []SyncTarget{{Dir: filepath.Join(base, "link"), Mode: OwnedTarget}}, refused: 1},
		"a link, shared":                    {targets: []SyncTarget{{Dir: filepath.Join(base, "link"), Mode: AdditiveTarget}}, want: "link"},
		"a name that no folder could have":  {targets: []SyncTarget{{Dir: "a\x00b", Mode: AdditiveTarget}}, refused: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			taken, refused := places.Resolve(c.targets)
			var got []string
			for _, target := range taken {
				rel, err := filepath.Rel(base, target.Dir)
				must(t, err)
				got = append(got, filepath.ToSlash(rel))
			}
			again := 0
			for _, r := range refused {
				if r.Again {
					again++
				}
				if (r.Again || strings.Contains(r.Why, "the target ")) && r.Hint == "" {
					t.Errorf("%+v does not say what to write", r)
				}
			}
			if s := strings.Join(got, " "); s != c.want || len(refused) != c.refused || again != c.again {
				t.Errorf("taken %s, refused %+v", s, refused)
			}
		})
	}
}

func FuzzTargetList(f *testing.F) {
	f.Add(`[{"dir":"/a/b","mode":"owned","register":true}]`)
	f.Fuzz(func(t *testing.T, text string) {
		targets, _ := ParseTargetList(text)
		for _, target := range targets {
			if target.Mode != OwnedTarget && target.Mode != AdditiveTarget || strings.TrimSpace(target.Dir) == "" {
				t.Fatalf("%q gives %+v", text, target)
			}
		}
	})
}

// elsewhere are the options for another hub.
func elsewhere(r *Reconciler) { r.Origin = "http://other.test" }

// A target that was moved to another hub and was never clean there kept the first hub's
// name alone: back at the first, all that the other had written went at once, unasked.
func TestAwayAndBackRemovesNothingUnasked(t *testing.T) {
	g := newRig(t)
	first := []map[string]any{row("a", "x"), row("b", "x")}
	second := []map[string]any{row("c", "x"), row("d", "x"), row("e", "x"), row("f", "x"), row("g", "x")}
	g.hub.rows, g.hub.generation = first, 5
	g.sync(AdditiveTarget)
	g.hub.rows, g.hub.generation = second, 3
	if got := lists(g.sync(AdditiveTarget, elsewhere)); got != "installed c d e f g; added c d e f g; held a b; incomplete" {
		t.Errorf("away: %s", got)
	}
	g.hub.rows, g.hub.generation = first, 5
	for range 2 {
		s := g.sync(AdditiveTarget)
		if got := lists(s); got != "installed a b; held c d e f g; incomplete" || !strings.Contains(s.Kx.Held[0].Reason, "http://other.test") {
			t.Errorf("back: %s %+v", got, s.Kx.Held)
		}
	}
	if got := lists(g.sync(AdditiveTarget, confirm)); got != "installed a b; removed c d e f g; converged" {
		t.Errorf("confirmed: %s", got)
	}
	// From here on it is the first hub's again.
	g.hub.rows, g.hub.generation = first[:1], 6
	if got := lists(g.sync(AdditiveTarget)); got != "installed a; removed b; converged" {
		t.Errorf("after that: %s", got)
	}
}

// A move that was confirmed was to be confirmed for ever, while something edited was kept.
func TestAConfirmedMoveIsMade(t *testing.T) {
	g := newRig(t)
	g.hub.rows, g.hub.generation = []map[string]any{row("a", "x"), row("b", "x")}, 5
	g.sync(AdditiveTarget)
	g.put("a/SKILL.md", "edited")
	g.hub.rows, g.hub.generation = []map[string]any{row("c", "x"), row("d", "x")}, 3
	if got := lists(g.sync(AdditiveTarget, elsewhere, confirm)); got != "installed c d; added c d; removed b; kept a; incomplete" {
		t.Errorf("confirmed: %s", got)
	}
	g.hub.rows, g.hub.generation = g.hub.rows[:1], 4
	if got := lists(g.sync(AdditiveTarget, elsewhere)); got != "installed c; removed d; kept a; incomplete" {
		t.Errorf("after that: %s", got)
	}
}

// A target of which nothing was left was held against the hub that filled it once.
func TestAnEmptiedTargetIsFreeForAnotherHub(t *testing.T) {
	g := newRig(t)
	g.hub.rows, g.hub.generation = []map[string]any{row("a", "x")}, 5
	g.sync(AdditiveTarget)
	g.hub.rows, g.hub.generation = nil, 6
	g.sync(AdditiveTarget, confirm)
	g.put("c/SKILL.md", "mine")
	g.hub.rows, g.hub.generation = []map[string]any{row("b", "x"), row("c", "x"), row("d", "x")}, 3
	if got := lists(g.sync(AdditiveTarget, elsewhere)); got != "installed b d; added b d; collisions c; incomplete" {
		t.Errorf("%s", got)
	}
	g.hub.rows, g.hub.generation = g.hub.rows[:2], 4
	if got := lists(g.sync(AdditiveTarget, elsewhere)); got != "installed b; removed d; collisions c; incomplete" {
		t.Errorf("%s", got)
	}
}
