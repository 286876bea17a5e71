package cli

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/pack"
)

// hostileHub has one release of the skill good, and no log.
type hostileHub struct {
	release   hubapi.Release
	files     []pack.File
	signature http.HandlerFunc
}

func (h *hostileHub) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/archive"):
			archive := hubapi.Archive{Top: "good"}
			for _, f := range h.files {
				archive.Files = append(archive.Files, hubapi.File(f))
			}
			w.Header().Set("Content-Type", "application/gzip")
			_ = new(hubapi.Archiver).Write(w, archive)
		case strings.HasSuffix(r.URL.Path, "/signature") && h.signature != nil:
			h.signature(w, r)
		case strings.Contains(r.URL.Path, "/releases/") && !strings.HasSuffix(r.URL.Path, "/signature"):
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(h.release)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func goodRelease(signed bool, files []pack.File) hubapi.Release {
	return hubapi.Release{
		Name: "good", Author: "local", Version: "1", Status: hubapi.Active, Format: "skill-md", Signed: signed,
		Digest: string(pack.DigestFiles(files)), Tags: []string{},
	}
}

func goodFiles() []pack.File {
	return []pack.File{{Path: "SKILL.md", Data: []byte("---\nname: good\ndescription: does things when things need doing\n---\nbody\n")}}
}

func body(data string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(data))
	}
}

// signer is a home with a key, which signs the skill good in many ways.
type signer struct {
	t   *testing.T
	env Env
	dir string
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	env, _, _ := testEnv(t, nil)
	env.Rand = rand.Reader
	s := &signer{t: t, env: env, dir: env.Dir}
	if err := os.MkdirAll(filepath.Join(s.dir, "src", "good"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "src", "good", "SKILL.md"), goodFiles()[0].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := s.run("keys", "new", "me"); code != 0 {
		t.Fatal(stderr)
	}
	return s
}

func (s *signer) run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := s.env
	env.Args, env.Stdin, env.Stdout, env.Stderr = append([]string{"kx"}, args...), strings.NewReader(""), &out, &errs
	code = Kx(env)
	return code, out.String(), errs.String()
}

