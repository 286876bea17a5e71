package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kortecx/kx/hubapi"
)

func FuzzSiteIndex(f *testing.F) {
	f.Add([]byte(`{"$schema":"` + hubapi.SiteSchema + `","skills":[{"name":"a","type":"archive","url":"a.zip","digest":"sha256:0","files":[{"path":"x"}]}]}`))
	f.Add([]byte(`{"skills":[{"name":"a","files":["SKILL.md"]}]}`))
	f.Add([]byte(`{"skills":[{"name":"a","files":[1]}]}`))
	at, _ := url.Parse("https://example.com/.well-known/agent-skills/index.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := readIndex(at, data, Limits{}.orDefault())
		if err != nil {
			if refusal(err) == "" {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		for _, e := range x.skills {
			_, _, _ = x.pick(Ref{Kind: Site, Path: e.Name})
		}
	})
}

// packOf makes a pack by the system's git; it is empty without git.
func packOf(f *testing.F) []byte {
	dir := f.TempDir()
	run := func(stdin string, args ...string) []byte {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader([]byte(stdin))
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a")
		out, err := cmd.Output()
		if err != nil {
			return nil
		}
		return out
	}
	run("", "init", "-q")
	for i := range 3 { // versions of one file become differences
		text := bytes.Repeat([]byte("a line of some text that stays\n"), 200)
		text = fmt.Appendf(text, "and one that changes: %d\n", i)
		if os.WriteFile(filepath.Join(dir, fmt.Sprint("SKILL", i, ".md")), text, 0o644) != nil {
			return nil
		}
	}
	run("", "add", "-A")
	run("", "commit", "-qm", "x")
	return run("HEAD\n", "pack-objects", "--stdout", "--revs", "--thin", "-q")
}

// A pack from a stranger never unpacks to more than the limits, whatever it says.
func FuzzUnpack(f *testing.F) {
	f.Add(packOf(f))
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00"))
	f.Add([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 1 << 20
		limits := Limits{Bytes: most, Objects: 1000}.orDefault()
		store, err := unpack(context.Background(), data, limits)
		if err != nil {
			return
		}
		total := int64(0)
		all, err := store.IterEncodedObjects(plumbing.AnyObject)
		if err != nil {
			t.Fatal(err)
		}
		_ = all.ForEach(func(o plumbing.EncodedObject) error { total += o.Size(); return nil })
		if total > most {
			t.Fatalf("%d bytes, %d are allowed", total, most)
		}
	})
}

func TestAPackWithDifferencesIsReadAndOneThatClaimsTooManyIsNot(t *testing.T) {
	dir := t.TempDir()
	needGit(t)
	git(t, dir, "init", "-q")
	for i := range 5 {
		text := bytes.Repeat([]byte("a line of some text that stays\n"), 300)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), fmt.Appendf(text, "%d\n", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commit := commitAll(t, dir)
	cmd := exec.Command("git", "pack-objects", "--stdout", "--revs", "-q")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader([]byte("HEAD\n"))
	data, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	store, err := unpack(t.Context(), data, Limits{}.orDefault())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.EncodedObject(plumbing.CommitObject, plumbing.NewHash(commit)); err != nil {
		t.Error(err)
	}
	for i := range 5 {
		if _, err := store.EncodedObject(plumbing.BlobObject, plumbing.NewHash(git(t, dir, "rev-parse", fmt.Sprint("HEAD:", i)))); err != nil {
			t.Errorf("file %d: %v", i, err)
		}
	}
	binary.BigEndian.PutUint32(data[8:], 1<<31)
	_, err = unpack(t.Context(), data, Limits{}.orDefault())
	refused(t, err, "source.too-many")
	_, err = unpack(t.Context(), data[:len(data)/2], Limits{Objects: 1 << 32 >> 1}.orDefault())
	if err == nil {
		t.Error("half a pack is read")
	}
}

// manySkills is the number of the bar in design.md where everything is tested, else
// what takes little time to write.
func manySkills() int {
	if os.Getenv("KX_TEST_ALL") != "" {
		return 1000
	}
	return 200
}

// repositoryOf is a repository with n skills of three files.
func repositoryOf(t testing.TB, n int) string {
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("skill-%d", i)
		at := filepath.Join(dir, "skills", name)
		if err := os.MkdirAll(filepath.Join(at, "references"), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"SKILL.md": skill(name), "references/a.md": "about " + name, "references/b.md": name} {
			if err := os.WriteFile(filepath.Join(at, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "x"}, {"gc", "-q"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	return dir
}

// The bar of design.md: an update check of 1,000 skills from one local repository
// within a second. It takes milliseconds; the bound is for a busy machine.
func TestManySkillsOfOneRepositoryAreLookedAtQuickly(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand skills take seconds; they are read without -short")
	}
	needGit(t)
	n := manySkills()
	dir := repositoryOf(t, n)
	refs := make([]Ref, n)
	for i := range refs {
		refs[i] = Ref{Kind: Git, Location: dir, Path: fmt.Sprintf("skills/skill-%d", i)}
	}
	start := time.Now()
	got, err := (&Sources{}).Latest(t.Context(), refs)
	took := time.Since(start)
	if err != nil || got[n-1].Err != nil || got[0].Revision != got[n-1].Revision || took > time.Second {
		t.Errorf("%v, %+v, %v", took, got[n-1], err)
	}
	start = time.Now()
	all, err := (&Sources{}).Fetch(t.Context(), Ref{Kind: Git, Location: dir})
	if err != nil || len(all.Found) != n {
		t.Fatal(err)
	}
	t.Logf("looked at in %v, read in %v", took, time.Since(start))
}

func BenchmarkFetchLocal(b *testing.B) {
	dir := repositoryOf(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if got, err := (&Sources{}).Fetch(context.Background(), Ref{Kind: Git, Location: dir}); err != nil || len(got.Found) != 1000 {
			b.Fatal(err)
		}
	}
}
