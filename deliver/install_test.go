//go:build unix

package deliver

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
)

func TestInstall(t *testing.T) {
	for _, p := range []*pack.Pack{kortecx(t, "hello", "1"), skillMD(t, "hello", "1"), kazma(t, "hello")} {
		t.Run(string(p.Format), func(t *testing.T) {
			root, dir := target(t)
			got, err := Install(root, p, options())
			must(t, err)
			if got.Outcome != New || got.Slug != "hello" || got.Marker.Digest != p.Digest() || got.Previous != "" {
				t.Errorf("installed as %+v", got)
			}
			same(t, asInstalled(t, p, "hello"), without(tree(t, dir)))
			s, err := Check(root, "hello")
			must(t, err)
			if s.Status != Owned || len(s.Differences) != 0 || len(s.Doubts) != 0 {
				t.Errorf("it stands as %+v", s)
			}

			// Again: nothing is written, whatever the time is.
			before := tree(t, dir)
			dry := fsx.DryRun(root)
			later := options()
			later.Now = later.Now.AddDate(1, 0, 0)
			got, err = Install(dry, p, later)
			must(t, err)
			if got.Outcome != Unchanged || len(dry.Changes()) != 0 || got.Marker.InstalledAt != now {
				t.Errorf("a second time: %+v, %q", got, dry.Changes())
			}
			got, err = Install(root, p, later)
			must(t, err)
			if got.Outcome != Unchanged {
				t.Errorf("a third time: %+v", got)
			}
			same(t, before, tree(t, dir))

			// Another source of the same bytes changes the marker alone.
			later.Source, later.Author = "hub:acme/hello", "acme"
			got, err = Install(root, p, later)
			must(t, err)
			if got.Outcome != Recorded || got.Marker.Source != later.Source || !got.Marker.InstalledAt.Equal(now) {
				t.Errorf("from elsewhere: %+v", got)
			}
			same(t, without(before), without(tree(t, dir)))

			must(t, Remove(root, "hello", options().Owner, false))
			same(t, map[string]string{}, tree(t, dir))
			refused(t, Remove(root, "hello", options().Owner, false), hubapi.NotFound, IDNotInstalled)
		})
	}
}

func TestUpdate(t *testing.T) {
	root, dir := target(t)
	_, err := Install(root, skillMD(t, "hello", "1"), options())
	must(t, err)
	second := skillMD(t, "hello", "2")
	got, err := Install(root, second, options())
	must(t, err)
	if got.Outcome != Updated || got.Previous != skillMD(t, "hello", "1").Digest() {
		t.Errorf("updated as %+v", got)
	}
	same(t, asInstalled(t, second, "hello"), without(tree(t, dir)))
	nothingStaged(t, dir)

	// The execute bit is no part of the digest and still an update.
	quiet := skillMD(t, "hello", "2")
	for i := range quiet.Files {
		quiet.Files[i].Executable = false
	}
	got, err = Install(root, quiet, options())
	must(t, err)
	if got.Outcome != Updated || got.Previous != got.Marker.Digest {
		t.Errorf("updated as %+v", got)
	}
	same(t, asInstalled(t, quiet, "hello"), without(tree(t, dir)))
}