// sign gives the signature file that kx sign makes with args.
func (s *signer) sign(args ...string) string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "sig")
	if code, _, stderr := s.run(append([]string{"sign", "src/good", "-o", file}, args...)...); code != 0 {
		s.t.Fatal(stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func TestNothingIsWrittenForAHostileHub(t *testing.T) {
	s := newSigner(t)
	files := goodFiles()
	signed := goodRelease(true, files)
	evil := append(goodFiles(), pack.File{Path: "sub/.git/config", Data: []byte("x")})
	other := []pack.File{{Path: "SKILL.md", Data: append(goodFiles()[0].Data, '\n')}}
	good := s.sign("--author", "local", "--version", "1")
	for name, hub := range map[string]*hostileHub{
		"a folder that git reads":    {release: goodRelease(false, evil), files: evil},
		"signed, and 404":            {release: signed, files: files},
		"signed, and 500":            {release: signed, files: files, signature: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
		"signed, and HTML":           {release: signed, files: files, signature: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }},
		"signed, and nothing":        {release: signed, files: files, signature: body("")},
		"signed, and junk":           {release: signed, files: files, signature: body(`{"v":1,"dsse":[]}`)},
		"signed for another author":  {release: signed, files: files, signature: body(s.sign("--author", "evil", "--version", "1"))},
		"signed for another version": {release: signed, files: files, signature: body(s.sign("--author", "local", "--version", "2"))},
		"signed for other content":   {release: goodRelease(true, other), files: other, signature: body(good)},
		"forged":                     {release: signed, files: files, signature: body(forge(t, good))},
	} {
		url := hub.serve(t)
		for _, args := range [][]string{{"pull", "good", "--dir", "OUT"}, {"skills", "install", "good", "--to", "OUT"}} {
			code, _, stderr := s.run(append(args, "--endpoint", url)...)
			entries, _ := os.ReadDir(filepath.Join(s.dir, "OUT"))
			if code != hubapi.ExitFailed || len(entries) != 0 {
				t.Errorf("%s: %v: exit %d, %d written: %s", name, args[:2], code, len(entries), stderr)
			}
		}
	}
}

// forge changes one byte of the signature itself.
func forge(t *testing.T, file string) string {
	t.Helper()
	at := strings.Index(file, `"sig"`)
	if at < 0 {
		t.Fatal(file)
	}
	at += strings.IndexByte(file[at+5:], '"') + 5 + 4
	other := byte('A')
	if file[at] == other {
		other = 'B'
	}
	return file[:at] + string(other) + file[at+1:]
}

func TestPullOverwritesNothing(t *testing.T) {
	s := newSigner(t)
	files := goodFiles()
	good := s.sign("--author", "local", "--version", "1")
	url := (&hostileHub{release: goodRelease(true, files), files: files, signature: body(good)}).serve(t)
	beside := filepath.Join(s.dir, "OUT", "good@1.sig.json")
	if err := os.MkdirAll(filepath.Dir(beside), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(beside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := s.run("pull", "good", "--dir", "OUT", "--endpoint", url)
	if data, err := os.ReadFile(beside); code != 1 || err != nil || string(data) != "mine" || !strings.Contains(stderr, "is another signature") {
		t.Errorf("%d: %s, %q, %v", code, stderr, data, err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "OUT", "good")); !os.IsNotExist(err) {
		t.Errorf("the pack was written: %v", err)
	}
	if err := os.WriteFile(beside, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := s.run("pull", "good", "--dir", "OUT", "--endpoint", url); code != 0 {
		t.Errorf("%d: %s", code, stderr)
	}
	if code, out, stderr := s.run("verify", "OUT/good"); code != 0 {
		t.Errorf("%d: %s%s", code, out, stderr)
	}
}

func TestInstallKeepsWhatWasSigned(t *testing.T) {
	s := newSigner(t)
	files := goodFiles()
	hub := &hostileHub{release: goodRelease(true, files), files: files, signature: body(s.sign("--author", "local"))}
	url := hub.serve(t)
	install := func() (int, string) {
		code, _, stderr := s.run("skills", "install", "good", "--to", "OUT", "--force", "--endpoint", url)
		return code, stderr
	}
	if code, stderr := install(); code != 0 || !strings.Contains(stderr, "[sign.no-version]") {
		t.Errorf("%d: %s", code, stderr)
	}
	sum := strings.TrimPrefix(hub.release.Digest, "sp1:")
	hub.signature = body(`{"v":1,"dsse":[],"hmac":{"checksum":"` + sum + `","signature":"` + strings.Repeat("0", 64) + `"}}`)
	if code, stderr := install(); code != 1 || !strings.Contains(stderr, "[sign.stripped]") {
		t.Errorf("a secret's signature only: %d: %s", code, stderr)
	}
	hub.release.Signed, hub.release.Version = false, "2"
	if code, stderr := install(); code != 1 || !strings.Contains(stderr, "[sign.stripped]") {
		t.Errorf("no signature: %d: %s", code, stderr)
	}
}

func TestEndpointsAndTokensThatAreWrong(t *testing.T) {
	s := newSigner(t)
	for _, tt := range []struct {
		args []string
		hint string
	}{
		{[]string{"search", "--endpoint", "127.0.0.1:50151"}, "http://127.0.0.1:50151"},
		{[]string{"search", "--endpoint", "http://127.0.0.1:1", "--token", "a\x1b[31m"}, "printable ASCII"},
		{[]string{"search", "--endpoint", "http://127.0.0.1:1", "--token", "é"}, "printable ASCII"},
	} {
		if code, _, stderr := s.run(tt.args...); code != hubapi.ExitUsage || !strings.Contains(stderr, tt.hint) {
			t.Errorf("%q: %d: %s", tt.args, code, stderr)
		}
	}
}

func TestListsOfAHostileHubAreNoFlood(t *testing.T) {
	s := newSigner(t)
	long := strings.Repeat("A", 500)
	answers := map[string]any{}
	var items []hubapi.SearchItem
	var waiting []hubapi.InboxItem
	for range 1000 {
		items = append(items, hubapi.SearchItem{Name: "good", Author: "local", Version: "1", Summary: long})
		waiting = append(waiting, hubapi.InboxItem{Slug: "good", Name: "good", Author: "local", Version: "1"})
	}
	form := hubapi.CatalogForm{Found: true, Summary: &hubapi.CatalogSummary{Name: "good"}, InstructionsPreview: strings.Repeat("l\n", 100_000)}
	for range 5000 {
		form.Wishes = append(form.Wishes, hubapi.Wish{ToolID: "a/b", ToolVersion: "1"})
	}
	answers["/api/v1/search"] = hubapi.SearchResult{Total: -5, Items: items, NextCursor: "x"}
	answers["/api/v1/skills-inbox"] = hubapi.Inbox{Items: waiting}
	answers["/api/v1/catalog/good"] = form
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	for _, args := range [][]string{{"search", "x"}, {"inbox", "list"}, {"skills", "show", "good"}} {
		code, out, stderr := s.run(append(args, "--endpoint", server.URL)...)
		if n := strings.Count(out+stderr, "\n"); code != 0 || n > 200 || n < 20 || strings.Contains(out, long[:maxBrief+1]) {
			t.Errorf("%v: %d, %d lines: %s", args, code, n, stderr)
		}
	}
}
