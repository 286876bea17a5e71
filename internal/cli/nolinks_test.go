package cli

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/internal/fsx"
)

// Peers 19: on Windows links need a privilege. What was to be a link and is a copy is
// said, with the way to have links.
func TestACopyInThePlaceOfALinkIsSaid(t *testing.T) {
	env, stdout, stderr := testEnv(t, nil, "skills", "install", "./notes", "--agent", "claude-code", "--agent", "codex", "--link", "--json")
	env.Rand, env.Now = rand.Reader, time.Now
	env.Symlink = func(fsx.Root, string, string) error { return errors.ErrUnsupported }
	for _, dir := range []string{".git", "notes"} {
		if err := os.MkdirAll(filepath.Join(env.Dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := "---\nname: notes\ndescription: Takes notes when somebody wants them.\n---\nWrite.\n"
	if err := os.WriteFile(filepath.Join(env.Dir, "notes", "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := Kx(env); code != 0 {
		t.Fatalf("%d: %s", code, stderr)
	}
	var doc struct {
		Skills []struct {
			Path, Mode string
			NoLink     string `json:"no_link"`
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, s := range doc.Skills {
		if s.Mode != "copy" {
			t.Errorf("%+v", s)
		}
		if s.NoLink != "" {
			said++
		}
		if data, err := os.ReadFile(filepath.Join(s.Path, "SKILL.md")); err != nil || string(data) != text {
			t.Errorf("%s: %v", s.Path, err)
		}
	}
	if len(doc.Skills) != 2 || said != 1 || strings.Count(stderr.String(), "is a copy: ") != 1 || !strings.Contains(stderr.String(), "developer mode") {
		t.Errorf("%s%s", stdout, stderr)
	}
	lock, err := os.ReadFile(filepath.Join(env.Dir, "kx-lock.json"))
	if err != nil || strings.Contains(string(lock), `"mode": "link"`) || strings.Contains(string(lock), `"mode":"link"`) {
		t.Errorf("%v: %s", err, lock)
	}
}
