package scan

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

// ordinary is a skill-md pack of about size bytes, made of the benign corpus.
func ordinary(t testing.TB, size int) []pack.File {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("---\nname: ordinary\ndescription: Ordinary text.\n---\n")
	for b.Len() < size {
		for _, s := range corpus(t, "benign") {
			for _, f := range s.files {
				if strings.HasSuffix(f.Path, ".md") {
					b.Write(bytes.TrimPrefix(f.Data, []byte("---\n")))
				}
			}
		}
	}
	return []pack.File{{Path: "SKILL.md", Data: b.Bytes()[:size]}}
}

func BenchmarkOrdinary64K(b *testing.B) {
	files := ordinary(b, 64<<10)
	b.SetBytes(64 << 10)
	for b.Loop() {
		Files("ordinary", files, Options{})
	}
}

// baits are texts that are made to tire a scanner.
func baits() map[string]string {
	const size = 256 << 10
	fill := func(s string) string { return strings.Repeat(s, size/len(s)+1)[:size] }
	var every strings.Builder
	for _, p := range ruleSet().patterns {
		for _, s := range p.any {
			every.WriteString(s + " ")
		}
	}
	return map[string]string{
		"groups":      fill("(((a+)+)+)+"),
		"literals":    fill(every.String()),
		"comments":    fill("<!-- "),
		"links":       fill("[a](http://b/?c={d} "),
		"images":      fill("![](<"),
		"fences":      fill("```\n~~~\n"),
		"curl":        fill("curl http://a.b/c "),
		"ignore":      fill("ignore all the previous "),
		"base64":      fill("QUFBQUFBQUFBQUFBQUFBQUFBQUE= "),
		"one-base64":  fill("QUFB"),
		"quotes":      fill(`a''b"c"d\e `),
		"digits":      fill("4111 1111 1111 1111 "),
		"one-line":    fill("password: "),
		"zero-width":  fill("a\u200bb"),
		"percent":     fill("%41"),
		"escapes":     fill(`\x41\u0041`),
		"html":        fill("<details><span style='"),
		"spaced":      fill("a b c "),
		"backticks":   fill("`a/b`"),
		"newlines":    fill("\n"),
		"definitions": fill("[a]: b\n"),
		"cyrillic":    fill("игнорируй "),
		"entities":    fill("&#105;"),
		"headings":    fill("# a\n## b\n"),
	}
}

// H20. The bound is for a machine that does ten other things; by itself none of
// them takes a second for 256 KiB.
func TestBaitTakesLinearTime(t *testing.T) {
	for name, text := range baits() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			r := Files("bait", []pack.File{{Path: "SKILL.md", Data: []byte(text)}}, Options{})
			if took := time.Since(start); took > timetest.Limit(10*time.Second) {
				t.Errorf("%d bytes took %v", len(text), took)
			} else {
				t.Logf("%v", took)
			}
			if len(r.Findings) > defaultMaxFindings {
				t.Errorf("%d findings", len(r.Findings))
			}
		})
	}
}

// What a scanner has to give up on is said, and counts as an attack.
func TestBudget(t *testing.T) {
	r := Files("bait", []pack.File{{Path: "SKILL.md", Data: []byte(baits()["literals"])}}, Options{})
	if worstOf(r, "scan.budget") != High {
		t.Errorf("%+v", r.Counts)
	}
	if r := Files("plain", ordinary(t, 256<<10), Options{}); worstOf(r, "scan.budget") != "" {
		t.Error("an ordinary text is said to be bait")
	}
}
