package hub_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

func documented(files []pack.File) []pack.File {
	for i := range files {
		files[i].Data = []byte(strings.Replace(string(files[i].Data), "Does things", "Does the things that are asked of it", 1))
	}
	return append(files, pack.File{Path: "README.md", Data: []byte("How it is used.\n")})
}

// released is an active release of the publisher "pub" of the tenant "team".
func (f *fixture) released(files []pack.File) hubapi.Ref {
	f.Helper()
	pushed, err := f.Publish(f.Context(), publisher, hub.PublishInput{Name: "triage", Files: files})
	if err != nil {
		f.Fatal(err)
	}
	r := hubapi.Ref{Author: pushed.Author, Name: pushed.Name, Version: pushed.Version}
	if _, err := f.Approve(f.Context(), admin, r); err != nil {
		f.Fatal(err)
	}
	return r
}

func (f *fixture) refused(what string, code hubapi.Code, err error) *hubapi.Error {
	f.Helper()
	e := hubapi.AsError(err)
	if e == nil || e.Code != code || e.Message == "" {
		f.Fatalf("%s: %v, want %s", what, err, code)
	}
	return e
}

func (f *fixture) notes(p hub.Principal, actions ...string) (notes []string) {
	f.Helper()
	if err := f.store.Read(f.Context(), func(r hub.Reader) error {
		rows, err := r.Audit(p.Tenant, 0, 1000)
		for _, row := range rows {
			if slices.Contains(actions, row.Action) {
				notes = append(notes, row.Principal+" "+row.Action+" "+row.Author+"/"+row.Name+"@"+row.Version+": "+row.Note)
			}
		}
		return err
	}); err != nil {
		f.Fatal(err)
	}
	return notes
}

// Weakness 12 of the Kazma hub: a score that nothing was scanned for, and that blocks
// nothing. A level is what was judged, whatever a manifest says of itself.
func TestBadgeIsEvaluatedNotDeclared(t *testing.T) {
	for name, tt := range map[string]struct {
		file  string
		claim string
		want  []hubapi.BadgeLevel
		unmet []string
	}{
		"clean":          {"class Skill:\n    pass\n", "", []hubapi.BadgeLevel{hubapi.BadgeBasic}, nil},
		"claims premium": {"eval(x)\nexec(y)\n", "certified: true\ncertification_level: premium\nsecurity_score: 100\n", nil, []string{"security_lint_pass"}},
		"dangerous":      {"eval(x)\nexec(y)\nos.system('z')\n", "", nil, []string{"security_lint_pass", "no_critical_vulnerabilities"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHub(t)
			files := documented(kazma("triage", "1.0.0", "acme"))
			files[0].Data = []byte(tt.file)
			files[1].Data = append(files[1].Data, tt.claim...)
			r := f.released(files)
			got, err := f.BadgeRequirements(t.Context(), reviewer, r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]hubapi.BadgeLevel{}, tt.want...), got.Qualifies); diff != "" {
				t.Error(diff)
			}
			_, err = f.IssueBadge(t.Context(), reviewer, r, hubapi.BadgeBasic)
			if tt.want != nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e := f.refused("issue", hubapi.Precondition, err)
			var ids []string
			for _, d := range e.Details {
				ids = append(ids, strings.TrimPrefix(d.ID, "badge."))
			}
			if diff := cmp.Diff(tt.unmet, ids); diff != "" {
				t.Error(diff)
			}
			if _, err := f.Badge(t.Context(), reviewer, r); hubapi.AsError(err).Code != hubapi.NotFound {
				t.Errorf("a refusal left a badge: %v", err)
			}
			if notes := f.notes(admin, "badge-issue"); notes != nil {
				t.Error(notes)
			}
		})
	}
}

