package hubclient_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

// What a hub sends is judged as a hub judges what is pushed, before anybody can
// write it to a disk.
func TestArchivesAreJudged(t *testing.T) {
	text := []byte(skillText)
	skill := func(more ...pack.File) []pack.File {
		return append([]pack.File{{Path: "SKILL.md", Data: text}}, more...)
	}
	one := func(path string) []pack.File { return skill(pack.File{Path: path, Data: []byte("x")}) }
	kortecx := func(name, version string, more ...pack.File) []pack.File {
		manifest := fmt.Sprintf(`{"schema":"kortecx.skill/v1","name":%q,"version":%q}`, name, version)
		return append([]pack.File{{Path: "skill.json", Data: []byte(manifest)}, {Path: "instructions.md", Data: []byte("# x\n")}}, more...)
	}
	var many []pack.File
	for i := range pack.MaxFiles + 1 {
		many = append(many, pack.File{Path: fmt.Sprintf("f%d", i)})
	}
	for name, tt := range map[string]struct {
		files  []pack.File
		format string
		ok     bool
	}{
		"a pack":                  {skill(), "skill-md", true},
		"a kortecx pack":          {kortecx("triage", "1"), "kortecx", true},
		".git":                    {one(".git/config"), "skill-md", false},
		".GIT below":              {one("sub/.GIT/hooks/post-checkout"), "skill-md", false},
		"a marker":                {one(".kx-owned"), "skill-md", false},
		"a marker in capitals":    {one(".KX-OWNED"), "skill-md", false},
		"another's marker below":  {one("sub/.memclaw-owned"), "skill-md", false},
		"a device":                {one("nul.txt"), "skill-md", false},
		"NFD":                     {one("cafe\u0301.md"), "skill-md", false},
		"bidi":                    {one("\u202ex"), "skill-md", false},
		"two cases":               {skill(pack.File{Path: "a"}, pack.File{Path: "A"}), "skill-md", false},
		"too many":                {skill(many...), "skill-md", false},
		"no manifest":             {[]pack.File{{Path: "x"}}, "skill-md", false},
		"a manifest that is none": {[]pack.File{{Path: "SKILL.md", Data: []byte("x")}}, "skill-md", false},
		"another name inside":     {[]pack.File{{Path: "SKILL.md", Data: bytes.Replace(text, []byte("triage"), []byte("evil"), 1)}}, "skill-md", false},
		"another version inside":  {kortecx("triage", "2"), "kortecx", false},
		"another kortecx name":    {kortecx("evil", "1"), "kortecx", false},
		"a file more":             {kortecx("triage", "1", pack.File{Path: "evil.sh"}), "kortecx", false},
		"another format":          {skill(), "kortecx", false},
		"no format":               {skill(), "", false},
		"a format that is none":   {skill(), "\x1b[31m", false},
	} {
		release := hubapi.Release{Name: "triage", Author: "acme", Version: "1", Format: tt.format, Digest: string(pack.DigestFiles(tt.files))}
		got, err := fakeHub(t, release, archiveOf(t, "triage", tt.files), "application/gzip").Archive(t.Context(), hubapi.Ref{Name: "triage"})
		if (err == nil) != tt.ok || (got != nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && hubapi.AsError(err).ID() == "" {
			t.Errorf("%s: %v has no id", name, err)
		}
	}
}

func TestAnswersToWritesAreChecked(t *testing.T) {
	files := []pack.File{{Path: "skill.json", Data: []byte(`{"schema":"kortecx.skill/v1","name":"triage","version":"1"}`)}, {Path: "instructions.md", Data: []byte("# x\n")}}
	digest := string(pack.DigestFiles(files))
	good := hubapi.Release{Name: "triage", Author: "acme", Version: "1", Digest: digest, Status: hubapi.Active}
	with := func(change func(*hubapi.Release)) hubapi.Release {
		r := good
		change(&r)
		return r
	}
	for name, tt := range map[string]struct {
		release hubapi.Release
		id      string
	}{
		"the truth":       {good, ""},
		"nothing":         {hubapi.Release{}, "fetch.type"},
		"another name":    {with(func(r *hubapi.Release) { r.Name = "other" }), "fetch.type"},
		"another author":  {with(func(r *hubapi.Release) { r.Author = "evil" }), "fetch.type"},
		"another version": {with(func(r *hubapi.Release) { r.Version = "2" }), "fetch.type"},
		"an author ..":    {with(func(r *hubapi.Release) { r.Author = ".." }), "fetch.type"},
		"another digest":  {with(func(r *hubapi.Release) { r.Digest = "sp1:other" }), "fetch.digest"},
	} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if strings.Contains(r.URL.Path, "/skills-inbox/") {
				sendJSON(w, 200, hubapi.InboxMove{Slug: tt.release.Name, NewStatus: hubapi.Active, Release: tt.release})
				return
			}
			sendJSON(w, 201, hubapi.PushResult{Release: tt.release})
		})
		c := newClient(t, hubclient.Config{Endpoint: url})
		_, err := c.Push(t.Context(), hubclient.PushInput{Name: "triage", Author: "acme", Files: files})
		if got := idOf(err); got != tt.id {
			t.Errorf("push, %s: %v", name, err)
		}
		ref := hubapi.Ref{Author: "acme", Name: "triage", Version: "1"}
		_, err1 := c.Approve(t.Context(), ref)
		_, err2 := c.Act(t.Context(), ref, "approve", hubapi.Review{})
		if idOf(err1) != tt.id || idOf(err2) != tt.id {
			t.Errorf("approve, %s: %v, %v", name, err1, err2)
		}
	}
	// An approval that approves nothing.
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		r := good
		r.Status = hubapi.Rejected
		sendJSON(w, 200, hubapi.InboxMove{Slug: "triage", NewStatus: r.Status, Release: r})
	})
	_, err := newClient(t, hubclient.Config{Endpoint: url}).Approve(t.Context(), hubapi.Ref{Name: "triage"})
	want(t, "not approved", err, hubapi.Internal, "fetch.type")

	body := "# x\n"
	m, _, _ := pack.ParseManifest(files[0].Data, pack.PackForm)
	ref := pack.InstructionsRef([]byte(body))
	for name, tt := range map[string]struct {
		added hubapi.CatalogAdded
		id    string
	}{
		"the truth":     {hubapi.CatalogAdded{Name: "triage", InstructionsRef: ref, SkillRef: m.SkillRef(ref)}, ""},
		"nothing":       {hubapi.CatalogAdded{}, "fetch.type"},
		"another name":  {hubapi.CatalogAdded{Name: "x", InstructionsRef: ref, SkillRef: m.SkillRef(ref)}, "fetch.type"},
		"another text":  {hubapi.CatalogAdded{Name: "triage", InstructionsRef: "00", SkillRef: m.SkillRef(ref)}, "fetch.digest"},
		"another skill": {hubapi.CatalogAdded{Name: "triage", InstructionsRef: ref, SkillRef: "00"}, "fetch.digest"},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, tt.added) })
		_, err := newClient(t, hubclient.Config{Endpoint: url}).CatalogAdd(t.Context(), hubapi.CatalogAdd{Manifest: string(files[0].Data), Instructions: &body})
		if got := idOf(err); got != tt.id {
			t.Errorf("catalog add, %s: %v", name, err)
		}
	}
}

