package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/fsx"
	"github.com/kortecx/kx/pack"
	"github.com/kortecx/kx/sign"
	"github.com/kortecx/kx/snapshot"
)

func snapshotKey(t testing.TB, fill byte) sign.PrivateKey {
	t.Helper()
	key, err := sign.NewPrivateKey(bytes.NewReader(bytes.Repeat([]byte{fill}, 64)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func openRoot(t testing.TB, dir string) fsx.Root {
	t.Helper()
	root, err := fsx.OpenOrCreate(dir, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func pushNote(t testing.TB, client *hubclient.Client, name, text string) {
	t.Helper()
	body := fmt.Sprintf("---\nname: %s\ndescription: Keeps a note. Use when there is something to note.\n---\n%s\n", name, text)
	files := []pack.File{{Path: "SKILL.md", Data: []byte(body)}}
	if _, err := client.Push(t.Context(), hubclient.PushInput{Name: name, Files: files, Author: "acme", Approve: true}); err != nil {
		t.Fatal(err)
	}
}

// exported is a folder with a snapshot of two releases.
func exported(t testing.TB) string {
	t.Helper()
	r := start(t, httpapi.DevLocal())
	pushNote(t, r.client, "alpha", "first")
	pushNote(t, r.client, "beta", "second")
	dir := filepath.Join(t.TempDir(), "mirror")
	head, err := snapshot.Export(t.Context(), openRoot(t, dir), r.client, snapshot.ExportOptions{Key: snapshotKey(t, 1), Now: time.Unix(1e9, 0)})
	if err != nil || head.Releases != 2 || head.Log == nil {
		t.Fatalf("exported %+v: %v", head, err)
	}
	return dir
}

func TestSnapshotOverAnOlderOneHoldsTheNewOnly(t *testing.T) {
	r := start(t, httpapi.DevLocal())
	pushNote(t, r.client, "alpha", "first")
	root := openRoot(t, filepath.Join(t.TempDir(), "mirror"))
	options := snapshot.ExportOptions{Key: snapshotKey(t, 1), Now: time.Unix(1e9, 0)}
	if _, err := snapshot.Export(t.Context(), root, r.client, options); err != nil {
		t.Fatal(err)
	}
	pushNote(t, r.client, "alpha", "second")
	pushNote(t, r.client, "beta", "first")
	if _, err := snapshot.Export(t.Context(), root, r.client, options); err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Open(root, []sign.PublicKey{snapshotKey(t, 1).Public()})
	if err != nil || len(s.Entries) != 2 || s.Entries[0].Version != "2" {
		t.Fatalf("opened %+v: %v", s, err)
	}
	for _, e := range s.Entries {
		if _, err := s.Release(e); err != nil {
			t.Error(err)
		}
	}
	left, err := root.ReadDir("releases")
	if err != nil || len(left) != 2 {
		t.Errorf("%d archives are left: %v", len(left), err)
	}
}

func TestDamagedSnapshotIsRefused(t *testing.T) {
	first := func(dir, pattern string) string {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		return found[0]
	}
	write := func(file, data string) {
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(file string) string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, tt := range []struct {
		name    string
		damage  func(dir string)
		id      string // of Open
		refused string // id of one release, when Open takes the snapshot
	}{
		{name: "none", damage: func(string) {}},
		{name: "signed by another", id: snapshot.IDSignature, damage: func(dir string) {
			payload := []byte(`{"v":1}`)
			e, err := sign.SignDocument(sign.SnapshotDocument, payload, snapshotKey(t, 9))
			if err != nil {
				t.Fatal(err)
			}
			data, _ := e.Marshal()
			write(filepath.Join(dir, "snapshot.json"), string(data))
		}},
		{name: "head is no JSON", id: snapshot.IDFormat, damage: func(dir string) { write(filepath.Join(dir, "snapshot.json"), "<html>") }},
		{name: "no head", id: snapshot.IDMissing, damage: func(dir string) { _ = os.Remove(filepath.Join(dir, "snapshot.json")) }},
		{name: "no index", id: snapshot.IDMissing, damage: func(dir string) { _ = os.Remove(first(dir, "index-*")) }},
		{name: "index changed", id: snapshot.IDDigest, damage: func(dir string) {
			file := first(dir, "index-*")
			write(file, strings.Replace(read(file), "acme", "acne", 1))
		}},
		{name: "archive changed", refused: snapshot.IDDigest, damage: func(dir string) {
			file := first(dir, "releases/*.tar.gz")
			data := []byte(read(file))
			data[len(data)/2] ^= 1
			write(file, string(data))
		}},
		{name: "archive gone", refused: snapshot.IDMissing, damage: func(dir string) { _ = os.Remove(first(dir, "releases/*.tar.gz")) }},
		{name: "archive is a folder", refused: snapshot.IDMissing, damage: func(dir string) {
			file := first(dir, "releases/*.tar.gz")
			_ = os.Remove(file)
			_ = os.Mkdir(file, 0o755)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := exported(t)
			tt.damage(dir)
			s, err := snapshot.Open(openRoot(t, dir), []sign.PublicKey{snapshotKey(t, 1).Public()})
			if tt.id != "" {
				if got := hubapi.AsError(err).ID(); err == nil || got != tt.id {
					t.Fatalf("opened with %q: %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			to := start(t, httpapi.DevLocal())
			var results []snapshot.Result
			err = s.Import(t.Context(), to.client, snapshot.ImportOptions{Each: func(r snapshot.Result) { results = append(results, r) }})
			if err != nil || len(results) != 2 {
				t.Fatalf("imported %v: %v", results, err)
			}
			refused := ""
			for _, r := range results {
				if r.Outcome == snapshot.Refused {
					refused += r.ID
				} else if r.Status != hubapi.Staged {
					t.Errorf("%s is %s, a snapshot is not an approval", r.Ref, r.Status)
				}
			}
			if refused != tt.refused {
				t.Errorf("refused %q, want %q", refused, tt.refused)
			}
		})
	}
}

// A head that its own key signed, over an index that contradicts it.
func TestSnapshotThatContradictsItselfIsRefused(t *testing.T) {
	key := snapshotKey(t, 1)
	for _, change := range []func(*snapshot.Head){
		func(h *snapshot.Head) { h.Releases++ },
		func(h *snapshot.Head) { h.Bytes-- },
		func(h *snapshot.Head) { h.V = 2 },
		func(h *snapshot.Head) { h.Index = "../../etc/passwd" },
	} {
		dir := exported(t)
		root := openRoot(t, dir)
		s, err := snapshot.Open(root, []sign.PublicKey{key.Public()})
		if err != nil {
			t.Fatal(err)
		}
		head := s.Head
		change(&head)
		payload, err := json.Marshal(head)
		if err != nil {
			t.Fatal(err)
		}
		e, err := sign.SignDocument(sign.SnapshotDocument, payload, key)
		if err != nil {
			t.Fatal(err)
		}
		data, err := e.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := root.WriteFile("snapshot.json", data, fs.FileMode(0o644)); err != nil {
			t.Fatal(err)
		}
		if _, err := snapshot.Open(root, []sign.PublicKey{key.Public()}); hubapi.AsError(err).ID() != snapshot.IDFormat {
			t.Errorf("%s was opened: %v", payload, err)
		}
	}
}
