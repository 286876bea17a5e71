package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/internal/timetest"
)

const goodSkill = "---\nname: good\ndescription: Sorts mail and drafts answers. Use when mail has piled up.\n---\n# Good\n\nRead [the guide](references/guide.md).\n"

func skill(text string) files {
	return files{"SKILL.md": text, "references/guide.md": "# Guide\n"}
}

func TestCheckSkillMD(t *testing.T) {
	const all = "pack_loads frontmatter_valid name_matches_folder description_useful instructions_bounded files_portable links_resolve"
	fails := func(checks ...string) string {
		out := all
		for _, c := range checks {
			out = strings.Replace(out, c, c+"!", 1)
		}
		return out
	}
	unlinked := func(checks ...string) string { return strings.TrimSuffix(fails(checks...), " links_resolve") }
	const blinded = "pack_loads! files_portable"
	swap := func(old, new string) files { return skill(strings.Replace(goodSkill, old, new, 1)) }
	plus := func(name, text string) files {
		f := skill(goodSkill)
		f[name] = text
		return f
	}
	for _, tc := range []struct {
		name    string
		content files
		want    []string
		checks  string
	}{
		{"good", skill(goodSkill), []string{}, all},
		{"empty file", skill(""), []string{"frontmatter.missing SKILL.md:1:1"}, blinded},
		{"only space", skill("  \n\n"), []string{"frontmatter.missing SKILL.md:1:1"}, blinded},
		{"no frontmatter", skill("# Good\n"), []string{"frontmatter.missing SKILL.md:1:1"}, blinded},
		{"B5", swap("name: good", "name: good\nname: evil"), []string{"yaml.duplicate-key SKILL.md:3:1"}, strings.Replace(unlinked("pack_loads"), " frontmatter_valid", "", 1)},
		{"B17", skill("---\n" + strings.Repeat("a: 1\n", 1<<18)), []string{"frontmatter.unclosed SKILL.md:1:1"}, blinded},
		{"B18 blank behind", swap("---\n", "--- \n"), []string{"frontmatter.fence-space SKILL.md:1:1"}, all},
		{"B18 four", swap("---\n", "----\n"), []string{"frontmatter.missing SKILL.md:1:1"}, blinded},
		{"B18 blank line", skill("\n" + goodSkill), []string{"frontmatter.missing SKILL.md:1:1"}, blinded},
		{"B18 mark", skill(byteOrderMark + goodSkill), []string{"text.bom SKILL.md:1:1"}, all},
		{"B18 glued", swap("---\nname", "---name"), []string{"frontmatter.fence SKILL.md:1:1"}, blinded},
		{"B19", skill(goodSkill + "\n---\nname: evil\n---\n"), []string{}, all},
		{"B20", skill(strings.ReplaceAll(goodSkill, "\n", "\r\n")), []string{}, all},
		{"no name", swap("name: good\n", ""), []string{"name.missing SKILL.md:2:1"}, unlinked("pack_loads", "frontmatter_valid")},
		{"another name", swap("name: good", "name: other"), []string{"pack.name-mismatch SKILL.md:2:7"}, unlinked("pack_loads", "name_matches_folder")},
		{"name grammar", swap("name: good", "name: Good"), []string{"name.charset SKILL.md:2:7"}, unlinked("pack_loads", "frontmatter_valid")},
		{"no description", swap("description: Sorts mail and drafts answers. Use when mail has piled up.\n", ""), []string{"description.missing SKILL.md:2:1"}, unlinked("pack_loads", "description_useful")},
		{"colon", swap("Use when mail", "Use when: mail"), []string{"yaml.syntax SKILL.md:3:53"}, blinded},
		{"long description", swap("Sorts mail", strings.Repeat("x", 1020)), []string{"description.too-long SKILL.md:3:14"}, fails("description_useful")},
		{"short description", swap("Sorts mail and drafts answers. Use when mail has piled up.", "Mail."), []string{"description.short SKILL.md"}, all},
		{"description repeats", swap("Sorts mail and drafts answers. Use when mail has piled up.", "\"Good!\""), []string{"description.repeats-name SKILL.md"}, all},
		{"metadata", swap("\n---\n", "\nmetadata:\n  version: 1.0\n---\n"), []string{"metadata.not-string SKILL.md:5:12"}, all},
		{"unknown key", swap("\n---\n", "\nicon: x\n---\n"), []string{"key.unknown SKILL.md:4:1"}, all},
		{"no body", skill(goodSkill[:strings.Index(goodSkill, "# Good")]), []string{"pack.empty-meaning SKILL.md:5"}, unlinked("pack_loads", "instructions_bounded")},
		{"broken link", swap("guide.md", "missing.md"), []string{"link.missing SKILL.md:7:18"}, all},
		{"hidden text", swap("# Good", "# Good\U000e0048"), []string{"text.hidden-unicode SKILL.md:5:7"}, all},
		{"C8", plus("cafe\u0301.md", "x"), []string{"path.portable cafe\u0301.md"}, unlinked("pack_loads", "files_portable")},
		{"C10", plus("a b ", "x"), []string{"path.portable a b "}, unlinked("pack_loads", "files_portable")},
		{"C7", plus("references/Guide.md", "x"), []string{"pack.case-collision references/guide.md"}, unlinked("pack_loads", "files_portable")},
	} {
		r := Check(makeFolder(t, "good", tc.content), Options{})
		if diff := cmp.Diff(tc.want, found(r)); diff != "" {
			t.Errorf("%s findings (-want +got):\n%s", tc.name, diff)
		}
		if got := names(r); got != tc.checks {
			t.Errorf("%s checks\n got %s\nwant %s", tc.name, got, tc.checks)
		}
		checkInvariants(t, tc.name, r)
	}
	r := Check(makeFolder(t, "good", swap("guide.md", "missing.md")), Options{Strict: true})
	if r.Passed || names(r) != fails("links_resolve") {
		t.Errorf("strict: %s", names(r))
	}
}

// Every body is judged in a time that grows with its length and no faster.
func TestCheckHostileBodiesInTime(t *testing.T) {
	for name, part := range map[string]string{
		"open targets":   "](x",
		"definitions":    "[a]:[a]:",
		"backticks":      "`a``b```c````d`````",
		"fences":         "```\n",
		"open brackets":  "[[[[",
		"angle brackets": "](<",
		"links":          "[a](b.md) ",
		"comments":       "<!-- ",
		"zero width":     "a\u200b",
	} {
		dir := makeFolder(t, "good", skill(goodSkill+strings.Repeat(part, 1<<20/len(part))))
		start := time.Now()
		checkInvariants(t, name, Check(dir, Options{}))
		if took := time.Since(start); took > timetest.Limit(5*time.Second) {
			t.Errorf("%s: %v for 1 MiB", name, took)
		}
	}
}
