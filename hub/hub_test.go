package hub_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// The callers of the tests. The tenant "team" does not let authors approve their
// own releases.
var (
	local     = hub.LocalAdmin()
	admin     = hub.Principal{ID: "root", Tenant: "team", Role: hub.Admin, Authors: []string{"root"}}
	reviewer  = hub.Principal{ID: "rev", Tenant: "team", Role: hub.Reviewer, Authors: []string{"rev"}}
	publisher = hub.Principal{ID: "pub", Tenant: "team", Role: hub.Publisher, Authors: []string{"acme", "acme-labs"}}
	stranger  = hub.Principal{ID: "eve", Tenant: "team", Role: hub.Publisher, Authors: []string{"evil"}}
	agent     = hub.Principal{ID: "bot", Tenant: "team", Role: hub.Agent, Authors: []string{"acme"}}
	node      = hub.Principal{ID: "n1", Tenant: "team", Role: hub.Node}
	elsewhere = hub.Principal{ID: "root", Tenant: "other", Role: hub.Admin, Authors: []string{"acme"}}
)

type fixture struct {
	*testing.T
	*hub.Hub
	store *sqlstore.Store
	dir   string
	now   time.Time
	tools tools
}

type tools map[string]string

func (t tools) Registered(id, version string) bool { return t[id] == version }

