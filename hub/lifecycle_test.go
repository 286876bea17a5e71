package hub_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

var update = flag.Bool("update", false, "rewrite docs/lifecycle.md")

// lifecycleDoc is the table for people.
func lifecycleDoc() string {
	var b strings.Builder
	b.WriteString(`# The life of a release

This page is generated from the table that the hub itself uses (hub.Lifecycle). A move that is not in it cannot
happen; every move changes the status only if it is still the one in the second column, in one transaction with its
entry in the audit trail.

"Own" are releases of an author that the key publishes as, or that the key itself pushed. "The hub" moves by itself.

| action | from | to | who | if |
|---|---|---|---|---|
`)
	for _, t := range hub.Lifecycle() {
		var who []string
		for _, r := range t.Any {
			who = append(who, string(r))
		}
		for _, r := range t.Own {
			who = append(who, string(r)+" (own)")
		}
		if t.Hub {
			who = append(who, "the hub")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", t.Action, cmp.Or(string(t.From), "(new)"), t.To, strings.Join(who, ", "), t.If)
	}
	return b.String()
}

func TestLifecycleDocIsCurrent(t *testing.T) {
	file := filepath.Join("..", "docs", "lifecycle.md")
	want := lifecycleDoc()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("docs/lifecycle.md differs from the table; run: go test ./hub -run LifecycleDoc -update (%v)\n%s", err, gocmp.Diff(want, string(got)))
	}
}

var statuses = []hubapi.Status{
	hubapi.Candidate, hubapi.Staged, hubapi.Active, hubapi.Rejected, hubapi.Quarantined, hubapi.Deprecated, hubapi.Stale,
}

// W6: from every status there is a way to active, and an active release can end.
func TestW6NoDeadEnds(t *testing.T) {
	table := hub.Lifecycle()
	leads := map[hubapi.Status]bool{hubapi.Active: true}
	for range statuses {
		for _, step := range table {
			if leads[step.To] && step.From != "" {
				leads[step.From] = true
			}
		}
	}
	for _, s := range statuses {
		if !leads[s] {
			t.Errorf("nothing leads from %s to active", s)
		}
		if !slices.ContainsFunc(table, func(step hub.Transition) bool { return step.From == s && step.To != s && len(step.Any) > 0 }) {
			t.Errorf("no reviewer can move what is %s", s)
		}
	}
}

func TestTableIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, step := range hub.Lifecycle() {
		if step.From != "" && !slices.Contains(statuses, step.From) || !slices.Contains(statuses, step.To) {
			t.Errorf("%+v has an unknown status", step)
		}
		key := fmt.Sprint(step.Action, step.From)
		if step.From != "" && seen[key] {
			t.Errorf("%s from %s goes to two statuses", step.Action, step.From)
		}
		seen[key] = true
		if len(step.Any)+len(step.Own) == 0 && !step.Hub {
			t.Errorf("nobody makes %+v", step)
		}
		if step.To == hubapi.Active && step.From != hubapi.Staged && !step.Hub {
			t.Errorf("%s makes active what did not wait for review", step.Action)
		}
		for _, role := range []hub.Role{hub.Agent, hub.Node} {
			if slices.Contains(step.Any, role) || slices.Contains(step.Own, role) && (step.From == hubapi.Active || step.To == hubapi.Active) {
				t.Errorf("an %s may %s what is %s", role, step.Action, step.From)
			}
		}
	}
}

// world is what a random history should have led to.
type world struct {
	status map[string]hubapi.Status
	active string
}

