package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
)

// runKazma is one run of kazma in an environment.
func runKazma(t *testing.T, settings map[string]string, args ...string) (code int, stdout, stderr, dir string) {
	t.Helper()
	env, out, errs := testEnv(t, settings, args...)
	env.Rand = rand.Reader
	code = Kazma(env)
	return code, out.String(), errs.String(), env.Dir
}

func kazmaFiles(extra string) []pack.File {
	const head = "name: good\nversion: 1.0.0\ndescription: Does things.\nauthor: local\nlicense: MIT\nentry_point: main:X\n"
	return []pack.File{
		{Path: "main.py", Data: []byte("class X: pass\n")},
		{Path: "skill_manifest.yaml", Data: []byte(head + extra)},
	}
}

// kazmaHubOf serves one release, as wrongly as change makes it.
func kazmaHubOf(t *testing.T, files []pack.File, change func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	release := hubapi.Release{
		Name: "good", Author: "local", Version: "1.0.0", Status: hubapi.Active, Format: "kazma", Tags: []string{},
		Digest: string(pack.DigestFiles(files)),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case change != nil && change(w, r):
		case strings.HasSuffix(r.URL.Path, "/archive"):
			archive := hubapi.Archive{Top: "good"}
			for _, f := range files {
				archive.Files = append(archive.Files, hubapi.File(f))
			}
			w.Header().Set("Content-Type", "application/gzip")
			_ = new(hubapi.Archiver).Write(w, archive)
		case strings.Contains(r.URL.Path, "/releases/"):
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(release)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Spec 12 no. 10 and 16, and what a hub that lies or breaks can do to an install: in
// each case nothing is written, exit 1, and it is said what happened.
func TestKazmaInstallsNothingFromAHubThatLies(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked for %s, with the key %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	onArchive := func(do http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/archive") {
				w.Header().Set("Content-Type", "application/gzip")
				do(w, r)
				return true
			}
			return false
		}
	}
	packed := func(files []pack.File, top string) []byte {
		var b bytes.Buffer
		archive := hubapi.Archive{Top: top}
		for _, f := range files {
			archive.Files = append(archive.Files, hubapi.File(f))
		}
		if err := new(hubapi.Archiver).Write(&b, archive); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	other := kazmaFiles("tags: [other]\n")
	for _, tt := range []struct {
		name  string
		files []pack.File
		hub   func(w http.ResponseWriter, r *http.Request) bool
		says  string
	}{
		{"wrong digest", kazmaFiles(""), onArchive(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed(other, "good")) }), "what it sent is sp1:"},
		{"truncated archive", kazmaFiles(""), onArchive(func(w http.ResponseWriter, _ *http.Request) {
			whole := packed(kazmaFiles(""), "good")
			_, _ = w.Write(whole[:len(whole)/2])
		}), "archive"},
		{"huge answer", kazmaFiles(""), onArchive(func(w http.ResponseWriter, _ *http.Request) {
			chunk := make([]byte, 1<<20)
			for range 80 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}), ""},
		{"another folder", kazmaFiles(""), onArchive(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed(kazmaFiles(""), "other")) }), "folder called"},
		{"redirect to another host", kazmaFiles(""), onArchive(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/x", http.StatusFound)
		}), ""},
		{"a page instead of an answer", kazmaFiles(""), func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte("<html>"))
			return true
		}, ""},
		{"out of order", kazmaFiles(""), func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}, "500"},
		{"checksum of other code", kazmaFiles("checksum: " + sign.Checksum([]byte("other")) + "\nsignature: " + strings.Repeat("a", 64) + "\n"), nil, "sign.digest"},
		{"half of the pair", kazmaFiles("checksum: " + sign.Checksum([]byte("class X: pass\n")) + "\n"), nil, "sign.downgraded"},
		{"compiled code in the pack", append([]pack.File{{Path: "__pycache__/main.cpython-312.pyc", Data: []byte("x")}}, kazmaFiles("")...), nil, "pack.bytecode"},
		{"an entry outside", []pack.File{{Path: "skill_manifest.yaml", Data: []byte("name: good\nversion: 1.0.0\ndescription: Does.\nauthor: local\nlicense: MIT\nentry_point: ../../x:X\n")}}, nil, "entry.path"},
		{"by another author", []pack.File{{Path: "main.py"}, {Path: "skill_manifest.yaml", Data: []byte("name: good\nversion: 1.0.0\ndescription: Does.\nauthor: mallory\nlicense: MIT\n")}}, nil, "mallory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := kazmaHubOf(t, tt.files, tt.hub)
			code, _, stderr, dir := runKazma(t, map[string]string{"KX_TOKEN": "a-key"}, "hub", "--hub-url", url, "install", "local/good", "--to", "OUT", "--allow-findings")
			entries, _ := os.ReadDir(filepath.Join(dir, "OUT"))
			if code != hubapi.ExitFailed || len(entries) != 0 || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit %d, %d written, want %q in: %s", code, len(entries), tt.says, stderr)
			}
		})
	}
}