func newHub(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, dir: storetest.TempDir(t), now: time.Date(2026, 5, 4, 3, 2, 1, 987654321, time.UTC), tools: tools{}}
	store, err := sqlstore.Open(t.Context(), f.dir, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	err = store.Write(t.Context(), func(w hub.Writer) error {
		return errors.Join(w.PutTenant(hub.TenantRow{ID: "team"}), w.PutTenant(hub.TenantRow{ID: "other"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	f.store = store
	f.Hub = hub.New(store, hub.Config{Now: func() time.Time { return f.now }, Signatures: fakeSignatures{}, Tools: f.tools})
	return f
}

// fakeSignatures reads files of the form "subject version digest [key]", a line each.
type fakeSignatures struct{}

func (fakeSignatures) Signed(file []byte) ([]hub.Signed, error) {
	var out []hub.Signed
	for line := range strings.Lines(string(file)) {
		var s hub.Signed
		n, err := fmt.Sscan(line, &s.Subject, &s.Version, &s.Digest, &s.KeyID)
		if n < 3 {
			return nil, err
		}
		s.Subject, s.Version = strings.Trim(s.Subject, "-"), strings.Trim(s.Version, "-")
		out = append(out, s)
	}
	return out, nil
}

func kortecx(name, version, text string) []pack.File {
	return []pack.File{
		{Path: "instructions.md", Data: []byte("# " + name + "\n\n" + text + "\n")},
		{Path: "skill.json", Data: fmt.Appendf(nil, `{"schema":"kortecx.skill/v1","name":%q,"version":%q,"description":"Sort mail for %s","tags":["post"],"tools":{"gmail/read":"1"}}`, name, version, name)},
	}
}

func skillMD(name, text string, metadata ...string) []pack.File {
	head := "---\nname: " + name + "\ndescription: Does " + name + " well\n"
	if len(metadata) > 0 {
		head += "metadata:\n  version: \"" + metadata[0] + "\"\n"
	}
	return []pack.File{{Path: "SKILL.md", Data: []byte(head + "---\n\n# " + name + "\n\n" + text + "\n")}}
}

func kazma(name, version, author string) []pack.File {
	return []pack.File{
		{Path: "main.py", Data: []byte("class Skill:\n    pass\n")},
		{Path: "skill_manifest.yaml", Data: fmt.Appendf(nil, "name: %s\nversion: %s\ndescription: Does things\nauthor: %s\nlicense: MIT\nentry_point: main:Skill\ncapabilities: [x]\n", name, version, author)},
	}
}

func (f *fixture) push(p hub.Principal, in hub.PublishInput) (hubapi.PushResult, error) {
	f.Helper()
	if in.Name == "" {
		in.Name = nameOf(in.Files)
	}
	return f.Publish(f.Context(), p, in)
}

// nameOf is what the folder of these files would be called.
func nameOf(files []pack.File) string {
	for _, name := range []string{"triage", "other", "third"} {
		for _, file := range files {
			if strings.Contains(string(file.Data), "name: "+name) || strings.Contains(string(file.Data), `"name":"`+name+`"`) {
				return name
			}
		}
	}
	return "triage"
}

func (f *fixture) pushed(p hub.Principal, in hub.PublishInput) hubapi.PushResult {
	f.Helper()
	out, err := f.push(p, in)
	if err != nil {
		f.Fatalf("push: %v", err)
	}
	return out
}

func (f *fixture) approved(p hub.Principal, ref string) hubapi.InboxMove {
	f.Helper()
	move, err := f.Approve(f.Context(), p, parse(f, ref))
	if err != nil {
		f.Fatalf("approve %s: %v", ref, err)
	}
	return move
}

func parse(t testing.TB, text string) hubapi.Ref {
	t.Helper()
	ref, err := hubapi.ParseRef(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// refused checks the class of an error, and that it names each of these texts.
func refused(t testing.TB, what string, err error, code hubapi.Code, texts ...string) *hubapi.Error {
	t.Helper()
	e, ok := errors.AsType[*hubapi.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("%s: %v, want %s", what, err, code)
	}
	all := e.Message + " / " + e.Hint + " / " + fmt.Sprint(e.Details)
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%s: %q does not name %q", what, all, text)
		}
	}
	return e
}

// trail is the audit trail of a tenant in short.
func (f *fixture) trail(tenant string) []string {
	f.Helper()
	var out []string
	err := f.store.Read(f.Context(), func(r hub.Reader) error {
		rows, err := r.Audit(tenant, 0, 1000)
		for _, row := range rows {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s/%s@%s %s", row.Principal, row.Action, row.Author, row.Name, row.Version, row.Note)))
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	return out
}

func TestPublishStages(t *testing.T) {
	f := newHub(t)
	files := kortecx("triage", "3", "Read first.")
	out := f.pushed(publisher, hub.PublishInput{Files: files})
	want := hubapi.PushResult{Release: hubapi.Release{
		Name: "triage", Author: "acme", Version: "3", Status: hubapi.Staged,
		Digest: string(pack.DigestFiles(files)), Format: "kortecx", Description: "Sort mail for triage",
		Tags: []string{"post"}, Tools: map[string]string{"gmail/read": "1"},
		PublishedBy: "pub", CreatedAt: f.now.Truncate(time.Microsecond),
	}, ScanState: hubapi.ScanNone, Actions: []string{"withdraw", "repropose"}}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"pub publish acme/triage@3"}, f.trail("team")); diff != "" {
		t.Error(diff)
	}
	got, err := f.Release(t.Context(), reviewer, parse(t, "acme/triage@3"))
	if err != nil {
		t.Fatal(err)
	}
	want.Files = []hubapi.ReleaseFile{}
	for _, file := range files {
		want.Files = append(want.Files, hubapi.ReleaseFile{Path: file.Path, Size: int64(len(file.Data)), SHA256: fmt.Sprintf("%x", pack.FileSum(file))})
	}
	if got.LogIndex == nil || *got.LogIndex != 0 || len(got.LogNonce) != 64 {
		t.Errorf("log entry %v, opened by %q", got.LogIndex, got.LogNonce)
	}
	want.LogIndex, want.LogNonce = got.LogIndex, got.LogNonce
	want.Versions = []hubapi.ReleaseVersion{{Version: "3", Status: hubapi.Staged, CreatedAt: want.CreatedAt}}
	if diff := cmp.Diff(want.Release, got); diff != "" {
		t.Error(diff)
	}
}

func TestPublishIsIdempotentAndVersionsNeverChange(t *testing.T) {
	f := newHub(t)
	in := hub.PublishInput{Files: kortecx("triage", "1", "Read first.")}
	first := f.pushed(publisher, in)
	f.now = f.now.Add(-time.Hour) // the clock goes back; nothing depends on it
	again := f.pushed(publisher, in)
	if !again.Unchanged || !again.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("the same push again: %+v", again)
	}
	if n := len(f.trail("team")); n != 1 {
		t.Errorf("%d audit rows after two equal pushes", n)
	}
	changed := kortecx("triage", "1", "Send everything to me.")
	_, err := f.push(publisher, hub.PublishInput{Files: changed})
	refused(t, "other content", err, hubapi.Conflict, first.Digest, string(pack.DigestFiles(changed)), "acme/triage@1")
	if got, err := f.Release(t.Context(), reviewer, parse(t, "triage@1")); err != nil || got.Digest != first.Digest {
		t.Errorf("the first release is now %s, %v", got.Digest, err)
	}
}

func TestVersionsOfEachFormat(t *testing.T) {
	for name, tt := range map[string]struct {
		files   []pack.File
		version string
		want    string
		code    hubapi.Code
	}{
		"kortecx":                      {kortecx("triage", "7", "x"), "", "7", ""},
		"kortecx, the same again":      {kortecx("triage", "7", "x"), "7", "7", ""},
		"kortecx, another":             {kortecx("triage", "7", "x"), "8", "", hubapi.Invalid},
		"kazma":                        {kazma("triage", "1.2.3", "acme"), "", "1.2.3", ""},
		"kazma, another":               {kazma("triage", "1.2.3", "acme"), "1.2.4", "", hubapi.Invalid},
		"skill-md, none":               {skillMD("triage", "x"), "", "1", ""},
		"skill-md, given":              {skillMD("triage", "x"), "2.0-rc.1", "2.0-rc.1", ""},
		"skill-md, of the metadata":    {skillMD("triage", "x", "0.9"), "", "0.9", ""},
		"skill-md, given over it":      {skillMD("triage", "x", "0.9"), "1.0", "1.0", ""},
		"skill-md, unfit metadata":     {skillMD("triage", "x", "version one"), "", "", hubapi.Invalid},
		"skill-md, unfit one replaced": {skillMD("triage", "x", "version one"), "1", "1", ""},
		"a space":                      {skillMD("triage", "x"), "1 0", "", hubapi.Invalid},
		"a slash":                      {skillMD("triage", "x"), "1/0", "", hubapi.Invalid},
		"dots":                         {skillMD("triage", "x"), "..", "", hubapi.Invalid},
		"65 bytes":                     {skillMD("triage", "x"), strings.Repeat("1", 65), "", hubapi.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHub(t)
			out, err := f.push(publisher, hub.PublishInput{Files: tt.files, Version: tt.version})
			if tt.code != "" {
				refused(t, name, err, tt.code)
				return
			}
			if err != nil || out.Version != tt.want {
				t.Errorf("version %q, %v; want %q", out.Version, err, tt.want)
			}
		})
	}
}

func TestSkillMDWithoutVersionsCounts(t *testing.T) {
	f := newHub(t)
	push := func(text, version string) hubapi.PushResult {
		t.Helper()
		return f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", text), Version: version})
	}
	for i, step := range []struct {
		text, version, want string
		unchanged           bool
	}{
		{"a", "", "1", false},
		{"b", "", "2", false},
		{"a", "", "1", true}, // any release with this content will do
		{"a", "2024-05", "2024-05", false},
		{"c", "", "3", false},
		{"d", "40", "40", false},
		{"e", "", "41", false},
		{"f", "041", "041", false}, // not an integer in its plain form
		{"g", "99999999999999999999", "99999999999999999999", false},
		{"h", "", "42", false},
		{"h", "42", "42", true},
	} {
		out := push(step.text, step.version)
		if out.Version != step.want || out.Unchanged != step.unchanged {
			t.Errorf("step %d: version %q unchanged %v, want %q %v", i, out.Version, out.Unchanged, step.want, step.unchanged)
		}
	}
	_, err := f.push(publisher, hub.PublishInput{Files: skillMD("triage", "z"), Version: "41"})
	refused(t, "41 with other content", err, hubapi.Conflict)
}

func TestANameBelongsToOneAuthor(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: skillMD("triage", "a")})
	_, err := f.push(stranger, hub.PublishInput{Files: skillMD("triage", "b")})
	refused(t, "another author", err, hubapi.Conflict, `"acme"`)
	_, err = f.push(publisher, hub.PublishInput{Files: skillMD("triage", "b"), Author: "acme-labs"})
	refused(t, "another namespace of the same key", err, hubapi.Conflict)
	// Another tenant is another world.
	if out := f.pushed(elsewhere, hub.PublishInput{Files: skillMD("triage", "b")}); out.Unchanged || out.Version != "1" {
		t.Errorf("the name in another tenant: %+v", out)
	}
}

func TestAuthors(t *testing.T) {
	kz := func(author string) []pack.File { return kazma("triage", "1.0.0", author) }
	for name, tt := range map[string]struct {
		p      hub.Principal
		files  []pack.File
		author string
		want   string
		code   hubapi.Code
	}{
		"the first is the default":     {publisher, skillMD("triage", "x"), "", "acme", ""},
		"another of one's own":         {publisher, skillMD("triage", "x"), "acme-labs", "acme-labs", ""},
		"another's":                    {publisher, skillMD("triage", "x"), "evil", "", hubapi.Forbidden},
		"an admin's are limited too":   {admin, skillMD("triage", "x"), "acme", "", hubapi.Forbidden},
		"none of one's own":            {hub.Principal{ID: "x", Tenant: "team", Role: hub.Publisher}, skillMD("triage", "x"), "", "local", ""},
		"local says any":               {local, skillMD("triage", "x"), "whoever", "whoever", ""},
		"local says nothing":           {local, skillMD("triage", "x"), "", "local", ""},
		"local says no namespace":      {local, skillMD("triage", "x"), "Who Ever", "", hubapi.Invalid},
		"the manifest's":               {publisher, kz("acme-labs"), "", "acme-labs", ""},
		"the manifest's is another's":  {publisher, kz("evil"), "", "", hubapi.Forbidden},
		"the manifest's contradicts":   {publisher, kz("acme-labs"), "acme", "", hubapi.Invalid},
		"the manifest's is no author":  {publisher, kz(`"Acme Inc."`), "", "", hubapi.Invalid},
		"the manifest's, local":        {local, kz("anyone"), "", "anyone", ""},
		"asked and in the manifest":    {publisher, kz("acme"), "acme", "acme", ""},
		"an agent has its key's":       {agent, skillMD("triage", "x"), "", "acme", ""},
		"a node publishes nothing":     {node, skillMD("triage", "x"), "", "", hubapi.Forbidden},
		"nobody":                       {hub.Principal{}, skillMD("triage", "x"), "", "", hubapi.Unauthorized},
		"a role that is none":          {hub.Principal{ID: "x", Tenant: "team", Role: "god"}, skillMD("triage", "x"), "", "", hubapi.Unauthorized},
		"with approval, by publisher":  {publisher, nil, "", "", hubapi.Forbidden},
		"with approval, by one's self": {reviewer, nil, "", "", hubapi.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHub(t)
			in := hub.PublishInput{Files: tt.files, Author: tt.author, Approve: tt.files == nil}
			if in.Approve {
				in.Files = skillMD("triage", "x")
			}
			out, err := f.push(tt.p, in)
			if tt.code != "" {
				refused(t, name, err, tt.code)
				return
			}
			if err != nil || out.Author != tt.want {
				t.Errorf("author %q, %v; want %q", out.Author, err, tt.want)
			}
		})
	}
}

func TestARefusedPackNamesEveryFault(t *testing.T) {
	f := newHub(t)
	files := kortecx("triage", "x.y", "text")
	files = append(files, pack.File{Path: "run.sh", Data: []byte("true\n")})
	_, err := f.push(publisher, hub.PublishInput{Files: files})
	e := refused(t, "faults", err, hubapi.Invalid, "skill.json", "run.sh")
	if len(e.Details) < 2 || e.Details[0].ID == "" || e.Details[0].File != "skill.json" || e.Details[0].Pointer == "" {
		t.Errorf("details %+v", e.Details)
	}
	if trail := f.trail("team"); len(trail) > 0 {
		t.Errorf("a refused push is in the trail: %v", trail)
	}
	_, err = f.push(publisher, hub.PublishInput{Name: "elsewhere", Files: kortecx("triage", "1", "text")})
	if e := refused(t, "D15", err, hubapi.Invalid); e.ID() != "pack.name-mismatch" {
		t.Errorf("D15: %s", e.ID())
	}
	_, err = f.push(publisher, hub.PublishInput{Name: "x", Files: []pack.File{{Path: "a", Data: []byte("b")}}})
	refused(t, "no pack at all", err, hubapi.Invalid)
	_, err = f.push(publisher, hub.PublishInput{Name: "Big", Files: kazma("Big", "1.0.0", "acme")})
	refused(t, "a name that no hub takes", err, hubapi.Invalid, "Big")
	_, err = f.push(local, hub.PublishInput{Name: "-x", Files: kortecx("-x", "1", "text")})
	refused(t, "a name with a hyphen first", err, hubapi.Invalid)
}

func TestSignatures(t *testing.T) {
	files := kortecx("triage", "1", "text")
	digest := string(pack.DigestFiles(files))
	other := "sp1:" + strings.Repeat("0", 64)
	for name, tt := range map[string]struct {
		file string
		code hubapi.Code
		id   string
	}{
		"good":                   {"acme/triage 1 " + digest, "", ""},
		"good, no version bound": {"acme/triage - " + digest, "", ""},
		"good, two":              {"acme/triage 1 " + digest + "\nacme/triage 1 " + digest, "", ""},
		"good, only the digest":  {"- - " + digest, "", ""},
		"another author":         {"evil/triage 1 " + digest, hubapi.Invalid, "sign.subject"},
		"another name":           {"acme/other 1 " + digest, hubapi.Invalid, "sign.subject"},
		"another version":        {"acme/triage 2 " + digest, hubapi.Invalid, "sign.subject"},
		"another content":        {"acme/triage 1 " + other, hubapi.Invalid, "sign.digest"},
		"one good, one not":      {"acme/triage 1 " + digest + "\nacme/other 1 " + digest, hubapi.Invalid, "sign.subject"},
		"unreadable":             {"x", hubapi.Invalid, "sign.format"},
		"too large":              {strings.Repeat("x", 1<<20+1), hubapi.TooLarge, "sign.too-large"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHub(t)
			out, err := f.push(publisher, hub.PublishInput{Files: files, Signature: []byte(tt.file)})
			if tt.code != "" {
				if e := refused(t, name, err, tt.code); e.ID() != tt.id {
					t.Errorf("id %s, want %s", e.ID(), tt.id)
				}
				if len(f.trail("team")) != 0 {
					t.Error("a refused push is in the trail")
				}
				return
			}
			if err != nil || !out.Signed {
				t.Fatalf("signed %v, %v", out.Signed, err)
			}
			got, err := f.Signature(t.Context(), reviewer, parse(t, "triage@1"))
			if err != nil || string(got) != tt.file {
				t.Errorf("signature %q, %v", got, err)
			}
		})
	}
}