// Peers: a skill that there is no record of is never overwritten.
func TestForeignFoldersAreNotTouched(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "SKILL.md", "mine")
	for name, make := range map[string]func(dir string){
		"folder":        func(dir string) { put(t, dir, "hello/SKILL.md", "mine") },
		"empty folder":  func(dir string) { must(t, os.Mkdir(filepath.Join(dir, "hello"), 0o755)) },
		"file":          func(dir string) { put(t, dir, "hello", "mine") },
		"link":          func(dir string) { must(t, os.Symlink(outside, filepath.Join(dir, "hello"))) },
		"dangling link": func(dir string) { must(t, os.Symlink("nowhere", filepath.Join(dir, "hello"))) },
		"other tool's":  func(dir string) { put(t, dir, "hello/.memclaw-owned", "") },
		"marker is link": func(dir string) {
			must(t, os.Mkdir(filepath.Join(dir, "hello"), 0o755))
			must(t, os.Symlink("../other/.kx-owned", filepath.Join(dir, "hello", ".kx-owned")))
		},
		"marker is folder": func(dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "hello", ".kx-owned"), 0o755))
		},
		"both markers": func(dir string) {
			must(t, os.CopyFS(filepath.Join(dir, "hello"), os.DirFS(filepath.Join(dir, "other"))))
			put(t, dir, "hello/.memclaw-owned", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := target(t)
			_, err := Install(root, kortecx(t, "other", "1"), options())
			must(t, err)
			make(dir)
			before, outer := tree(t, dir), tree(t, outside)
			for _, force := range []bool{false, true} {
				o := options()
				o.Force = force
				_, err = Install(root, kortecx(t, "hello", "1"), o)
				refused(t, err, hubapi.Conflict, IDCollision)
				refused(t, Remove(root, "hello", o.Owner, force), hubapi.Conflict, IDCollision)
			}
			same(t, before, tree(t, dir))
			same(t, outer, tree(t, outside))
			list, err := List(root)
			must(t, err)
			if len(list) != 1 || list[0].Slug != "other" {
				t.Errorf("listed are %+v", list)
			}
		})
	}
}

func TestAnotherSkillOfOursIsACollision(t *testing.T) {
	root, dir := target(t)
	o := options()
	o.Author = "acme"
	_, err := Install(root, kortecx(t, "mail.triage", "1"), o)
	must(t, err)
	before := tree(t, dir)
	_, err = Install(root, kortecx(t, "mail-triage", "1"), o)
	refused(t, err, hubapi.Conflict, IDCollision)
	o.Author = "evil"
	_, err = Install(root, kortecx(t, "mail.triage", "2"), o)
	refused(t, err, hubapi.Conflict, IDCollision)
	same(t, before, tree(t, dir))

	// Under another name it is welcome, and by force too.
	o.Slug = "mail2"
	_, err = Install(root, kortecx(t, "mail-triage", "1"), o)
	must(t, err)
	o.Slug, o.Force = "", true
	got, err := Install(root, kortecx(t, "mail-triage", "1"), o)
	must(t, err)
	if got.Outcome != Updated || got.Marker.Name != "mail-triage" {
		t.Errorf("installed as %+v", got)
	}
}

func TestNamesOfFolders(t *testing.T) {
	root, dir := target(t)
	for _, slug := range []string{"../up", "/abs", "a/b", ".hidden", "UP", "a b", strings.Repeat("a", 65), ".kx-stage-x"} {
		o := options()
		o.Slug = slug
		_, err := Install(root, kazma(t, "hello"), o)
		refused(t, err, hubapi.Invalid, IDName)
		s, err := Check(root, slug)
		must(t, err)
		if s.Status != Foreign {
			t.Errorf("%q is %s", slug, s.Status)
		}
	}
	o := options()
	o.Slug = "a_b"
	_, err := Install(root, skillMD(t, "hello", "1"), o)
	refused(t, err, hubapi.Invalid, IDName)
	_, err = Install(root, kortecx(t, "hello", "1"), o)
	refused(t, err, hubapi.Invalid, IDName)
	_, err = Install(root, kortecx(t, "hello", "1"), InstallOptions{Now: now})
	if refusal, ok := errors.AsType[*hubapi.Error](err); !ok || refusal.Code != hubapi.Usage {
		t.Errorf("without an owner: %v", err)
	}
	same(t, map[string]string{}, tree(t, dir))
}

