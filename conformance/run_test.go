package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kortecx/kx/pack"
)

// tree is a folder of packs, with what must not be taken for one.
func tree(t testing.TB) string {
	t.Helper()
	content := files{
		"skills/.hidden/skill.json":          "{}",
		"skills/.git/config":                 "x",
		"skills/a/skill.json":                "{}",
		"skills/a/inner/SKILL.md":            "not looked for inside a pack",
		"skills/group/c/SKILL.md":            "x",
		"skills/group/d/skill_manifest.yaml": "x",
		"skills/group/lower/skill.md":        "almost",
		"skills/notes/readme.txt":            "x",
		"shared/linked/SKILL.md":             "x",
		"shared/deep/er/skill.json":          "{}",
	}
	root := makeFolder(t, "root", content)
	for link, to := range map[string]string{
		"skills/z-link":   "../shared/linked",
		"skills/z-loop":   "..",
		"skills/z-nopack": "../shared",
		"skills/z-gone":   "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func relative(t testing.TB, root string, list []Target) []string {
	t.Helper()
	out := []string{}
	for _, target := range list {
		rel, err := filepath.Rel(root, target.Path)
		if err != nil {
			t.Fatal(err)
		}
		line := filepath.ToSlash(rel)
		if target.Format != "" {
			line += " " + string(target.Format)
		}
		out = append(out, line)
	}
	return out
}

func TestFind(t *testing.T) {
	root := tree(t)
	at := func(name string) string { return filepath.Join(root, name) }
	for _, tc := range []struct {
		name  string
		paths []string
		want  []string
		errs  int
	}{
		{"a folder of packs", []string{at("skills")}, []string{"skills/a", "skills/group/c", "skills/group/d", "skills/group/lower", "skills/z-link"}, 0},
		{"everything", []string{root}, []string{"shared/deep/er", "shared/linked", "skills/a", "skills/group/c", "skills/group/d", "skills/group/lower", "skills/z-link"}, 0},
		{"a pack", []string{at("skills/a")}, []string{"skills/a"}, 0},
		{"a manifest", []string{at("skills/group/d/skill_manifest.yaml")}, []string{"skills/group/d kazma"}, 0},
		{"a link to a pack", []string{at("skills/z-link")}, []string{"skills/z-link"}, 0},
		{"a link to a folder of packs", []string{at("skills/z-nopack")}, []string{"skills/z-nopack/deep/er", "skills/z-nopack/linked"}, 0},
		{"a hidden folder that was named", []string{at("skills/.hidden")}, []string{"skills/.hidden"}, 0},
		{"arguments keep their order and come once", []string{at("skills/group"), at("skills/a"), at("skills/group/c")}, []string{"skills/group/c", "skills/group/d", "skills/group/lower", "skills/a"}, 0},
		{"nothing", []string{at("skills/notes")}, []string{}, 1},
		{"absent", []string{at("absent"), at("skills/a")}, []string{"skills/a"}, 1},
		{"a file", []string{at("skills/notes/readme.txt")}, []string{}, 1},
		{"a dangling link", []string{at("skills/z-gone")}, []string{}, 1},
		{"no argument", nil, []string{}, 0},
		{"an empty argument", []string{""}, []string{}, 1},
	} {
		list, errs := Find(tc.paths)
		if diff := cmp.Diff(tc.want, relative(t, root, list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if len(errs) != tc.errs {
			t.Errorf("%s: errors %v", tc.name, errs)
		}
	}
	_, errs := Find([]string{at("skills/notes")})
	var none *NotFoundError
	if !errors.As(errs[0], &none) || !strings.Contains(none.Error(), "SKILL.md") {
		t.Errorf("got %v", errs[0])
	}
}

func TestFindStopsAtDepth(t *testing.T) {
	deep := strings.Repeat("d/", maxWalkDepth+2)
	root := makeFolder(t, "root", files{"a/skill.json": "{}", deep + "x/skill.json": "{}"})
	list, errs := Find([]string{root})
	if len(list) != 1 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "too deep") {
		t.Errorf("found %v, errors %v", list, errs)
	}
}

func TestRunWithFormat(t *testing.T) {
	root := makeFolder(t, "root", files{
		"both/skill.json": goodManifest, "both/SKILL.md": "x",
		"good/SKILL.md": goodSkill, "good/references/guide.md": "x",
	})
	formats := func(paths ...string) string {
		var out []string
		if _, err := Run(t.Context(), paths, Options{Format: pack.Kortecx}, func(r *Report) error {
			out = append(out, r.Connector+" "+string(r.Format)+" "+r.Findings[0].ID)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(out, ", ")
	}
	if err := os.RemoveAll(filepath.Join(root, "good", "references")); err != nil {
		t.Fatal(err)
	}
	if got := formats(root); got != "both kortecx pack.name-mismatch, good skill-md link.missing" {
		t.Errorf("found below: %s", got)
	}
	if got := formats(filepath.Join(root, "good")); got != "good  pack.no-manifest" {
		t.Errorf("asked for: %s", got)
	}
}

// packs writes n small kortecx packs below a new folder, every third broken.
func packs(t testing.TB, n int) string {
	t.Helper()
	root := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("pack-%05d", i)
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		manifest := strings.Replace(goodManifest, `"good"`, `"`+name+`"`, 1)
		if i%3 == 1 {
			manifest = strings.Replace(manifest, "gmail/draft", "Gmail/Draft", 1)
		}
		for file, text := range (files{"skill.json": manifest, "instructions.md": strings.Repeat("Do good work, and say so.\n", 45), "README.md": "# " + name + "\n"}) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestRunKeepsOrderWhateverTheJobs(t *testing.T) {
	const n = 100
	root := packs(t, n)
	var first []*Report
	for _, jobs := range []int{1, 2, 7, 0} {
		var got []*Report
		sum, err := Run(t.Context(), []string{root}, Options{Jobs: jobs}, func(r *Report) error {
			got = append(got, r)
			return nil
		})
		if err != nil || (sum != Summary{Packs: n, Passed: 67, Failed: 33}) {
			t.Fatalf("%d jobs: %+v, %v", jobs, sum, err)
		}
		if first == nil {
			first = got
		} else if diff := cmp.Diff(first, got); diff != "" {
			t.Fatalf("%d jobs (-want +got):\n%s", jobs, diff)
		}
	}
}

func TestRunStops(t *testing.T) {
	root := packs(t, 60)
	stop := errors.New("enough")
	seen := 0
	_, err := Run(t.Context(), []string{root}, Options{}, func(*Report) error {
		if seen++; seen == 5 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || seen != 5 {
		t.Errorf("seen %d, %v", seen, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	seen = 0
	_, err = Run(ctx, []string{root}, Options{}, func(*Report) error {
		if seen++; seen == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || seen > 3+batchSize {
		t.Errorf("seen %d, %v", seen, err)
	}
}

func TestRunReportsPathsWithoutPacks(t *testing.T) {
	root := packs(t, 2)
	absent := filepath.Join(root, "absent")
	sum, err := Run(t.Context(), []string{absent, root, filepath.Join(root, "none")}, Options{}, func(*Report) error { return nil })
	if sum.Packs != 2 || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "absent") || !strings.Contains(err.Error(), "none") {
		t.Errorf("%+v, %v", sum, err)
	}
	if sum, err := Run(t.Context(), []string{t.TempDir()}, Options{}, nil); err == nil || sum.Packs != 0 {
		t.Errorf("nothing found: %+v, %v", sum, err)
	}
}

// skillFolders writes n Agent Skills folders of usual size.
func skillFolders(t testing.TB, n int) string {
	t.Helper()
	root := t.TempDir()
	body := strings.Repeat("Read the [guide](references/guide.md) and `run` it.\n\n1. Step **one**: do the thing.\n", 40)
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("skill-%05d", i))
		if err := os.MkdirAll(filepath.Join(dir, "references"), 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("---\nname: skill-%05d\ndescription: Sorts mail and drafts answers. Use when mail has piled up.\nlicense: MIT\nmetadata:\n  author: someone\n  version: \"1.0\"\n---\n%s", i, body)
		for file, text := range (files{"SKILL.md": text, "references/guide.md": body}) {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func benchmarkRun(b *testing.B, root string) {
	b.Helper()
	for b.Loop() {
		var out strings.Builder
		w, err := NewWriter(Text, &out, WriterOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Run(b.Context(), []string{root}, Options{}, w.Report); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRun1000Kortecx(b *testing.B) { benchmarkRun(b, packs(b, 1000)) }
func BenchmarkRun1000SkillMD(b *testing.B) { benchmarkRun(b, skillFolders(b, 1000)) }

func BenchmarkCheckKortecx(b *testing.B) {
	dir := makeFolder(b, "good", goodPack())
	b.ReportAllocs()
	for b.Loop() {
		if r := Check(dir, Options{Format: pack.Kortecx}); !r.Passed {
			b.Fatal(found(r))
		}
	}
}