func idOf(err error) string {
	if err == nil {
		return ""
	}
	return hubapi.AsError(err).ID()
}

// Kilobytes on the wire must not become gigabytes here.
func TestAnswersCostLittle(t *testing.T) {
	timetest.LongInOneGoroutine(t)
	pressed := func(text string) []byte {
		var b bytes.Buffer
		zw := gzip.NewWriter(&b)
		_, _ = io.WriteString(zw, text)
		_ = zw.Close()
		return b.Bytes()
	}
	zeros := strings.Repeat("0,", 31<<20)
	for name, tt := range map[string]struct {
		status int
		body   []byte
		id     string
	}{
		"63 KB of gzip":    {200, pressed(`{"x":[` + zeros + `0]}`), "fetch.too-large"},
		"1 MiB of numbers": {200, pressed(`{"x":[` + zeros[:1<<19] + `0]}`), "fetch.type"},
		"an error":         {400, pressed(`{"error":{"code":"invalid","message":"m","x":[` + zeros + `0]}}`), ""},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(tt.status)
			_, _ = w.Write(tt.body)
		})
		c := newClient(t, hubclient.Config{Endpoint: url})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		_, err := c.Release(t.Context(), hubapi.Ref{Name: "triage"})
		runtime.ReadMemStats(&after)
		if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || idOf(err) != tt.id || grown > 48 {
			t.Errorf("%s: %v, %d MiB were allocated", name, err, grown)
		}
	}
}

func TestListsEnd(t *testing.T) {
	timetest.LongInOneGoroutine(t)
	n := 0
	for name, skills := range map[string]func() []hubapi.CatalogSkill{
		"the same again": func() []hubapi.CatalogSkill { return []hubapi.CatalogSkill{{Name: "same"}} },
		"backwards":      func() []hubapi.CatalogSkill { return []hubapi.CatalogSkill{{Name: "b"}, {Name: "a"}} },
		"for ever": func() []hubapi.CatalogSkill {
			n++
			return []hubapi.CatalogSkill{{Name: fmt.Sprintf("n%09d", n), Description: strings.Repeat("x", 1<<20)}}
		},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, 200, hubapi.CatalogList{HasMore: true, Skills: skills()})
		})
		if _, err := newClient(t, hubclient.Config{Endpoint: url}).CatalogAll(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after_name") != "" {
			sendJSON(w, 200, map[string]any{"has_more": true, "skills": nil})
			return
		}
		sendJSON(w, 200, hubapi.CatalogList{HasMore: true, Skills: []hubapi.CatalogSkill{{Name: "a"}, {Name: "b"}}})
	})
	all, err := newClient(t, hubclient.Config{Endpoint: url}).CatalogAll(t.Context())
	if err != nil || len(all.Skills) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	// Pages that each come in time must not take for ever together.
	n = 0
	url = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(20 * time.Millisecond)
		n++
		sendJSON(w, 200, hubapi.CatalogList{HasMore: true, Skills: []hubapi.CatalogSkill{{Name: fmt.Sprintf("n%09d", n)}}})
	})
	_, err = newClient(t, hubclient.Config{Endpoint: url, Timeout: 200 * time.Millisecond}).CatalogAll(t.Context())
	want(t, "slow pages", err, hubapi.Timeout, "fetch.timeout")

	next := int64(0)
	url = serve(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, hubapi.LogEntries{Next: &next}) })
	_, err = newClient(t, hubclient.Config{Endpoint: url}).LastLogEntries(t.Context(), hubapi.Ref{}, 0, 10)
	want(t, "a log that stands still", err, hubapi.Internal, "fetch.type")
}

