package scripttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// One command, several times at once: what each of them acknowledged is there, and
// nothing is there twice.
func TestOneCommandSeveralTimesAtOnce(t *testing.T) {
	t.Parallel()
	const times = 4
	model := newKilled(t, t.TempDir())
	model.prepare(t)
	for name, test := range map[string]struct {
		args string // %d is another number for each
		wins int    // how many are done; the others are refused, and say so
		says string // what those are told that were refused
		must string // what is done afterwards
		has  string // and what it says, with %d for each that won
	}{
		"push":    {"push triage --author acme --approve", times, "", "search triage --json", `"version": "1"`},
		"install": {"skills install base --to agent", times, "", "verify agent/base --version 2", "base"},
		"update":  {"skills install base --to installed", times, "", "verify installed/base --version 2", "base"},
		"approve": {"inbox approve acme/waits", 1, "nothing of acme/waits waits", "show acme/waits", "active"},
		"sync":    {"sync --target synced:owned", times, "", "verify synced/base --version 2", "base"},
		"backup":  {"hub backup new.backup", 1, "is there already", "hub restore new.backup --data again", "4 releases"},
		"restore": {"hub restore old.backup --data restored", 1, "is not empty", "hub fsck --data restored", "4 releases"},
		"keys":    {"keys new you", 1, "[sign.key-exists]", "keys show you", "you"},
		// All answered 0, and most of what they blocked was lost.
		"trust": {"trust block mallory%d", times, "", "trust list", "mallory%d"},
		"token": {"hub token new --role agent --author team%d", times, "", "hub token list", "team%d"},
		"merge": {"skills merge-lock base.json ours.json theirs.json", times, "", "skills list --installed", "kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := model.copy(t)
			k.must(t, "hub fsck")
			outs, won := make([]string, times), make([]bool, times)
			var all sync.WaitGroup
			for i := range times {
				args := test.args
				if strings.Contains(args, "%d") {
					args = fmt.Sprintf(args, i)
				}
				all.Go(func() {
					out, err := k.command(args).CombinedOutput()
					outs[i], won[i] = string(out), err == nil
				})
			}
			all.Wait()
			wins := 0
			after := k.must(t, test.must)
			for i, out := range outs {
				has := test.has
				if strings.Contains(has, "%d") {
					has = fmt.Sprintf(has, i)
				}
				switch {
				case won[i] && !strings.Contains(after, has):
					t.Errorf("%d was done, and %s says nothing of %s: %s", i, test.must, has, after)
				case !won[i] && (test.says == "" || !strings.Contains(out, test.says)):
					t.Errorf("%d was refused: %s", i, out)
				}
				if won[i] {
					wins++
				}
			}
			if wins != test.wins {
				t.Errorf("%d of %d were done, want %d: %q", wins, times, test.wins, outs)
			}
			k.must(t, "hub fsck")
			k.must(t, "log audit")
			for _, folder := range []string{"", "agent", "installed", "synced", ".kx", ".kx/keys"} {
				entries, _ := os.ReadDir(filepath.Join(k.dir, folder))
				for _, e := range entries {
					if strings.HasPrefix(e.Name(), ".kx-stage-") {
						t.Errorf("%s is left in %s", e.Name(), folder)
					}
				}
			}
		})
	}
}
