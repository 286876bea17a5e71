package termtext

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "email-triage — naïve 日本", "email-triage — naïve 日本"},
		{"empty", "", ""},
		{"operating system command", "\x1b]8;;http://evil\aclick", `\x1b]8;;http://evil\x07click`},
		{"line ends", "a\nb\r\tc", `a\nb\r\tc`},
		{"delete", "a\x7f", `a\x7f`},
		{"one-character control sequence introducer", "\u009b31m", `\u009b31m`},
		{"no-break space stays", "a\u00a0b", "a\u00a0b"},
		{"soft hyphen", "a\u00adb", `a\u00adb`},
		{"reordering", "a\u202eb", `a\u202eb`},
		{"byte order mark", "\ufeffa", `\ufeffa`},
		{"tag characters", "Hello\U000e0048", `Hello\U000e0048`},
		{"separator", "a\u2028b", `a\u2028b`},
		{"not UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
		{"real replacement character", "a\ufffdb", "a\ufffdb"},
		{"emoji family", "👩‍👧", "👩‍👧"},
		{"NUL", "a\x00", `a\x00`},
	} {
		if got := Escape(tc.in); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestJSONKeepsTheMeaning(t *testing.T) {
	in := map[string]string{"k": "a\u009b\u202e\U000e0048\x7f\x1b日\n"}
	doc, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	out := JSON(doc)
	if s := string(out); !strings.Contains(s, `a\u009b\u202e\udb40\udc48\u007f\u001b日\n`) || !strings.Contains(s, "{\n  ") {
		t.Errorf("got %s", s)
	}
	var back map[string]string
	if err := json.Unmarshal(out, &back); err != nil || back["k"] != in["k"] {
		t.Errorf("read back %q, %v", back["k"], err)
	}
	plain := []byte("{\"a\": \"ü\"}\n")
	if got := JSON(plain); &got[0] != &plain[0] {
		t.Error("a document with nothing to escape was copied")
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[31m", "\xff\xfe", "\u202e", "a\u2028\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q became %q", s, got)
		}
		for _, r := range got {
			if unsafe(r) {
				t.Fatalf("%q still holds %U", got, r)
			}
		}
		if Escape(got) != got {
			t.Fatalf("escaping %q twice changes it", s)
		}
	})
}