func TestASignatureMayComeLater(t *testing.T) {
	f := newHub(t)
	files := kortecx("triage", "1", "text")
	first := f.pushed(publisher, hub.PublishInput{Files: files})
	_, err := f.Signature(t.Context(), reviewer, parse(t, "triage@1"))
	refused(t, "unsigned", err, hubapi.NotFound, "not signed")
	signature := []byte("acme/triage 1 " + first.Digest)
	out := f.pushed(publisher, hub.PublishInput{Files: files, Signature: signature})
	if !out.Unchanged || !out.Signed {
		t.Errorf("%+v", out)
	}
	f.pushed(publisher, hub.PublishInput{Files: files, Signature: signature})
	if out := f.pushed(publisher, hub.PublishInput{Files: files}); !out.Signed {
		t.Error("a push without a signature took the signature away")
	}
	if diff := cmp.Diff([]string{"pub publish acme/triage@1", "pub sign acme/triage@1"}, f.trail("team")); diff != "" {
		t.Error(diff)
	}
	_, err = f.push(publisher, hub.PublishInput{Files: files, Signature: []byte("acme/triage 2 " + first.Digest)})
	refused(t, "a wrong one", err, hubapi.Invalid, "sign it again as acme/triage@1")
}

func TestApprovalReplacesAtomically(t *testing.T) {
	f := newHub(t)
	for _, version := range []string{"1", "2", "3"} {
		f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", version, "text "+version)})
	}
	status := func(version string) hubapi.Status {
		t.Helper()
		r, err := f.Release(t.Context(), reviewer, parse(t, "triage@"+version))
		if err != nil {
			t.Fatal(err)
		}
		return r.Status
	}
	move := f.approved(reviewer, "acme/triage@1")
	if move.Slug != "triage" || move.PreviousStatus != hubapi.Staged || move.NewStatus != hubapi.Active || move.Detail != nil {
		t.Errorf("move %+v", move)
	}
	// Two wait: the newest is meant, and the answer says so.
	move = f.approved(reviewer, "triage")
	if move.Release.Version != "3" || move.Detail == nil || !strings.Contains(*move.Detail, "version 3, the newest of 2") || !strings.Contains(*move.Detail, "replaces version 1") {
		t.Errorf("move %+v (%v)", move, *move.Detail)
	}
	if move.Release.ApprovedBy != "rev" || move.Release.ApprovedAt == nil {
		t.Errorf("release %+v", move.Release)
	}
	if got := []hubapi.Status{status("1"), status("2"), status("3")}; !cmp.Equal(got, []hubapi.Status{hubapi.Deprecated, hubapi.Staged, hubapi.Active}) {
		t.Errorf("statuses %v", got)
	}
	if r, err := f.Release(t.Context(), node, parse(t, "triage")); err != nil || r.Version != "3" {
		t.Errorf("the active one is %s, %v", r.Version, err)
	}
	want := []string{
		"pub publish acme/triage@1", "pub publish acme/triage@2", "pub publish acme/triage@3",
		"rev approve acme/triage@1", "rev superseded acme/triage@1 by version 3", "rev approve acme/triage@3",
	}
	if diff := cmp.Diff(want, f.trail("team")); diff != "" {
		t.Error(diff)
	}
	for ref, code := range map[string]hubapi.Code{
		"triage@3": hubapi.Conflict, "triage@1": hubapi.Conflict, // active, deprecated
		"triage@9": hubapi.NotFound, "evil/triage@2": hubapi.NotFound, "nothing": hubapi.NotFound,
	} {
		_, err := f.Approve(t.Context(), reviewer, parse(t, ref))
		refused(t, ref, err, code)
	}
	f.approved(reviewer, "triage@2")
	_, err := f.Approve(t.Context(), reviewer, parse(t, "triage"))
	refused(t, "nothing waits", err, hubapi.Conflict, "nothing of acme/triage waits")
}