// An honest hub of the same kind, so that the test above does not pass for another
// reason.
func TestKazmaInstallsFromAHubThatDoesNotLie(t *testing.T) {
	url := kazmaHubOf(t, kazmaFiles(""), nil)
	code, stdout, stderr, dir := runKazma(t, map[string]string{"LC_ALL": "C", "LANG": "C"}, "hub", "--hub-url", url, "install", "kazma-hub://local/good@1.0.0", "--to", "OUT")
	if _, err := os.Stat(filepath.Join(dir, "OUT", "good", "main.py")); err != nil || code != hubapi.ExitOK {
		t.Errorf("exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
}

// A hub that does not answer is given up when the user interrupts.
func TestKazmaLeavesAHubThatDoesNotAnswer(t *testing.T) {
	asked := make(chan struct{}, 8)
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-stop
	}))
	defer server.Close()
	defer close(stop)
	env, _, errs := testEnv(t, nil, "hub", "--hub-url", server.URL, "search", "x")
	ctx, cancel := context.WithCancel(t.Context())
	env.Context = ctx
	ended := make(chan int, 1)
	go func() { ended <- Kazma(env) }()
	select {
	case <-asked:
	case code := <-ended:
		t.Fatalf("it asked nobody: exit %d, %s", code, errs)
	}
	cancel()
	select {
	case code := <-ended:
		if code != hubapi.ExitInterrupted {
			t.Errorf("exit %d: %s", code, errs)
		}
	case <-time.After(timetest.Limit(10 * time.Second)):
		t.Fatal("it still waits")
	}
}

// Spec 12, acknowledged: the reference's tables count code points, and print what
// strangers wrote as it is.
func TestKazmaTablesKeepTheirColumns(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int // of the text on a terminal
	}{
		{"plain", 5},
		{"كاظمة", 5},
		{"工具", 4},
		{"🔑", 2},
		{"👩‍👩‍👧‍👦", 2},
		{"e\u0301te\u0301", 3},
		{"\u202eevil", 10},  // escaped, so that it cannot turn the line around
		{"\x1b[31mred", 11}, // escaped, so that it cannot colour it
		{"a\nb", 4},         // a row stays one line
		{"", 0},
	} {
		got := padded(tt.text, nameColumn)
		if have := termtext.Width(got); have != nameColumn {
			t.Errorf("%q fills %d columns, want %d", tt.text, have, nameColumn)
		}
		if text := strings.TrimRight(got, " "); termtext.Width(text) != tt.width {
			t.Errorf("%q is %q, %d columns wide, want %d", tt.text, text, termtext.Width(text), tt.width)
		}
		if strings.ContainsAny(got, "\x1b\n\u202e") {
			t.Errorf("%q is printed as %q", tt.text, got)
		}
	}
	long := strings.Repeat("工", 30)
	if got := cutPadded(long, descriptionColumn); got != strings.Repeat("工", 20) {
		t.Errorf("%q", got)
	}
	if got := cutPadded("x"+long, descriptionColumn); termtext.Width(got) != descriptionColumn || !strings.HasSuffix(got, " ") {
		t.Errorf("%q: half a character is not shown", got)
	}
	if got := padded("a-name-that-is-longer-than-its-column", nameColumn); got != "a-name-that-is-longer-than-its-column " {
		t.Errorf("%q", got)
	}
}

