package scripttest

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A command that is killed leaves the old state or the new one, and running it
// again ends in the new one. The packages below test this step by step; here whole
// processes are killed at random moments.
func TestKilledCommandsLeaveOldOrNew(t *testing.T) {
	kills := 8
	if os.Getenv("KX_TEST_ALL") != "" {
		kills = 40
	}
	for name, test := range map[string]struct {
		args  string
		check func(k *killed, t *testing.T)
	}{
		"new":     {"new skill fresh --tool retrieve@1", (*killed).checkNew},
		"sign":    {"sign triage --key me --author other", (*killed).checkSign},
		"push":    {"push triage --author acme --approve", (*killed).checkPush},
		"install": {"skills install base --to agent", (*killed).checkInstall},
		"update":  {"skills install base --to installed", (*killed).checkUpdate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newKilled(t, t.TempDir())
			model.prepare(t)
			whole := time.Now()
			probe := model.copy(t)
			probe.must(t, test.args)
			length := time.Since(whole)
			for range kills {
				k := model.copy(t)
				k.kill(t, test.args, time.Duration(rand.Int64N(int64(length))))
				test.check(k, t)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// killed is a user's folder in which a command is killed.
type killed struct {
	kx  string
	dir string
}

func newKilled(t *testing.T, dir string) *killed {
	return &killed{kx: program(t, "kx"), dir: dir}
}

func (k *killed) command(args string) *exec.Cmd {
	cmd := exec.Command(k.kx, strings.Fields(args)...)
	cmd.Dir = k.dir
	cmd.Env = []string{"KX_HOME=" + filepath.Join(k.dir, ".kx"), "HOME=" + k.dir}
	return cmd
}

func (k *killed) must(t *testing.T, args string) string {
	t.Helper()
	out, err := k.command(args).CombinedOutput()
	if err != nil {
		t.Fatalf("kx %s: %v\n%s", args, err, out)
	}
	return string(out)
}

func (k *killed) kill(t *testing.T, args string, after time.Duration) {
	t.Helper()
	cmd := k.command(args)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// prepare makes a signed pack, and a skill of which version 1 is installed and
// version 2 is active.
func (k *killed) prepare(t *testing.T) {
	for _, args := range []string{
		"keys new me",
		"new skill triage",
		"sign triage --key me --author acme",
	} {
		k.must(t, args)
	}
	for _, version := range []string{"1", "2"} {
		write(t, k.dir, version+"/base/skill.json", `{"schema":"kortecx.skill/v1","name":"base","version":"`+version+`","description":"Says which version it is."}`)
		write(t, k.dir, version+"/base/instructions.md", "# Base\n\nThis is version "+version+".\n"+strings.Repeat("One more line.\n", 2000))
		k.must(t, "push "+version+"/base --author acme --approve")
		if version == "1" {
			k.must(t, "skills install base --to installed")
		}
	}
}

func (k *killed) copy(t *testing.T) *killed {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(k.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, ".kx", "keys", "me.key"), 0o600); err != nil {
		t.Fatal(err)
	}
	return newKilled(t, dir)
}

// names lists a folder without what a killed run may leave behind until the next.
func (k *killed) names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(k.dir, folder))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".kx-stage-") {
			names = append(names, e.Name())
		}
	}
	return names
}

func (k *killed) checkNew(t *testing.T) {
	whole := []string{"README.md", "instructions.md", "skill.json"}
	if got := k.names(t, "fresh"); len(got) > 0 && !slices.Equal(got, whole) {
		t.Errorf("half a pack is left: %v", got)
	} else if len(got) == 0 {
		k.must(t, "new skill fresh --tool retrieve@1")
	}
	k.must(t, "check fresh")
}

func (k *killed) checkSign(t *testing.T) {
	k.must(t, "verify triage") // signed for acme or for other: one of the two, and valid
	k.must(t, "sign triage --key me --author other")
	k.must(t, "verify triage --author other")
}

func (k *killed) checkPush(t *testing.T) {
	found := k.must(t, "search triage --json")
	listed := k.must(t, "inbox list --json")
	if strings.Contains(listed, `"triage"`) {
		t.Errorf("a push that approves was stored half:\n%s\n%s", found, listed)
	}
	k.must(t, "push triage --author acme --approve")
	k.must(t, "pull triage --dir again")
	k.must(t, "verify again/triage --author acme")
}

func (k *killed) checkInstall(t *testing.T) {
	if got := k.names(t, "agent/base"); len(got) > 0 {
		k.must(t, "verify agent/base --version 2")
	}
	k.must(t, "skills install base --to agent")
	k.must(t, "verify agent/base --version 2")
	if got := k.names(t, "agent"); !slices.Equal(got, []string{"base"}) {
		t.Errorf("the target holds %v", got)
	}
}

func (k *killed) checkUpdate(t *testing.T) {
	k.must(t, "verify installed/base") // version 1 or 2, whole
	k.must(t, "skills install base --to installed")
	k.must(t, "verify installed/base --version 2")
	entries, err := os.ReadDir(filepath.Join(k.dir, "installed"))
	if err != nil || len(entries) != 1 {
		t.Errorf("the target holds %v (%v) after a run that was not killed", entries, err)
	}
}
