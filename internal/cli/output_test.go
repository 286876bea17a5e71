package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hubapi"
)

// testEnv is a run of args with a home of its own.
func testEnv(t *testing.T, settings map[string]string, args ...string) (Env, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	return Env{
		Args: append([]string{"kx"}, args...), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string {
			if name == "KX_HOME" {
				return dir
			}
			return settings[name]
		},
		Dir: dir, HomeDir: dir, OS: "linux", Now: func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) },
	}, &stdout, &stderr
}

func TestAPanicIsOneLine(t *testing.T) {
	tree := func(a *app) *cli.Command {
		root := a.group("kx", "test", "", a.leaf("fall", "panic", spec{}, []cli.Flag{jsonFlag()}, func(context.Context, *cli.Command) error {
			var form hubapi.CatalogForm
			_ = form.Summary.Name
			return nil
		}))
		return root
	}
	env, stdout, stderr := testEnv(t, nil, "fall")
	code := run(env, "kx", tree)
	if code != hubapi.ExitFailed || stdout.Len() != 0 || strings.Count(stderr.String(), "\n") != 1 || !strings.HasPrefix(stderr.String(), "kx: internal fault: runtime error: ") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
	env, _, stderr = testEnv(t, map[string]string{"KX_DEBUG": "1"}, "fall")
	if code := run(env, "kx", tree); code != hubapi.ExitFailed || !strings.Contains(stderr.String(), "goroutine") || !strings.Contains(stderr.String(), "output_test.go") {
		t.Errorf("%d: %s", code, stderr)
	}
}