// Random histories: whatever is asked for in whatever order, one release at most is
// active, what search shows is that one, a refused move changes nothing, every move
// that was made is a row of the table and has its audit record, nothing but an approval by
// a reviewer makes anything active, and a version is given to nodes exactly while it is
// active or was replaced.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newHub(t)
		defer func() { _ = f.store.Close() }()
		people := []hub.Principal{admin, reviewer, publisher, agent, stranger, node, elsewhere}
		versions := 0
		snapshot := func() world {
			w := world{status: map[string]hubapi.Status{}}
			err := f.store.Read(t.Context(), func(r hub.Reader) error {
				skill, err := r.Skill("team", "triage")
				if errors.Is(err, hub.ErrNoRow) {
					return nil
				}
				if err != nil {
					return err
				}
				for _, s := range statuses {
					rows, err := r.Releases(skill.ID, s, 1000)
					if err != nil {
						return err
					}
					for _, row := range rows {
						w.status[row.Version] = s
						if s == hubapi.Active {
							if w.active != "" {
								rt.Fatalf("%s and %s are active", w.active, row.Version)
							}
							w.active = row.Version
						}
					}
				}
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
			return w
		}
		steps := rapid.IntRange(1, 14).Draw(rt, "steps")
		for range steps {
			p := rapid.SampledFrom(people).Draw(rt, "who")
			before, trail := snapshot(), len(f.trail("team"))
			f.now = f.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(rt, "days")) * 24 * time.Hour)
			action := rapid.SampledFrom(append(hub.Actions(), hub.Publish, hub.Publish, hub.Publish)).Draw(rt, "action")
			var err error
			version := ""
			if action == hub.Publish {
				versions++
				version = fmt.Sprint(versions)
				text := rapid.SampledFrom([]string{"a", "b", "c", version}).Draw(rt, "text")
				_, err = f.push(p, hub.PublishInput{Files: kortecx("triage", version, text), Approve: rapid.Bool().Draw(rt, "approve") && p.Role == hub.Admin})
			} else {
				version = fmt.Sprint(rapid.IntRange(1, max(1, versions)).Draw(rt, "version"))
				in := hubapi.Review{}
				switch action {
				case hub.Reject, hub.Quarantine:
					in.Reason = "because"
				case hub.Edit:
					text := fmt.Sprintf("# triage\n\nedited %d\n", versions)
					in.Content = &text
				}
				_, err = f.Act(t.Context(), p, hubapi.Ref{Name: "triage", Version: version}, action, in)
			}
			after := snapshot()
			for v := range after.status {
				n, err := strconv.Atoi(v)
				if err != nil {
					rt.Fatal(err)
				}
				versions = max(versions, n)
			}
			if err != nil {
				if gocmp.Diff(before.status, after.status) != "" || len(f.trail("team")) != trail {
					rt.Fatalf("the refusal of %s by %s changed something: %v", action, p.ID, err)
				}
				continue
			}
			if p.Tenant != "team" {
				if gocmp.Diff(before.status, after.status) != "" {
					rt.Fatalf("another tenant's %s moved something", action)
				}
				continue
			}
			moves := 0
			for v, now := range after.status {
				if before.status[v] != now {
					moves++
				}
			}
			if traces := len(f.trail("team")) - trail; traces < moves {
				rt.Fatalf("%s: %d moves left %d traces", action, moves, traces)
			}
			if after.active != before.active && after.active != "" && !(p.Role == hub.Reviewer || p.Role == hub.Admin) {
				rt.Fatalf("%s by %s made %s active", action, p.ID, after.active)
			}
			if before.active != "" && after.active != before.active && p.Role == hub.Agent {
				rt.Fatalf("an agent's %s hid the active release", action)
			}
			for v, now := range after.status {
				was, there := before.status[v]
				if was == now || !there {
					continue
				}
				if !slices.ContainsFunc(hub.Lifecycle(), func(s hub.Transition) bool { return s.From == was && s.To == now }) {
					rt.Fatalf("%s went from %s to %s", v, was, now)
				}
			}
			replaced := f.replacedLast()
			for v, now := range after.status {
				want := now == hubapi.Active || now == hubapi.Deprecated && replaced[v]
				if _, err := f.Release(t.Context(), node, hubapi.Ref{Name: "triage", Version: v}); (err == nil) != want {
					rt.Fatalf("%s by %s: a node that asks for version %s, which is %s, gets %v", action, p.ID, v, now, err)
				}
			}
			found, err := f.Search(t.Context(), node, hub.SearchQuery{})
			if err != nil {
				rt.Fatal(err)
			}
			seen := ""
			for _, item := range found.Items {
				seen += item.Version
			}
			if seen != after.active {
				rt.Fatalf("search shows %q, active is %q", seen, after.active)
			}
		}
	})
}
