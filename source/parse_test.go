package source

import (
	"errors"
	"testing"

	"github.com/kortecx/kx/hubapi"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text, canonical string // canonical is empty when it is the text
		want            Ref
	}{
		{"triage", "", Ref{Kind: Hub, Hub: hubapi.Ref{Name: "triage"}}},
		{"acme/triage@1", "", Ref{Kind: Hub, Hub: hubapi.Ref{Author: "acme", Name: "triage", Version: "1"}}},
		{"hub:acme/triage", "acme/triage", Ref{Kind: Hub, Hub: hubapi.Ref{Author: "acme", Name: "triage"}}},
		{"kazma-hub://a/n@v", "a/n@v", Ref{Kind: Hub, Hub: hubapi.Ref{Author: "a", Name: "n", Version: "v"}}},
		{"hub:x.zip", "", Ref{Kind: Hub, Hub: hubapi.Ref{Name: "x.zip"}}},
		{"x.zip", "./x.zip", Ref{Kind: Archive, Location: "./x.zip"}},
		{".", "", Ref{Kind: Dir, Location: "."}},
		{"./a/../b/", "./b", Ref{Kind: Dir, Location: "./b"}},
		{"../b", "", Ref{Kind: Dir, Location: "../b"}},
		{"/srv/skills", "", Ref{Kind: Dir, Location: "/srv/skills"}},
		{"dir:./a@b", "", Ref{Kind: Dir, Location: "./a@b"}},
		{"./x.tar.gz//a/b", "", Ref{Kind: Archive, Location: "./x.tar.gz", Path: "a/b"}},
		{"./x@1.tgz", "", Ref{Kind: Archive, Location: "./x@1.tgz"}},
		{"dir:./x.zip", "", Ref{Kind: Dir, Location: "./x.zip"}},
		{"./repo@main", "", Ref{Kind: Git, Location: "./repo", Rev: "main"}},
		{"./repo//skills/a@v1.0", "", Ref{Kind: Git, Location: "./repo", Path: "skills/a", Rev: "v1.0"}},
		{"./repo@HEAD", "", Ref{Kind: Git, Location: "./repo"}},
		{"git:./repo", "./repo@HEAD", Ref{Kind: Git, Location: "./repo"}},
		{"git:./repo@v1.zip", "", Ref{Kind: Git, Location: "./repo", Rev: "v1.zip"}},
		{"github:o/r", "", Ref{Kind: Git, Location: "https://github.com/o/r"}},
		{"github:o/r.git", "github:o/r", Ref{Kind: Git, Location: "https://github.com/o/r"}},
		{"github:o/r/skills/a@feature/x", "", Ref{Kind: Git, Location: "https://github.com/o/r", Path: "skills/a", Rev: "feature/x"}},
		{"github:o/r/@scope/a@pkg@1.0", "", Ref{Kind: Git, Location: "https://github.com/o/r", Path: "@scope/a", Rev: "pkg@1.0"}},
		{"https://github.com/o/r", "github:o/r", Ref{Kind: Git, Location: "https://github.com/o/r"}},
		{"https://GitHub.com/o/r.git//a@v1", "github:o/r/a@v1", Ref{Kind: Git, Location: "https://github.com/o/r", Path: "a", Rev: "v1"}},
		{"https://github.com/o/r/tree/main", "github:o/r@main", Ref{Kind: Git, Location: "https://github.com/o/r", Rev: "main"}},
		{"https://github.com/o/r/tree/main/a/b", "", Ref{Kind: Git, Location: "https://github.com/o/r", Tree: "main/a/b"}},
		{"https://github.com/o/r/blob/main/a/SKILL.md", "https://github.com/o/r/tree/main/a", Ref{Kind: Git, Location: "https://github.com/o/r", Tree: "main/a"}},
		{"https://github.com/o/r/releases/tag/v1", "github:o/r@v1", Ref{Kind: Git, Location: "https://github.com/o/r", Rev: "v1"}},
		{"https://github.com/o/r/tree/0123456789012345678901234567890123456789/a", "github:o/r/a@0123456789012345678901234567890123456789", Ref{Kind: Git, Location: "https://github.com/o/r", Path: "a", Rev: "0123456789012345678901234567890123456789"}},
		{"https://github.com/o/r/archive/refs/heads/main.zip", "", Ref{Kind: Archive, Location: "https://github.com/o/r/archive/refs/heads/main.zip"}},
		{"gitlab:g/s/p", "https://gitlab.com/g/s/p", Ref{Kind: Git, Location: "https://gitlab.com/g/s/p"}},
		{"https://gitlab.com/g/s/p.git//a@v1", "https://gitlab.com/g/s/p//a@v1", Ref{Kind: Git, Location: "https://gitlab.com/g/s/p", Path: "a", Rev: "v1"}},
		{"https://gitlab.com/g/s/p/-/tree/main/a/b", "", Ref{Kind: Git, Location: "https://gitlab.com/g/s/p", Tree: "main/a/b"}},
		{"https://git.example.com/a/b.git@v1", "", Ref{Kind: Git, Location: "https://git.example.com/a/b.git", Rev: "v1"}},
		{"git+https://git.example.com/a/b", "git:https://git.example.com/a/b", Ref{Kind: Git, Location: "https://git.example.com/a/b"}},
		{"https://git.example.com/g/p/-/blob/x/y/SKILL.md", "https://git.example.com/g/p/-/tree/x/y", Ref{Kind: Git, Location: "https://git.example.com/g/p", Tree: "x/y"}},
		{"ssh://git@git.example.com:2222/a/b.git//s@v1", "", Ref{Kind: Git, Location: "ssh://git@git.example.com:2222/a/b.git", Path: "s", Rev: "v1"}},
		{"git@github.com:o/r.git", "", Ref{Kind: Git, Location: "git@github.com:o/r.git"}},
		{"git@github.com:o/r.git//a@v1", "", Ref{Kind: Git, Location: "git@github.com:o/r.git", Path: "a", Rev: "v1"}},
		{"https://skills.example.com", "", Ref{Kind: Site, Location: "https://skills.example.com"}},
		{"https://skills.example.com/docs/", "https://skills.example.com/docs", Ref{Kind: Site, Location: "https://skills.example.com/docs"}},
		{"https://skills.example.com//triage", "", Ref{Kind: Site, Location: "https://skills.example.com", Path: "triage"}},
		{"http://127.0.0.1:50151", "", Ref{Kind: Site, Location: "http://127.0.0.1:50151"}},
		{"https://example.com/x.zip//a", "", Ref{Kind: Archive, Location: "https://example.com/x.zip", Path: "a"}},
	} {
		got, err := Parse(tt.text, ParseOptions{})
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.text, err)
			continue
		}
		if got != tt.want {
			t.Errorf("Parse(%q) = %+v, want %+v", tt.text, got, tt.want)
		}
		want := tt.canonical
		if want == "" {
			want = tt.text
		}
		if got.String() != want {
			t.Errorf("Parse(%q) is written %q, want %q", tt.text, got, want)
		}
	}
}