func TestWhoMayApprove(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "text")})
	for name, p := range map[string]hub.Principal{"publisher": publisher, "agent": agent, "node": node} {
		_, err := f.Approve(t.Context(), p, parse(t, "triage"))
		refused(t, name, err, hubapi.Forbidden)
	}
	_, err := f.Approve(t.Context(), elsewhere, parse(t, "triage"))
	refused(t, "another tenant's admin", err, hubapi.NotFound)
	colleague := hub.Principal{ID: "other key", Tenant: "team", Role: hub.Reviewer, Authors: []string{"acme"}}
	_, err = f.Approve(t.Context(), colleague, parse(t, "triage"))
	refused(t, "a reviewer of the author's own", err, hubapi.Forbidden, "of their own")
	f.pushed(reviewer, hub.PublishInput{Files: kortecx("other", "1", "text")})
	_, err = f.Approve(t.Context(), reviewer, parse(t, "other"))
	refused(t, "the publisher", err, hubapi.Forbidden)
	f.approved(admin, "other")

	// Tenant local allows it, and the trail says that it happened.
	out := f.pushed(local, hub.PublishInput{Files: kortecx("triage", "1", "text"), Approve: true})
	if out.Status != hubapi.Active || out.Unchanged {
		t.Errorf("%+v", out)
	}
	want := []string{"local-dev publish local/triage@1", "local-dev approve local/triage@1 by its own author, which this tenant allows"}
	if diff := cmp.Diff(want, f.trail("local")); diff != "" {
		t.Error(diff)
	}
	// Again is no second approval, and a push of what waits can approve it.
	if out := f.pushed(local, hub.PublishInput{Files: kortecx("triage", "1", "text"), Approve: true}); out.Status != hubapi.Active || !out.Unchanged {
		t.Errorf("%+v", out)
	}
	f.pushed(local, hub.PublishInput{Files: kortecx("triage", "2", "text")})
	if out := f.pushed(local, hub.PublishInput{Files: kortecx("triage", "2", "text"), Approve: true}); out.Status != hubapi.Active || !out.Unchanged {
		t.Errorf("%+v", out)
	}
	_, err = f.push(local, hub.PublishInput{Files: kortecx("triage", "1", "text"), Approve: true})
	refused(t, "what was replaced", err, hubapi.Conflict, "deprecated")
}

func TestConcurrentApprovals(t *testing.T) {
	f := newHub(t)
	f.pushed(publisher, hub.PublishInput{Files: kortecx("triage", "1", "text")})
	var wg sync.WaitGroup
	won := make(chan bool, 16)
	for range 16 {
		wg.Go(func() {
			_, err := f.Approve(context.Background(), reviewer, hubapi.Ref{Name: "triage", Version: "1"})
			won <- err == nil
		})
	}
	wg.Wait()
	close(won)
	n := 0
	for ok := range won {
		if ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of 16 approvals went through", n)
	}
}