func TestCommaLists(t *testing.T) {
	for text, want := range map[string]string{
		"": "", ",": "", " , ,": "", "web": "web", "web,": "web", " web , db ": "web|db", "a b,c": "a b|c",
	} {
		if got := strings.Join(commaList(text), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Versions of hub_versioning: only three numbers compare, numerically.
func TestOlder(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"1.0.0", "1.0.0", false},
		{"0.9.0", "1.0.0", true},
		{"1.0.0", "1.5.0", true},
		{"1.2.3", "1.2.4", true},
		{"1.10.0", "1.9.0", false},
		{"100.200.300", "2.3.1", false},
		{"1.2", "1.2.3", false},
		{"a.b.c", "1.0.0", false},
		{"1.0.0", "1.0.0-rc1", false},
		{"-1.0.0", "1.0.0", false},
		{" 1.0.0", "2.0.0", false},
	} {
		if got := older(tt.a, tt.b); got != tt.want {
			t.Errorf("older(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// syncBuffer is a buffer that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// kazma serve says which skills are here, and one that is refused keeps it from
// nothing.
func TestKazmaServeSaysWhichSkillsAreHere(t *testing.T) {
	for _, tt := range []struct {
		name, settings string
		want           []string
	}{
		{"as configured", "skills: {path: skills}\n", []string{`a skill was found" skill=good`, `a skill was refused" folder=bad`, "loaded unsigned", "found=1 refused=1"}},
		{"turned off", "skills: {path: skills, auto_discover: false}\n", []string{"auto_discover is false"}},
		{"settings that cannot be read", "{{{{", []string{"no skills were looked for"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env, _, _ := testEnv(t, nil, "serve", "--dev-allow-local", "--listen", "127.0.0.1:0")
			errs := &syncBuffer{}
			env.Stderr, env.Rand = errs, rand.Reader
			for file, text := range map[string]string{
				"kazma.yaml":                      tt.settings,
				"skills/good/main.py":             "class X: pass\n",
				"skills/good/skill_manifest.yaml": string(kazmaFiles("")[1].Data),
				"skills/bad/skill_manifest.yaml":  "name: bad\n",
			} {
				at := filepath.Join(env.Dir, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			env.Context = ctx
			ended := make(chan int, 1)
			go func() { ended <- Kazma(env) }()
			said := func(text string) bool { return strings.Contains(errs.String(), text) }
			missing := func(text string) bool { return !said(text) }
			for deadline := time.Now().Add(timetest.Limit(20 * time.Second)); !said("administrator of this hub") || slices.ContainsFunc(tt.want, missing); time.Sleep(5 * time.Millisecond) {
				select {
				case code := <-ended:
					t.Fatalf("it does not serve: exit %d, %s", code, errs)
				default:
				}
				if time.Now().After(deadline) {
					t.Fatalf("it does not serve, or not all of %q is in\n%s", tt.want, errs)
				}
			}
			cancel()
			if code := <-ended; code != hubapi.ExitOK {
				t.Errorf("exit %d", code)
			}
		})
	}
}

// The reference's environment: its names are read by kazma alone, and a flag comes
// first.
func TestKazmaHubIsNamedByFlagOrEnvironment(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		settings map[string]string
		args     string
		url      string
		dir      string
	}{
		{nil, "", "", ""},
		{map[string]string{"KAZMA_HUB_URL": "http://a"}, "", "http://a", ""},
		{map[string]string{"KAZMA_HUB_DB": dir}, "", "", dir},
		{map[string]string{"KAZMA_HUB_URL": "http://a", "KAZMA_HUB_DB": dir}, "", "http://a", ""},
		{map[string]string{"KAZMA_HUB_URL": "http://a"}, "--registry-path " + dir, "", dir},
		{map[string]string{"KAZMA_HUB_DB": dir}, "--hub-url http://b", "http://b", ""},
	} {
		env, _, _ := testEnv(t, tt.settings)
		a := &app{Env: env, program: "kazma"}
		flags := map[string]string{}
		if name, value, ok := strings.Cut(tt.args, " "); ok {
			flags[name] = value
		}
		got, err := a.kazmaHubOf(flags["--hub-url"], flags["--registry-path"])
		if err != nil || got.url != tt.url || got.dir != tt.dir {
			t.Errorf("%v %q: %+v, %v", tt.settings, tt.args, got, err)
		}
		a.program = "kx"
		if got, err := a.kazmaHubOf(flags["--hub-url"], flags["--registry-path"]); err != nil || got != (kazmaHub{}) {
			t.Errorf("kx %v: %+v, %v", tt.settings, got, err)
		}
	}
}