// An agent wants the name in SKILL.md to be the folder's. The marker still proves the
// pack's own digest.
func TestAnotherNameIsWrittenIntoSkillMD(t *testing.T) {
	root, dir := target(t)
	p := skillMD(t, "hello", "1")
	o := options()
	o.Slug = "other"
	_, err := Install(root, p, o)
	must(t, err)
	got := tree(t, dir)
	want := asInstalled(t, p, "hello")
	for name, data := range want {
		wanted := strings.Replace(data, "name: hello\n", "name: other\n", 1)
		if at := "other" + strings.TrimPrefix(name, "hello"); got[at] != wanted {
			t.Errorf("%s is %q, want %q", at, got[at], wanted)
		}
	}
	s, err := Check(root, "other")
	must(t, err)
	if s.Status != Owned || len(s.Differences) > 0 || s.Marker.Digest != p.Digest() || s.Marker.Name != "hello" {
		t.Fatalf("it stands as %+v", s)
	}
	again, err := Install(root, p, o)
	must(t, err)
	same(t, Unchanged, again.Outcome)
	forged := *s.Marker
	forged.Manifest = strings.Replace(forged.Manifest, "Sorts mail", "Sends mail", 1)
	must(t, root.WriteFile("other/"+MarkerFile, forged.Encode(), 0o644))
	s, err = Check(root, "other")
	must(t, err)
	if len(s.Doubts) == 0 {
		t.Error("a marker with another frontmatter proves the digest too")
	}
}

func TestLongPaths(t *testing.T) {
	root, dir := target(t)
	part := strings.Repeat("d", 250)
	p := skillMD(t, "hello", "1")
	p.Files = append(p.Files, pack.File{Path: strings.Repeat(part+"/", 16) + part})
	_, err := Install(root, p, options())
	refused(t, err, hubapi.Invalid, IDTooLong)
	p.Files[len(p.Files)-1].Path = strings.Repeat("d", 256)
	_, err = Install(root, p, options())
	refused(t, err, hubapi.Invalid, IDTooLong)
	same(t, map[string]string{}, tree(t, dir))
}

