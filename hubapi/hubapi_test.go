package hubapi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRef(t *testing.T) {
	for text, want := range map[string]Ref{
		"triage":                   {Name: "triage"},
		"acme/triage":              {Author: "acme", Name: "triage"},
		"acme/triage@1":            {Author: "acme", Name: "triage", Version: "1"},
		"triage@1.2.3-rc.1+b":      {Name: "triage", Version: "1.2.3-rc.1+b"},
		"0/a..b_c-d@v":             {Author: "0", Name: "a..b_c-d", Version: "v"},
		"a@" + big(MaxVersion):     {Name: "a", Version: big(MaxVersion)},
		big(MaxName) + "/b@~%?#:;": {Author: big(MaxName), Name: "b", Version: "~%?#:;"},
	} {
		got, err := ParseRef(text)
		if err != nil || got != want {
			t.Errorf("ParseRef(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%+v is written %q, want %q", got, got, text)
		}
	}
	for _, text := range []string{
		"", "@", "@1", "/a", "a/", "a//b", "a/b/c", "A", "a b", "-a", ".a", "_a", "a@", "a@@1", "a@1@2", "a@1 2",
		"a@.", "a@..", `a@1\2`, "a@1/2", "a@ü", "a@\x7f", "a@\n", "ä", "a/ä", big(MaxName + 1), "a@" + big(MaxVersion+1), "a\x00", "a\n",
		"con", "nul", "aux.x", "com1", "lpt9.old", "prn@1", "con/a", "a/con", "a.", "x..", "a./b",
	} {
		got, err := ParseRef(text)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code != Invalid || e.Hint == "" {
			t.Errorf("ParseRef(%q) = %+v, %v; want Invalid with a hint", text, got, err)
		}
		if len(fmt.Sprint(err)) > 200 {
			t.Errorf("the error about a text of %d bytes is %d bytes long", len(text), len(fmt.Sprint(err)))
		}
	}
}

func big(n int) string { return strings.Repeat("x", n) }

func FuzzParseRef(f *testing.F) {
	f.Add("acme/triage@1")
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ParseRef(text)
		if err == nil && ref.String() != text {
			t.Fatalf("%q is read as %+v, which is written %q", text, ref, ref)
		}
	})
}

func TestServerFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadServerFile(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before: %v", err)
	}
	mine := ServerFile{Address: "http://127.0.0.1:50151", PID: os.Getpid(), Key: "k1"}
	if err := RemoveServerFile(dir, mine); err != nil {
		t.Fatalf("removing what is not there: %v", err)
	}
	if err := WriteServerFile(dir, mine); err != nil {
		t.Fatal(err)
	}
	mine.V = 1
	got, err := ReadServerFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mine, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "server.json")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	next := mine
	next.Key = "k2"
	if err := WriteServerFile(dir, next); err != nil {
		t.Fatal(err)
	}
	if err := RemoveServerFile(dir, mine); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadServerFile(dir); err != nil || got.Key != "k2" {
		t.Errorf("a late server took its successor's file away: %+v, %v", got, err)
	}
	if err := RemoveServerFile(dir, next); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadServerFile(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after: %v", err)
	}
}

func TestServerFileIsReadStrictly(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"v":1,"address":"http://127.0.0.1:1","pid":1,"key":"k"}`:           true,
		`{"v":1,"address":"http://127.0.0.1:1","pid":1,"key":"k","newer":1}`: true,
		`{"v":2,"address":"http://127.0.0.1:1","pid":1,"key":"k"}`:           false,
		`{"v":1,"address":"","pid":1,"key":"k"}`:                             false,
		`{"v":1,"address":"http://127.0.0.1:1","pid":0,"key":"k"}`:           false,
		`{"v":1,"address":"http://127.0.0.1:1","pid":1,"key":""}`:            false,
		`{"v":1,"v":1,"address":"http://127.0.0.1:1","pid":1,"key":"k"}`:     false,
		``:                          false,
		strings.Repeat(" ", 20<<10): false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "server.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadServerFile(dir); (err == nil) != ok {
			t.Errorf("%.80q: %v", text, err)
		}
	}
}

func TestCodesAndStatuses(t *testing.T) {
	for code, row := range table {
		if code.HTTP() != row.http || code.Exit() != row.exit {
			t.Errorf("%s: %d, %d", code, code.HTTP(), code.Exit())
		}
		if code != Usage && code != Interrupted && CodeOf(code.HTTP()) != code {
			t.Errorf("status %d is %s, want %s", code.HTTP(), CodeOf(code.HTTP()), code)
		}
	}
	for status, want := range map[int]Code{421: Invalid, 405: Invalid, 429: RateLimited, 502: Unavailable, 408: Timeout, 500: Internal, 599: Internal} {
		if got := CodeOf(status); got != want {
			t.Errorf("status %d is %s, want %s", status, got, want)
		}
	}
	if Code("").HTTP() != 500 || Code("new").Exit() != ExitFailed {
		t.Error("an unknown code is not a fault of the server")
	}
	if AsError(nil) != nil {
		t.Error("no error became one")
	}
	if e := AsError(fmt.Errorf("wrapped: %w", Errorf(Conflict, "c"))); e.Code != Conflict {
		t.Errorf("wrapped: %v", e)
	}
	if e := AsError(errors.New("x")); e.Code != Internal {
		t.Errorf("foreign: %v", e)
	}
}
