package pack_test

import (
	"strings"
	"testing"

	"github.com/kortecx/kx/pack"
)

func TestCheckPath(t *testing.T) {
	for _, p := range []string{
		"a", "SKILL.md", "scripts/run.sh", "a b.md", ".hidden", ".gitignore", ".github/x.yml", "_", "-", "café.md", "日本.md", "a~", "~a", "a~b.md",
		"console.md", "com10", "com.md", "nul_.md", "common/aux_files.md", "abcdefgh~1.txt", "a~1.html", "x~1y.md", "a.b~1.md", "#", "100%", "{a}", "'a'",
		strings.Repeat("a", 255), strings.Repeat(strings.Repeat("a", 99)+"/", 40) + strings.Repeat("a", 96), "👩\u200d💻.md", "a.git", ".gitx",
	} {
		if err := pack.CheckPath(p); err != nil {
			t.Errorf("CheckPath(%.40q) = %v", p, err)
		}
	}
	for id, paths := range map[string][]string{
		"path.too-long": {strings.Repeat("a", 256), "x/" + strings.Repeat("é", 128), strings.Repeat("a/", 2048) + "b"},
		"path.control": {
			"a\nb", "a\tb", "\x00", "a\x00b", "\x1b[0m", "\x7f", "a\u0085b", "\u009b", "\uFEFFa", "a\uFEFF", "a\u2028b", "a\u2029", "a\u202eb", "\u2066x",
			"a\u200bb.md", "\u2060", "a\U000e0041b", "\U000e0001",
		},
		"path.dotgit": {
			".git", ".GIT", ".Git/config", "a/.git/b", "git~1", "GIT~1", ".g\u200cit", "\u200d.git", ".git ", ".git.", ".git . .", ".git::$INDEX_ALLOCATION", ".gi\uFEFFt",
		},
		"path.portable": {
			"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b", "a ", "a.", "d /x", "a:b", `a\b`, "a*", "a?", `a"`, "a<b", "a>b", "a|b",
			"skill.json::$DATA", "A~1.MD", "a~1", "abc~12.m", "CON", "con", "Con.txt", "nul.tar.gz", "aux .md", "COM1", "lpt9.md", "COM¹", "CONIN$", "conout$.x",
			"cafe\u0301.md", "\u212b", "a\xffb",
		},
	} {
		for _, p := range paths {
			err := pack.CheckPath(p)
			if err == nil || err.ID != id {
				t.Errorf("CheckPath(%.40q) = %v, want %s", p, err, id)
				continue
			}
			if err.Kind != pack.KindPack || err.Place.File != p || len(err.Text) > 600 {
				t.Errorf("CheckPath(%.40q) = %+v", p, err)
			}
			if strings.ContainsFunc(err.Text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0x202e }) {
				t.Errorf("the text %q shows what it warns of", err.Text)
			}
		}
	}
}