func TestBadgeLevelsBuildOnEachOther(t *testing.T) {
	f := newHub(t)
	r := f.released(documented(kazma("triage", "1.0.0", "acme")))
	attest := func(requirements ...string) {
		t.Helper()
		for _, id := range requirements {
			if _, err := f.Attest(t.Context(), reviewer, r, hubapi.BadgeAttest{Requirement: id, Met: true, Reason: "looked at it"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	attest("penetration_test_passed", "dependency_audit_clean", "performance_benchmark_met")
	_, err := f.IssueBadge(t.Context(), reviewer, r, hubapi.BadgePremium)
	if e := f.refused("premium without standard", hubapi.Precondition, err); len(e.Details) != 2 {
		t.Error(e.Details)
	}
	attest("code_review_approved", "test_coverage_80")
	badge, err := f.IssueBadge(t.Context(), reviewer, r, hubapi.BadgePremium)
	if err != nil || badge.Level != hubapi.BadgePremium || len(badge.Requirements) != 11 {
		t.Fatal(badge, err)
	}
	// Down, and up again: the last one counts.
	for _, level := range []hubapi.BadgeLevel{hubapi.BadgeBasic, hubapi.BadgeStandard} {
		if _, err := f.IssueBadge(t.Context(), reviewer, r, level); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Badge(t.Context(), node, r); err != nil || got.Level != level || !got.Valid {
			t.Error(got, err)
		}
	}
	// A reviewer may say otherwise later; the badge that is there stays.
	if _, err := f.Attest(t.Context(), reviewer, r, hubapi.BadgeAttest{Requirement: "test_coverage_80", Reason: "it was counted wrong"}); err != nil {
		t.Fatal(err)
	}
	_, err = f.IssueBadge(t.Context(), reviewer, r, hubapi.BadgeStandard)
	f.refused("no longer met", hubapi.Precondition, err)
	if got, err := f.Badge(t.Context(), node, r); err != nil || !got.Valid {
		t.Error(got, err)
	}
	if notes := f.notes(admin, "attest"); len(notes) != 6 || notes[5] != "rev attest acme/triage@1.0.0: test_coverage_80 not met: it was counted wrong" {
		t.Error(notes)
	}
}

func TestBadgeExpires(t *testing.T) {
	f := newHub(t)
	r := f.released(kazma("triage", "1.0.0", "acme"))
	issued, err := f.IssueBadge(t.Context(), reviewer, r, hubapi.BadgeBasic)
	if err != nil || issued.ExpiresAt.Sub(issued.IssuedAt) != 365*24*time.Hour {
		t.Fatal(issued, err)
	}
	for after, want := range map[time.Duration]string{0: "", hub.BadgeValidity: "", hub.BadgeValidity + time.Second: "expired"} {
		f.now = issued.IssuedAt.Add(after)
		got, err := f.Badge(t.Context(), node, r)
		if err != nil || got.Reason != want || got.Valid != (want == "") {
			t.Errorf("after %v: %+v %v", after, got, err)
		}
		certified := true
		items, total, err := f.KazmaList(t.Context(), node, hub.KazmaQuery{Certified: &certified, Limit: 10})
		if err != nil || (len(items) == 1) != got.Valid || total != len(items) {
			t.Errorf("after %v: listed %v %v", after, items, err)
		}
	}
}

// Weakness 8 of the Kazma hub: issuing a badge again cleared its revocation.
func TestBadgeRevocationSticks(t *testing.T) {
	f := newHub(t)
	r := f.released(skillMD("triage", "Sort it."))
	_, err := f.RevokeBadge(t.Context(), reviewer, r, "x")
	f.refused("none", hubapi.NotFound, err)
	before, err := f.IssueBadge(t.Context(), reviewer, r, hubapi.BadgeBasic)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.LiftRevocation(t.Context(), admin, r, "x")
	f.refused("not revoked", hubapi.Conflict, err)
	for _, reason := range []string{"", " \n", strings.Repeat("x", 2001), "a\x00b", "\xff"} {
		_, err = f.RevokeBadge(t.Context(), reviewer, r, reason)
		f.refused(fmt.Sprintf("reason %.10q", reason), hubapi.Invalid, err)
	}
	if _, err := f.RevokeBadge(t.Context(), reviewer, r, "a hole was found"); err != nil {
		t.Fatal(err)
	}
	_, err = f.RevokeBadge(t.Context(), reviewer, r, "again")
	f.refused("again", hubapi.Conflict, err)
	for _, level := range hubapi.BadgeLevels() {
		_, err = f.IssueBadge(t.Context(), admin, r, level)
		f.refused("issued again", hubapi.Conflict, err)
	}
	// The same bytes under another version are not better.
	second, err := f.Publish(t.Context(), publisher, hub.PublishInput{Name: "triage", Version: "other", Files: skillMD("triage", "Sort it.")})
	if err != nil {
		t.Fatal(err)
	}
	other := hubapi.Ref{Author: "acme", Name: "triage", Version: "other"}
	if !second.Unchanged {
		if _, err := f.Approve(t.Context(), admin, other); err != nil {
			t.Fatal(err)
		}
		_, err = f.IssueBadge(t.Context(), reviewer, other, hubapi.BadgeBasic)
		f.refused("the same bytes", hubapi.Conflict, err)
	}
	_, err = f.LiftRevocation(t.Context(), reviewer, r, "x")
	f.refused("a reviewer lifts", hubapi.Forbidden, err)
	after, err := f.LiftRevocation(t.Context(), admin, r, "it was another skill")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"rev badge-issue acme/triage@1: basic",
		"rev badge-revoke acme/triage@1: a hole was found",
		"root badge-lift acme/triage@1: it was another skill",
	}, f.notes(admin, "badge-issue", "badge-revoke", "badge-lift")); diff != "" {
		t.Error(diff)
	}
}

func TestBadgesAreForReviewers(t *testing.T) {
	f := newHub(t)
	r := f.released(kazma("triage", "1.0.0", "acme"))
	own := hub.Principal{ID: "own", Tenant: "team", Role: hub.Reviewer, Authors: []string{"acme"}}
	calls := map[string]func(hub.Principal) error{
		"issue": func(p hub.Principal) error {
			_, err := f.IssueBadge(t.Context(), p, r, hubapi.BadgeBasic)
			return err
		},
		"attest": func(p hub.Principal) error {
			_, err := f.Attest(t.Context(), p, r, hubapi.BadgeAttest{Requirement: "test_coverage_80", Met: true, Reason: "x"})
			return err
		},
		"revoke": func(p hub.Principal) error {
			_, err := f.RevokeBadge(t.Context(), p, r, "x")
			return err
		},
		"lift": func(p hub.Principal) error {
			_, err := f.LiftRevocation(t.Context(), p, r, "x")
			return err
		},
	}
	for name, call := range calls {
		for _, p := range []hub.Principal{publisher, agent, node, stranger} {
			f.refused(name+" as "+p.ID, hubapi.Forbidden, call(p))
		}
		f.refused(name+" from elsewhere", hubapi.NotFound, call(elsewhere))
		f.refused(name+" as nobody", hubapi.Unauthorized, call(hub.Principal{}))
	}
	for _, name := range []string{"issue", "attest"} {
		f.refused(name+" of one's own", hubapi.Forbidden, calls[name](own))
	}
	waiting, err := f.Publish(t.Context(), publisher, hub.PublishInput{Name: "triage", Files: kazma("triage", "2.0.0", "acme")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.IssueBadge(t.Context(), reviewer, hubapi.Ref{Author: "acme", Name: "triage", Version: waiting.Version}, hubapi.BadgeBasic)
	f.refused("staged", hubapi.Precondition, err)
	_, err = f.IssueBadge(t.Context(), reviewer, r, "gold")
	f.refused("level", hubapi.Invalid, err)
}

func TestBadgesAndStats(t *testing.T) {
	f := newHub(t)
	f.released(kazma("triage", "1.0.0", "acme"))
	f.released(kazma("other", "1.0.0", "acme"))
	f.released(kazma("third", "1.0.0", "acme"))
	issue := func(name string, level hubapi.BadgeLevel) {
		t.Helper()
		if _, err := f.IssueBadge(t.Context(), reviewer, hubapi.Ref{Author: "acme", Name: name}, level); err != nil {
			t.Fatal(err)
		}
	}
	issue("triage", hubapi.BadgeBasic)
	f.now = f.now.Add(31 * 24 * time.Hour)
	issue("other", hubapi.BadgeBasic)
	issue("third", hubapi.BadgeBasic)
	if _, err := f.RevokeBadge(t.Context(), reviewer, hubapi.Ref{Name: "third"}, "x"); err != nil {
		t.Fatal(err)
	}
	stats, err := f.BadgeStats(t.Context(), node)
	want := hubapi.BadgeStats{
		Total: 2, Recent: 1, Revoked: 1,
		ByLevel: map[hubapi.BadgeLevel]int{hubapi.BadgeBasic: 2, hubapi.BadgeStandard: 0, hubapi.BadgePremium: 0},
	}
	if diff := cmp.Diff(want, stats); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if none, err := f.BadgeStats(t.Context(), elsewhere); err != nil || none.Total+none.Revoked != 0 {
		t.Error("another tenant's badges count", none, err)
	}
	var got []string
	after := ""
	for {
		page, err := f.Badges(t.Context(), node, "", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Items {
			got, after = append(got, fmt.Sprint(b.Name, " ", b.Valid)), b.Name
		}
		if !page.HasMore {
			break
		}
	}
	if diff := cmp.Diff([]string{"other true", "third false", "triage true"}, got); diff != "" {
		t.Error(diff)
	}
}

// A badge that a damaged or meddled-with database moved to other content is none.
func TestBadgeIsBoundToTheDigest(t *testing.T) {
	f := newHub(t)
	r := f.released(kazma("triage", "1.0.0", "acme"))
	if _, err := f.IssueBadge(t.Context(), reviewer, r, hubapi.BadgeBasic); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Write(t.Context(), func(w hub.Writer) error {
		skill, err := w.Skill("team", "triage")
		if err != nil {
			return err
		}
		row, err := w.Release(skill.ID, "1.0.0")
		if err != nil {
			return err
		}
		badge, err := w.Badge(row.Seq)
		badge.Digest = "sp1:other"
		return errors.Join(err, w.PutBadge(badge))
	}); err != nil {
		t.Fatal(err)
	}
	got, err := f.Badge(t.Context(), node, r)
	if err != nil || got.Valid || got.Reason == "" {
		t.Error(got, err)
	}
	if detail, err := f.KazmaSkill(t.Context(), node, r); err != nil || detail.Certified {
		t.Error(detail, err)
	}
	if stats, err := f.KazmaStats(t.Context(), node); err != nil || stats.CertifiedCount != 0 {
		t.Error(stats, err)
	}
}

func kazmaJSON(author, name, more string) []byte {
	return fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"Does things","author":%q,"license":"MIT"%s}`, name, author, more)
}

func TestSubmissionsByPrincipal(t *testing.T) {
	f := newHub(t)
	secret := hub.Principal{ID: "secret", Tenant: "team", Role: hub.Publisher}
	submit := func(p hub.Principal, author string) (hubapi.Submission, error) {
		return f.Submit(t.Context(), p, hub.SubmitInput{Manifest: kazmaJSON(author, "triage", "")})
	}
	for name, tt := range map[string]struct {
		by     hub.Principal
		author string
		code   hubapi.Code
	}{
		"own":           {publisher, "acme", ""},
		"another's":     {stranger, "acme", hubapi.Forbidden},
		"shared secret": {secret, "acme", ""},
		"node":          {node, "acme", hubapi.Forbidden},
		"nobody":        {hub.Principal{}, "acme", hubapi.Unauthorized},
	} {
		_, err := submit(tt.by, tt.author)
		if tt.code == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tt.code != "" {
			f.refused(name, tt.code, err)
		}
	}
	sub, err := submit(publisher, "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []hub.Principal{publisher, reviewer, admin} {
		if got, err := f.Submission(t.Context(), p, sub.ID); err != nil || got.Status != "pending" {
			t.Error(p.ID, got, err)
		}
	}
	for _, p := range []hub.Principal{stranger, node, elsewhere, secret} {
		_, err := f.Submission(t.Context(), p, sub.ID)
		f.refused("seen by "+p.ID, hubapi.NotFound, err)
	}
	// The status of one's own submission is told before its release may be seen.
	if _, err := f.push(publisher, hub.PublishInput{Files: kazma("triage", "1.0.0", "acme")}); err != nil {
		t.Fatal(err)
	}
	got, err := f.Submission(t.Context(), publisher, sub.ID)
	if err != nil || got.Status != "staged" || got.Release != nil {
		t.Error(got, err)
	}
	_, err = f.Submit(t.Context(), hub.Principal{ID: "s", Tenant: "team", Role: hub.Publisher}, hub.SubmitInput{Manifest: kazmaJSON("evil", "triage", "")})
	f.refused("the name of another", hubapi.Conflict, err)
}

func TestCategories(t *testing.T) {
	f := newHub(t)
	for i, category := range []string{"mail", "'  news '", "[a]", "null", "'" + strings.Repeat("x", 101) + "'", `"a\u0007b"`} {
		files := kazma(fmt.Sprint("s", i), "1.0.0", "acme")
		files[1].Data = append(files[1].Data, "category: "+category+"\n"...)
		f.released(files)
	}
	md := skillMD("notes", "Take notes.")
	md[0].Data = []byte(strings.Replace(string(md[0].Data), "---\n\n", "metadata:\n  category: mail\n---\n\n", 1))
	if _, err := f.Publish(t.Context(), publisher, hub.PublishInput{Name: "notes", Files: md}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Approve(t.Context(), admin, hubapi.Ref{Name: "notes"}); err != nil {
		t.Fatal(err)
	}
	stats, err := f.KazmaStats(t.Context(), node)
	if diff := cmp.Diff(map[string]int{"mail": 2, "news": 1, hub.Uncategorized: 4}, stats.ByCategory); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