func TestNothingIsNull(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, 200, map[string]any{"items": nil, "skills": nil, "events": nil})
	})
	c := newClient(t, hubclient.Config{Endpoint: url})
	found, err1 := c.Search(t.Context(), "", hubclient.SearchOptions{})
	inbox, err2 := c.Inbox(t.Context(), 0, false)
	list, err3 := c.CatalogList(t.Context(), 0, "")
	events, err4 := c.Events(t.Context(), 0, 0)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || found.Items == nil || inbox.Items == nil || list.Skills == nil || events.Events == nil {
		t.Errorf("%+v %+v %+v %+v", found, inbox, list, events)
	}
	url = serve(t, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, hubapi.CatalogForm{Found: true}) })
	_, err := newClient(t, hubclient.Config{Endpoint: url}).CatalogForm(t.Context(), "x")
	want(t, "found and not shown", err, hubapi.Internal, "fetch.type")
}

// A hub says what is wrong with a request; what is wrong with the command line, or
// with this machine's patience, it cannot know.
func TestAHubChoosesNoExitCode(t *testing.T) {
	for code, status := range map[hubapi.Code]int{hubapi.Usage: 400, hubapi.Interrupted: 499, hubapi.Timeout: 504, "brand_new": 418, "": 408} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if code == "" {
				w.WriteHeader(status)
				return
			}
			sendJSON(w, status, hubapi.ErrorBody{Error: hubapi.Errorf(code, "no")})
		})
		_, err := newClient(t, hubclient.Config{Endpoint: url}).Search(t.Context(), "", hubclient.SearchOptions{})
		if e := hubapi.AsError(err); e == nil || e.Code.Exit() != hubapi.ExitFailed {
			t.Errorf("%s: %+v", code, e)
		}
	}
}

func TestHeadersThatDoNotCome(t *testing.T) {
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := newClient(t, hubclient.Config{Endpoint: url, Transport: &http.Transport{ResponseHeaderTimeout: 50 * time.Millisecond}})
	_, err := c.Search(t.Context(), "", hubclient.SearchOptions{})
	if e := want(t, "no header", err, hubapi.Timeout, "fetch.timeout"); e.Code.Exit() != hubapi.ExitTimeout {
		t.Errorf("%+v", e)
	}
}

func TestHintsAboutTLS(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of each handshake
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := serve(t, http.NotFound)
	for endpoint, hint := range map[string]string{
		secure.URL: "--tls-ca",
		strings.Replace(secure.URL, "https:", "http:", 1): "https://",
		strings.Replace(plain, "http:", "https:", 1):      "http://",
	} {
		_, err := newClient(t, hubclient.Config{Endpoint: endpoint}).Search(t.Context(), "", hubclient.SearchOptions{})
		if e := want(t, endpoint, err, hubapi.Unavailable, "fetch.tls"); !strings.Contains(e.Hint, hint) || strings.Contains(e.Hint, "kx serve") {
			t.Errorf("%s: %+v", endpoint, e)
		}
	}
	for endpoint, hint := range map[string]string{
		"127.0.0.1:50151": "http://127.0.0.1:50151", "localhost:50151": "http://localhost:50151", "hub.example": "http://hub.example",
		"[::1]:50151": "http://[::1]:50151", "user:hunter2@hub.example": "", "ftp://x": "", "": "",
	} {
		_, err := hubclient.New(hubclient.Config{Endpoint: endpoint})
		if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Usage || !strings.Contains(e.Hint, hint) || strings.Contains(e.Message+e.Hint, "hunter2") {
			t.Errorf("%q: %+v", endpoint, e)
		}
	}
	for _, token := range []string{"a\x00b", "\x1b[31m", "é", "a\u202e", "a\tb"} {
		if _, err := hubclient.New(hubclient.Config{Endpoint: "http://x", Token: token}); err == nil || hubapi.AsError(err).Code != hubapi.Usage {
			t.Errorf("token %q: %v", token, err)
		}
	}
}
