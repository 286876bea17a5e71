//go:build unix

package fsx

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSwappedLinkStaysContained has another program put links to the outside in
// the way, again and again, while folders are written.
func TestSwappedLinkStaysContained(t *testing.T) {
	outside := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(outside, "scripts"), 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "SKILL.md"), []byte("mine"), 0o600))
	before := tree(t, outside)
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "aside"), 0o700))
	// The attacker goes through a root too, or it would change the outside itself
	// by way of a link that was moved in the meantime.
	attacker, err := os.OpenRoot(dir)
	must(t, err)
	defer attacker.Close()
	aside := 0
	var swapped atomic.Int32
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = attacker.RemoveAll("hello")
			_ = attacker.Symlink(outside, "hello")
			list, _ := os.ReadDir(dir)
			for _, e := range list {
				if !IsStaged(e.Name()) {
					continue
				}
				sub := []string{"new/hello/scripts", "new/hello", "new", "old", ""}[rand.N(5)]
				name := path.Join(e.Name(), sub)
				aside++
				if attacker.Rename(name, fmt.Sprint("aside/", aside)) == nil && attacker.Symlink(outside, name) == nil {
					swapped.Add(1)
				}
			}
			_ = attacker.Remove("hello")
		}
	})
	r := open(t, dir)
	deadline := time.Now().Add(500 * time.Millisecond)
	for time.Now().Before(deadline) || swapped.Load() < 20 {
		_ = PutDir(r, "hello", folder("1"))
		_ = ReplaceDir(r, "hello", folder("2"), nil)
		_ = RemoveDir(r, "hello", nil)
		_ = r.WriteFile("hello/SKILL.md", []byte("x"), 0o644)
		_ = r.RemoveAll("hello")
	}
	close(stop)
	group.Wait()
	if diff := cmp.Diff(before, tree(t, outside)); diff != "" {
		t.Errorf("the outside changed (-before +after):\n%s", diff)
	}
}

// TestAFolderThatIsALinkIsReplacedAsALink: the link goes, what it leads to stays.
func TestAFolderThatIsALinkIsReplacedAsALink(t *testing.T) {
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "SKILL.md"), []byte("mine"), 0o644))
	for _, wrap := range []func(Root) Root{func(r Root) Root { return r }, func(r Root) Root { return plain{r} }} {
		dir := t.TempDir()
		must(t, os.Symlink(outside, filepath.Join(dir, "hello")))
		r := wrap(open(t, dir))
		wantErr(t, PutDir(r, "hello", folder("1")), fs.ErrExist)
		must(t, ReplaceDir(r, "hello", folder("1"), nil))
		same(t, dir, want("hello", folder("1")))
		same(t, outside, []string{"SKILL.md 644: mine"})
	}
}

func TestSweepStaged(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	stage := func(host string, pid int, tail string) string {
		return fmt.Sprintf("%s%s-%d-%s%s", stagePrefix, host, pid, "ABCDEFGHIJKLMNOP", tail)
	}
	gone := exec.Command("true")
	must(t, gone.Run())
	dead, own := gone.Process.Pid, os.Getpid()
	yesterday := time.Now().Add(-24 * time.Hour)
	add := func(name string, old bool) string {
		must(t, PutDir(r, name, folder("x")))
		if old {
			must(t, os.Chtimes(filepath.Join(dir, name), yesterday, yesterday))
		}
		return name
	}
	kept := []string{
		add(stage(hostTag(), own, ""), false),
		add(stage("0badcafe", dead, ""), false),
		add(".kx-stage-mine", true),
		add(".kx-stage-"+hostTag()+"-0-ABCDEFGHIJKLMNOP", true),
		add("hello", true),
	}
	add(stage(hostTag(), dead, ""), false)
	add(stage(hostTag(), own, stageDead), false)
	add(stage("0badcafe", own, ""), true)
	must(t, r.Create(stage(hostTag(), dead, "")[:len(stage(hostTag(), dead, ""))-1]+"Q", []byte("temp of a file"), 0o600))
	link := stage(hostTag(), dead, "")
	link = link[:len(link)-1] + "L"
	must(t, os.Symlink(dir, filepath.Join(dir, link)))
	kept = append(kept, link)

	must(t, SweepStaged(r, "."))
	got := map[string]bool{}
	for _, name := range entries(t, r) {
		got[name] = true
	}
	for _, name := range kept {
		if !got[name] {
			t.Errorf("%s is gone", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is still there", name)
	}
	wantErr(t, SweepStaged(r, "absent"), fs.ErrNotExist)
}

func TestSweepPutsParkedFoldersBack(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	gone := exec.Command("true")
	must(t, gone.Run())
	stage := fmt.Sprintf("%s%s-%d-ABCDEFGHIJKLMNOP", stagePrefix, hostTag(), gone.Process.Pid)
	must(t, r.MkdirAll(stage+"/old", 0o700))
	must(t, r.MkdirAll(stage+"/new", 0o700))
	must(t, PutDir(r, stage+"/old/lost", folder("1")))
	must(t, PutDir(r, stage+"/new/lost", folder("2")))
	must(t, PutDir(r, stage+"/old/done", folder("1")))
	must(t, PutDir(r, "done", folder("2")))
	must(t, SweepStaged(r, "."))
	same(t, dir, append(want("done", folder("2")), want("lost", folder("1"))...))
}
