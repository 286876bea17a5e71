package source

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kortecx/kx/hubapi"
)

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// site serves documents and counts what was asked for.
func site(t *testing.T, docs map[string][]byte) (address string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var list []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		list = append(list, r.URL.Path+" "+r.Header.Get("If-None-Match"))
		mu.Unlock()
		data, ok := docs[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		etag := fmt.Sprintf(`"%s"`, hashOf(data))
		w.Header().Set("Etag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := list
		list = nil
		return out
	}
}

func index(t *testing.T, skills ...hubapi.SiteSkill) []byte {
	t.Helper()
	data, err := json.Marshal(hubapi.SiteIndex{Schema: hubapi.SiteSchema, Skills: skills})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestASiteIsReadByItsList(t *testing.T) {
	text, packed := []byte(skill("alpha")), gzipped(t, tarred(t, member{"SKILL.md", skill("beta")}, member{"references/more.md", "more"}))
	evil := gzipped(t, tarred(t, member{"SKILL.md", skill("evil")}, member{"../../etc/x", "x"}))
	docs := map[string][]byte{
		"/docs/.well-known/agent-skills/alpha/SKILL.md": text,
		"/files/beta.tar.gz":                            packed,
		"/files/evil.tar.gz":                            evil,
	}
	docs["/docs/.well-known/agent-skills/index.json"] = index(t,
		hubapi.SiteSkill{Name: "alpha", Type: "skill-md", Description: "d", URL: "alpha/SKILL.md", Digest: hashOf(text)},
		hubapi.SiteSkill{Name: "beta", Type: "archive", Description: "d", URL: "/files/beta.tar.gz", Digest: hashOf(packed)},
		hubapi.SiteSkill{Name: "changed", Type: "skill-md", Description: "d", URL: "alpha/SKILL.md", Digest: hashOf([]byte("other"))},
		hubapi.SiteSkill{Name: "evil", Type: "archive", Description: "d", URL: "/files/evil.tar.gz", Digest: hashOf(evil)},
		hubapi.SiteSkill{Name: "../up", Type: "skill-md", Description: "d", URL: "alpha/SKILL.md", Digest: hashOf(text)},
		hubapi.SiteSkill{Name: "away", Type: "skill-md", Description: "d", URL: "http://169.254.169.254/x", Digest: hashOf(text)},
		hubapi.SiteSkill{Name: "odd", Type: "exe", Description: "d", URL: "x", Digest: hashOf(text)},
		hubapi.SiteSkill{Name: "loose", Type: "skill-md", Description: "d", URL: "alpha/SKILL.md", Digest: "sha256:1"},
		hubapi.SiteSkill{Name: "renamed", Type: "skill-md", Description: "d", URL: "alpha/SKILL.md", Digest: hashOf(text)},
	)
	address, _ := site(t, docs)
	got := fetch(t, &Sources{}, address+"/docs")
	want := map[string]string{
		"alpha": "", "beta": "", "changed": "fetch.digest", "evil": "archive.path", "../up": "site.name", "away": "site.url", "odd": "site.type",
		"loose": "site.digest", "renamed": "pack.name-mismatch",
	}
	if len(got.Found) != len(want) {
		t.Fatalf("found %q", paths(got))
	}
	for _, f := range got.Found {
		if refusal(f.Faults) != want[f.Path] || (f.Faults == nil) != (f.Pack != nil) {
			t.Errorf("%s: %v, want %q", f.Path, f.Faults, want[f.Path])
		}
	}
	one := fetch(t, &Sources{}, address+"/docs//beta")
	if len(one.Found) != 1 || one.Revision != hashOf(packed) || len(one.Found[0].Pack.Files) != 2 {
		t.Errorf("one skill: %+v", one)
	}
	_, err := (&Sources{}).Fetch(t.Context(), parse(t, address+"/docs//nothing"))
	refused(t, err, "source.no-such")
	_, err = (&Sources{}).Fetch(t.Context(), parse(t, address+"/elsewhere"))
	refused(t, err, "source.not-found")
}

func TestTheOlderListOfASiteIsRead(t *testing.T) {
	address, _ := site(t, map[string][]byte{
		"/.well-known/skills/index.json":     []byte(`{"skills":[{"name":"alpha","description":"d","files":["SKILL.md","more.md"]},{"name":"beta","description":"d","files":["SKILL.md","../../etc/passwd"]}]}`),
		"/.well-known/skills/alpha/SKILL.md": []byte(skill("alpha")), "/.well-known/skills/alpha/more.md": []byte("more"),
	})
	got := fetch(t, &Sources{}, address)
	if f, err := got.Pick("alpha"); err != nil || len(f.Pack.Files) != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	refused(t, second(got.Pick("beta")), "path.portable")
}

func TestListsThatCannotBeRead(t *testing.T) {
	for text, id := range map[string]string{
		`{"$schema":"https://example.com/9","skills":[]}`: "site.schema",
		`[]`:                        "fetch.type",
		`{"skills":[],"skills":[]}`: "fetch.type",
		`{"skills":{}}`:             "fetch.type",
		`<html>`:                    "fetch.type",
		`{"skills":[]}`:             "source.empty",
	} {
		address, _ := site(t, map[string][]byte{"/.well-known/agent-skills/index.json": []byte(text)})
		_, err := (&Sources{}).Fetch(t.Context(), parse(t, address))
		if refusal(err) != id {
			t.Errorf("%s: %v, want %s", text, err, id)
		}
	}
}

// remembered is a SiteCache.
type remembered map[string][2]string

func (m remembered) Get(u string) (string, []byte, bool) {
	e, ok := m[u]
	return e[0], []byte(e[1]), ok
}
func (m remembered) Put(u, etag string, list []byte) { m[u] = [2]string{etag, string(list)} }

func TestLatestAsksASiteOnceAndOnlyWhetherItChanged(t *testing.T) {
	text := []byte(skill("alpha"))
	address, asked := site(t, map[string][]byte{
		"/.well-known/agent-skills/alpha/SKILL.md": text,
		"/.well-known/agent-skills/index.json": index(t,
			hubapi.SiteSkill{Name: "alpha", Type: "skill-md", Description: "d", URL: "alpha/SKILL.md", Digest: hashOf(text)},
			hubapi.SiteSkill{Name: "beta", Type: "skill-md", Description: "d", URL: "beta/SKILL.md", Digest: hashOf(text)}),
	})
	s := &Sources{Cache: remembered{}}
	one := fetch(t, s, address+"//alpha")
	asked()
	refs := []Ref{parse(t, address+"//alpha"), parse(t, address+"//beta"), parse(t, address+"//gone"), parse(t, address)}
	got, err := s.Latest(t.Context(), refs)
	if err != nil || got[0].Revision != one.Revision || got[1].Err != nil || refusal(got[2].Err) != "source.no-such" || got[3].Revision == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if list := asked(); len(list) != 1 || strings.HasSuffix(list[0], " ") {
		t.Errorf("the site was asked %q, want one conditional request", list)
	}
}

func TestLatestAsksARepositoryOnce(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		name := fmt.Sprintf("skill-%d", i)
		files["skills/"+name+"/SKILL.md"] = skill(name)
	}
	dir, commit := repository(t, files)
	git(t, dir, "tag", "v1")
	root := t.TempDir()
	git(t, root, "clone", "--quiet", "--bare", dir, "r.git")
	var mu sync.Mutex
	var asked []string
	address := serveGit(t, root, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.Method+" "+r.URL.Path)
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	}) + "/r.git"
	var refs []Ref
	for name := range files {
		refs = append(refs, parse(t, address+"//"+strings.TrimSuffix(name, "/SKILL.md")+[]string{"", "@v1", "@" + commit}[len(refs)%3]))
	}
	got, err := (&Sources{}).Latest(t.Context(), refs)
	if err != nil || slices.ContainsFunc(got, func(r Revision) bool { return r.Revision != commit || r.Err != nil }) {
		t.Errorf("%+v, %v", got, err)
	}
	if len(asked) != 1 {
		t.Errorf("the server was asked %q, want once", asked)
	}
	asked = nil
	if got, err := (&Sources{}).Latest(t.Context(), []Ref{parse(t, address+"@"+commit)}); err != nil || got[0].Revision != commit || len(asked) != 0 {
		t.Errorf("a full id: %+v, %v, asked %q", got, err, asked)
	}
	local, err := (&Sources{}).Latest(t.Context(), []Ref{{Kind: Git, Location: dir}, {Kind: Git, Location: dir, Rev: commit[:8]}, {Kind: Git, Location: dir, Rev: "none"}})
	if err != nil || local[0].Revision != commit || local[1].Revision != commit || refusal(local[2].Err) != "source.no-rev" {
		t.Errorf("a local repository: %+v, %v", local, err)
	}
}