// TestWhatIsNoEdit does not stop an update, and is told.
// interrupt is a Root on which somebody does something just before a swap, a move
// into place or a move away.
// TestEditBetweenLookAndWrite: what a person saves in the last moment is found,
// put back and reported.
func TestConcurrentInstallers(t *testing.T) {
	_, dir := target(t)
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			root, err := fsx.Open(dir)
			must(t, err)
			defer root.Close()
			for n := range 5 {
				_, err := Install(root, skillMD(t, "hello", fmt.Sprint((i+n)%3+1)), options())
				if refusal, ok := errors.AsType[*hubapi.Error](err); err != nil && (!ok || refusal.Details[0].ID != IDBusy) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	root, err := fsx.Open(dir)
	must(t, err)
	defer root.Close()
	s, err := Check(root, "hello")
	must(t, err)
	if s.Status != Owned || len(s.Differences) != 0 {
		t.Errorf("it stands as %+v", s)
	}
	nothingStaged(t, dir)
}

func TestInstallAll(t *testing.T) {
	root, dir := target(t)
	put(t, dir, "mine/SKILL.md", "mine")
	_, err := Install(root, skillMD(t, "old", "1"), options())
	must(t, err)
	_, err = Install(root, skillMD(t, "same", "1"), options())
	must(t, err)
	items := []Item{
		{skillMD(t, "new", "1"), options()},
		{skillMD(t, "mine", "1"), options()},
		{skillMD(t, "old", "2"), options()},
		{skillMD(t, "same", "1"), options()},
		{kortecx(t, "new", "1"), options()},
	}
	results := InstallAll(root, items, nil)
	refused(t, results[1].Err, hubapi.Conflict, IDCollision)
	refused(t, results[4].Err, hubapi.Conflict, IDCollision)
	for i, want := range map[int]Outcome{0: New, 2: Updated, 3: Unchanged} {
		must(t, results[i].Err)
		if results[i].Outcome != want {
			t.Errorf("item %d: %s", i, results[i].Outcome)
		}
	}
	want := map[string]string{"mine/SKILL.md": "644 mine"}
	for _, i := range []int{0, 2, 3} {
		maps.Copy(want, asInstalled(t, items[i].Pack, items[i].Pack.Name))
	}
	same(t, want, without(tree(t, dir)))
	if got := InstallAll(root, nil, nil); len(got) != 0 {
		t.Errorf("nothing gives %v", got)
	}
}

func TestDryRun(t *testing.T) {
	root, dir := target(t)
	_, err := Install(root, skillMD(t, "old", "1"), options())
	must(t, err)
	put(t, dir, "mine/SKILL.md", "mine")
	before := tree(t, dir)
	dry := fsx.DryRun(root)
	_, err = Install(dry, kortecx(t, "new", "1"), options())
	must(t, err)
	got, err := Install(dry, skillMD(t, "old", "2"), options())
	must(t, err)
	if got.Outcome != Updated {
		t.Errorf("%+v", got)
	}
	_, err = Install(dry, skillMD(t, "mine", "1"), options())
	refused(t, err, hubapi.Conflict, IDCollision)
	must(t, Remove(dry, "old", options().Owner, false))
	same(t, []string{
		"create new/SKILL.md", "create new/.kx-owned",
		"replace old", "write old/SKILL.md", "write old/references/2", "write old/references/v.md", "write old/scripts/run.sh", "write old/.kx-owned",
		"remove old",
	}, dry.Changes())
	same(t, before, tree(t, dir))
}

// failing is a Root whose disk fails at one effect.
type failing struct {
	fsx.Root
	err error
}

func (f failing) Create(name string, _ []byte, _ fs.FileMode) error {
	return &fs.PathError{Op: "create", Path: name, Err: f.err}
}

func TestDiskErrors(t *testing.T) {
	root, dir := target(t)
	_, err := Install(failing{root, fs.ErrPermission}, skillMD(t, "hello", "1"), options())
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "hello") {
		t.Errorf("the error is %v", err)
	}
	_, err = Install(failing{root, syscall.ENOSPC}, skillMD(t, "hello", "1"), options())
	if refusal, ok := errors.AsType[*hubapi.Error](err); !ok || refusal.Code != hubapi.NoSpace || refusal.Hint == "" {
		t.Errorf("the error is %#v", err)
	}
	same(t, map[string]string{}, tree(t, dir))
	nothingStaged(t, dir)
}

// A copy that somebody vouched for is not replaced by one that nobody does.
func TestASignatureIsNotTakenAway(t *testing.T) {
	key := `{"v":1,"dsse":[{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"keyid":"k","sig":"` + strings.Repeat("AAAA", 21) + `AA=="}]}]}`
	secret := `{"v":1,"dsse":[],"hmac":{"checksum":"` + strings.Repeat("a", 64) + `","signature":"` + strings.Repeat("b", 64) + `"}}`
	for name, tt := range map[string]struct {
		before, after string
		stripped      bool
	}{
		"signed again":      {key, key, false},
		"signed at last":    {"", key, false},
		"never signed":      {"", "", false},
		"by a secret":       {secret, secret, false},
		"stripped":          {key, "", true},
		"by a secret only":  {key, secret, true},
		"what nobody reads": {key, `{"v":1}`, true},
	} {
		for _, version := range []string{"1", "2"} {
			for _, force := range []bool{false, true} {
				root, dir := target(t)
				o := options()
				o.Signature = []byte(tt.before)
				_, err := Install(root, kortecx(t, "triage", "1"), o)
				must(t, err)
				before, err := os.ReadFile(filepath.Join(dir, "triage", MarkerFile))
				must(t, err)
				o.Signature, o.Force = []byte(tt.after), force
				_, err = Install(root, kortecx(t, "triage", version), o)
				if !tt.stripped {
					must(t, err)
					continue
				}
				refused(t, err, hubapi.Conflict, "sign.stripped")
				if after, err := os.ReadFile(filepath.Join(dir, "triage", MarkerFile)); err != nil || string(after) != string(before) {
					t.Errorf("%s: the folder was touched: %v", name, err)
				}
			}
		}
	}
}
