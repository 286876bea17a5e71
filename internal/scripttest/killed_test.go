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

// R1, R17: a command that is killed leaves the old state or the new one, and running it
// again ends in the new one. The packages below test this step by step; here whole
// processes are killed at random moments.
func TestKilledCommandsLeaveOldOrNew(t *testing.T) {
	t.Parallel()
	kills := 8
	if os.Getenv("KX_TEST_ALL") != "" {
		kills = 40
	}
	model := newKilled(t, t.TempDir())
	model.prepare(t)
	for name, test := range map[string]struct {
		args  string
		check func(k *killed, t *testing.T)
	}{
		"new":     {"new skill fresh --tool retrieve@1", (*killed).checkNew},
		"sign":    {"sign triage --key me --author other", (*killed).checkSign},
		"push":    {"push triage --author acme --approve", (*killed).checkPush},
		"install": {"skills install base --to agent", (*killed).checkInstall},
		"update":  {"skills install base --to installed", (*killed).checkUpdate},
		"remove":  {"skills remove kept --installed", (*killed).checkRemove},
		"sync":    {"sync --target synced:owned", (*killed).checkSync},
		"approve": {"inbox approve acme/waits", (*killed).checkApprove},
		"backup":  {"hub backup new.backup", (*killed).checkBackup},
		"restore": {"hub restore old.backup --data restored", (*killed).checkRestore},
		"keys":    {"keys new you", (*killed).checkKeys},
		"trust":   {"trust block mallory", (*killed).checkTrust},
		"merge":   {"skills merge-lock base.json ours.json theirs.json", (*killed).checkMerge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
	cmd.Env = []string{"KX_HOME=" + filepath.Join(k.dir, ".kx"), "HOME=" + filepath.Join(k.dir, ".home")}
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
	if err := os.Mkdir(filepath.Join(k.dir, ".git"), 0o755); err != nil { // a project, whose lock names no absolute path
		t.Fatal(err)
	}
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
	for _, name := range []string{"waits", "kept"} {
		write(t, k.dir, name+"/SKILL.md", "---\nname: "+name+"\ndescription: Says what it is when somebody asks.\n---\n\n# It\n")
	}
	k.must(t, "push waits --author acme")
	k.must(t, "push kept --author acme --approve")
	k.must(t, "skills install kept --agent claude-code")
	k.must(t, "hub backup old.backup")
	k.must(t, "trust block eve")
	lock, err := os.ReadFile(filepath.Join(k.dir, "kx-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"base.json", "ours.json", "theirs.json"} {
		write(t, k.dir, name, string(lock))
	}
}

func (k *killed) copy(t *testing.T) *killed {
	t.Helper()
	dir := t.TempDir()
	copyUser(t, dir, k.dir)
	return newKilled(t, dir)
}

// copyUser copies a folder with a user's home and key, which os.CopyFS alone would let
// others read.
func copyUser(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(to, ".kx", "keys", "me.key"), 0o600); err != nil {
		t.Fatal(err)
	}
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

func (k *killed) checkRemove(t *testing.T) {
	k.must(t, "skills list --installed")
	if out, err := k.command("skills remove kept --installed").CombinedOutput(); err != nil && !strings.Contains(string(out), "[install.not-installed]") {
		t.Errorf("%v: %s", err, out)
	}
	if got := k.names(t, ".claude/skills"); len(got) > 0 {
		t.Errorf("the target holds %v", got)
	}
}

func (k *killed) checkSync(t *testing.T) {
	if got := k.names(t, "synced/base"); len(got) > 0 {
		k.must(t, "verify synced/base --version 2")
	}
	k.must(t, "sync --target synced:owned")
	k.must(t, "verify synced/base --version 2")
}

func (k *killed) checkApprove(t *testing.T) {
	k.must(t, "hub fsck")
	k.must(t, "log audit")
	listed := strings.Contains(k.must(t, "inbox list --json"), `"waits"`)
	active := strings.Contains(k.must(t, "show acme/waits@1 --json"), `"active"`)
	if listed == active {
		t.Errorf("it waits: %v, it is active: %v", listed, active)
	}
	if listed {
		k.must(t, "inbox approve acme/waits")
	}
}

func (k *killed) checkBackup(t *testing.T) {
	if len(k.found(t, "new.backup")) == 0 {
		k.must(t, "hub backup new.backup")
	}
	k.must(t, "hub restore new.backup --data again") // what is there is whole
	if got := k.found(t, "*new.backup*"); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// A hub that was restored by half is refused, and never served as a smaller one.
func (k *killed) checkRestore(t *testing.T) {
	if len(k.found(t, "restored/hub.db")) > 0 {
		out, err := k.command("hub fsck --data restored").CombinedOutput()
		if err != nil && !strings.Contains(string(out), "damaged") || err == nil && !strings.Contains(string(out), "4 releases") {
			t.Errorf("%v: %s", err, out)
		}
	}
	k.must(t, "hub restore old.backup --data another")
	k.must(t, "hub fsck --data another")
}

func (k *killed) checkKeys(t *testing.T) {
	k.must(t, "verify triage") // whatever there is of the new key, the old one is trusted
	if len(k.found(t, ".kx/keys/you.pub")) == 0 {
		_ = k.command("keys remove you").Run()
		k.must(t, "keys new you")
	}
	k.must(t, "sign triage --key you --author acme")
	k.must(t, "keys new third")
	if got := k.found(t, ".kx/keys/.*"); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

func (k *killed) checkTrust(t *testing.T) {
	if got := k.must(t, "trust list"); !strings.Contains(got, "eve") {
		t.Errorf("what was blocked is not any more: %s", got)
	}
	k.must(t, "trust block mallory")
}

func (k *killed) checkMerge(t *testing.T) {
	ours, err1 := os.ReadFile(filepath.Join(k.dir, "ours.json"))
	base, err2 := os.ReadFile(filepath.Join(k.dir, "base.json"))
	if err1 != nil || err2 != nil || string(ours) != string(base) {
		t.Errorf("%s, %v, %v", ours, err1, err2)
	}
}

// found are the paths of a pattern below the folder.
func (k *killed) found(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(k.dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