func TestParseAsksForAPathOnlyWhereTwoReadingsFit(t *testing.T) {
	there := ParseOptions{Exists: func(p string) bool { return p == "./a@b" }}
	got, err := Parse("./a@b", there)
	if want := (Ref{Kind: Dir, Location: "./a@b"}); err != nil || got != want {
		t.Errorf("with such a folder: %+v, %v", got, err)
	}
	got, err = Parse("./a@c", there)
	if want := (Ref{Kind: Git, Location: "./a", Rev: "c"}); err != nil || got != want {
		t.Errorf("without: %+v, %v", got, err)
	}
}

// E1 to E3, E11 and E12: options, schemes, revisions, hosts and secrets that no source has.
func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ text, id string }{
		{"", "source.syntax"},
		{"--upload-pack=touch pwned", "source.option"},
		{"-h", "source.option"},
		{"ext::sh -c id", "source.scheme"},
		{"file:///etc", "source.scheme"},
		{"fd::3", "source.scheme"},
		{"git://example.com/a.git", "source.scheme"},
		{"ssh://-oProxyCommand=x/y", "source.scheme"},
		{"ssh://git@-oProxyCommand=x/y", "source.scheme"},
		{"git@-oProxyCommand=x:y", "source.scheme"},
		{"ftp://example.com/x.zip", "source.scheme"},
		{"javascript:alert(1)", "source.syntax"},
		{"github:o/r@-h", "source.ref"},
		{"github:o/r@--output=/x", "source.ref"},
		{"github:o/r@HEAD:../../x", "source.ref"},
		{"github:o/r@@{-1}", "source.ref"},
		{"./repo@-h", "source.ref"},
		{"github:o/r@a..b", "source.ref"},
		{"github:o/r@x~1", "source.ref"},
		{"github:o/r/../x", "path.portable"},
		{"github:o/r/.git/hooks", "path.dotgit"},
		{"github:o/r/a/.GIT", "path.dotgit"},
		{"./x.zip//../etc", "path.portable"},
		{"github:o", "source.syntax"},
		{"github:../r", "source.syntax"},
		{"https://user:secret@example.com/a.git", "url.userinfo"},
		{"https://hub@evil.example/", "url.userinfo"},
		{"ssh://git:secret@example.com/a.git", "url.userinfo"},
		{"https://\u04bbub.example/", "url.host"},
		{"git@\u04bbub.example:a/b", "url.host"},
		{"https://example.com/x?token=secret", "url.query"},
		{"https://example.com/x#y", "url.query"},
		{"https:///x", "url.syntax"},
		{"a/b/c", "source.syntax"},
		{"Acme/Skill", "source.syntax"},
		{"x\ny", "source.syntax"},
		{"https://github.com/o/r/blob/main/README.md", "source.syntax"},
		{"https://git.example.com//g/-/tree/a", "source.syntax"},
	} {
		got, err := Parse(tt.text, ParseOptions{})
		e, ok := errors.AsType[*hubapi.Error](err)
		if !ok {
			t.Errorf("Parse(%q) = %+v, %v, want a refusal", tt.text, got, err)
			continue
		}
		ids := []string{}
		for _, d := range e.Details {
			ids = append(ids, d.ID)
		}
		if e.ID() != tt.id {
			t.Errorf("Parse(%q) is refused with %v (%v), want %s", tt.text, ids, err, tt.id)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a/b@c", "./a@b", "./x.zip//a", "github:o/r/p@x", "https://h/a.git//b@c", "git@h:o/r.git//x@y", "ssh://u@h/p",
		"https://github.com/o/r/tree/a/b", "https://h/g/-/tree/a/b", "https://h//x", "dir:./a", "git:./a", "C:\\x",
		"http://s///g/-/tree/a/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text, ParseOptions{})
		if err != nil {
			if _, ok := errors.AsType[*hubapi.Error](err); !ok {
				t.Fatalf("Parse(%q): %T", text, err)
			}
			return
		}
		again, err := Parse(r.String(), ParseOptions{})
		if err != nil || again != r {
			t.Fatalf("Parse(%q) = %+v, written %q, read as %+v, %v", text, r, r, again, err)
		}
	})
}