// Errors that were joined had a literal backslash and n between them.
func TestJoinedErrorsAreOneLine(t *testing.T) {
	full := errors.New("no space left")
	tree := func(a *app) *cli.Command {
		return a.group("kx", "test", "", a.leaf("fill", "fail twice", spec{}, []cli.Flag{jsonFlag()}, func(context.Context, *cli.Command) error {
			return errors.Join(fmt.Errorf("cannot keep the packs: %w", full), errors.Join(nil, errors.New("a\nb")))
		}))
	}
	env, _, stderr := testEnv(t, nil, "fill")
	run(env, "kx", tree)
	// What is no seam of two errors stays visible.
	if got := stderr.String(); got != `kx: cannot keep the packs: no space left; a\nb`+"\n" {
		t.Errorf("%q", got)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// What makes a key and cannot show it leaves none.
func TestAKeyThatNobodySawIsRevoked(t *testing.T) {
	for _, flags := range [][]string{nil, {"--json"}} {
		env, stdout, stderr := testEnv(t, nil, append([]string{"hub", "token", "new", "--role", "node"}, flags...)...)
		env.Stdout, env.Rand = fullDisk{}, rand.Reader
		if code := Kx(env); code != hubapi.ExitFailed || !strings.Contains(stderr.String(), "the key was revoked again") || strings.Contains(stderr.String(), "not shown again") {
			t.Errorf("%q: %d: %s", flags, code, stderr)
		}
		env.Stdout, env.Args = stdout, []string{"kx", "hub", "token", "list", "--json"}
		if code := Kx(env); code != hubapi.ExitOK || strings.Count(stdout.String(), `"role": "node"`) != 1 || strings.Count(stdout.String(), `"revoked_at": "`) != 1 {
			t.Errorf("%q: %d: %s", flags, code, stdout)
		}
	}
}

// One that cannot be revoked either is named.
func TestAKeyThatNobodySawAndIsValid(t *testing.T) {
	const made = `{"id": "k1", "prefix": "kx_1", "name": "", "tenant": "local", "role": "node", "authors": [], "rate": 0, "state": "valid", "created_at": "2026-11-30T12:00:00Z", "created_by": "root", "token": "kx_1"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, made)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	env, _, stderr := testEnv(t, nil, "hub", "token", "new", "--role", "node", "--endpoint", server.URL)
	env.Stdout = fullDisk{}
	if code := Kx(env); code != hubapi.ExitFailed || !strings.Contains(stderr.String(), "the key k1, and it is valid") || !strings.Contains(stderr.String(), "token revoke k1") {
		t.Errorf("%d: %s", code, stderr)
	}
}

func TestLostOutputIsAFailure(t *testing.T) {
	for _, args := range [][]string{
		{"version"},
		{"version", "--json"},
		{"--version"},
		{"--help"},
		{"push", "--help"},
		{"skills"},
		{"skills", "--json"},
		{"search"},
		{"search", "--json"},
		{"skills", "list"},
		{"inbox", "list"},
		{"keys", "list"},
		{"completion", "bash"},
	} {
		env, _, stderr := testEnv(t, nil, args...)
		env.Stdout = fullDisk{}
		code := Kx(env)
		if code != hubapi.ExitFailed || strings.Count(stderr.String(), "cannot write the output: no space left on device") != 1 {
			t.Errorf("%v: %d: %s", args, code, stderr)
		}
	}
}

func TestErrorsAreNoFlood(t *testing.T) {
	e := hubapi.Errorf(hubapi.Invalid, "no")
	for range 5000 {
		e.Details = append(e.Details, hubapi.Detail{ID: "x", Message: "y"})
	}
	env, _, stderr := testEnv(t, nil)
	a := &app{Env: env, program: "kx"}
	if code := a.exit(e); code != hubapi.ExitFailed || strings.Count(stderr.String(), "\n") != maxDetails+2 || !strings.Contains(stderr.String(), "and 4900 more") {
		t.Errorf("%d: %d lines", code, strings.Count(stderr.String(), "\n"))
	}
	if got := brief(strings.Repeat("é", 300)); got != strings.Repeat("é", maxBrief)+"…" {
		t.Errorf("%q", got)
	}
	if got := brief("short"); got != "short" {
		t.Errorf("%q", got)
	}
}

// A panic on another goroutine than the command's printed Go's trace of it.
func TestAPanicOfAWorkerIsOneLine(t *testing.T) {
	for _, debugs := range []string{"", "1"} {
		env, stdout, stderr := testEnv(t, map[string]string{"KX_DEBUG": debugs}, "skills", "install", "./notes", "--to", "out")
		if err := os.Mkdir(filepath.Join(env.Dir, "notes"), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: notes\ndescription: Files what came in. Use it every morning.\n---\n\nFile it.\n"
		if err := os.WriteFile(filepath.Join(env.Dir, "notes", "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		now := env.Now
		env.Rand = rand.Reader
		env.Now = func() time.Time {
			if strings.Contains(string(debug.Stack()), "accept.(*Gate)") { // which judges on all processors
				panic("boom")
			}
			return now()
		}
		code := Kx(env)
		fault := "kx: internal fault: boom; please report it"
		if code != hubapi.ExitFailed || stdout.Len() != 0 || !strings.Contains(stderr.String(), fault) {
			t.Errorf("%d: %s%s", code, stdout, stderr)
		}
		if lines := strings.Count(stderr.String(), "\n"); debugs == "" && lines != 1 {
			t.Errorf("%d lines: %s", lines, stderr)
		}
		if debugs != "" && !strings.Contains(stderr.String(), "accept.(*Gate)") {
			t.Errorf("no place: %s", stderr)
		}
	}
}

// A panic in what a server does by itself ended the server.
func TestAPanicBesideAServerIsLoggedAndBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		calls := 0
		keepUp(t.Context(), "upkeep", slog.New(slog.NewTextHandler(&log, nil)), func() {
			if calls++; calls == 1 {
				panic("boom")
			}
		})
		if got := log.String(); calls != 2 || !strings.Contains(got, "level=ERROR msg=panic task=upkeep panic=boom") || !strings.Contains(got, "output_test.go") {
			t.Errorf("%d calls, logged %q", calls, got)
		}
	})
}
