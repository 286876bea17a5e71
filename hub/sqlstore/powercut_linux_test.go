package sqlstore

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// I2, R2: the power goes. A hub runs on a file system in a file; it is stopped
// between two instructions, and a copy of that file is all that the disk had been
// given. With synchronous=FULL nothing acknowledged is lost. With NORMAL something
// is: a test that did not see that would prove nothing.
func TestPowerCut(t *testing.T) {
	if err := exec.Command("losetup", "-f").Run(); err != nil || os.Getuid() != 0 {
		t.Skipf("this machine does not let us mount a loop device: %v", err)
	}
	if testing.Short() {
		t.Skip("a power cut takes seconds")
	}
	rounds, long := 1, os.Getenv("KX_RELIABILITY") == "1"
	if long {
		rounds = 10
	}
	for _, mode := range []string{"FULL", "NORMAL"} {
		var acknowledged, lost int
		for round := range max(rounds, 6) {
			if round >= rounds && (mode == "FULL" || lost > 0) {
				break // the control is tried again until it shows the loss
			}
			a, l := powerCut(t, mode)
			acknowledged, lost = acknowledged+a, lost+l
		}
		t.Logf("synchronous=%s: %d acknowledged, %d lost", mode, acknowledged, lost)
		if mode == "NORMAL" && lost == 0 && !long {
			// The disk may write in time by itself: no fault of ours, and only the
			// long run has rounds enough to insist.
			t.Log("the control lost nothing this time, so this run proves nothing")
			continue
		}
		if mode == "FULL" && lost > 0 || mode == "NORMAL" && lost == 0 || acknowledged == 0 {
			t.Errorf("synchronous=%s: %d acknowledged, %d lost", mode, acknowledged, lost)
		}
	}
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// mounted mounts an image, and gives how to take it away.
func mounted(t *testing.T, image, dir string) func() {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		t.Skipf("this machine does not let us mount a loop device: %s", out)
	}
	var once sync.Once
	unmount := func() {
		once.Do(func() {
			if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
				t.Errorf("umount: %v\n%s", err, out)
			}
		})
	}
	t.Cleanup(unmount)
	return unmount
}

func powerCut(t *testing.T, mode string) (acknowledged, lost int) {
	t.Helper()
	place := t.TempDir()
	image, cut := filepath.Join(place, "disk"), filepath.Join(place, "cut")
	command(t, "truncate", "-s", "128M", image)
	command(t, "mkfs.ext4", "-q", "-F", image)
	disk := filepath.Join(place, "mnt")
	unmount := mounted(t, image, disk)

	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), faultyDir+"="+filepath.Join(disk, "hub"), faultyMode+"="+mode)
	// A file rather than a pipe: what was written before the stop is all there.
	said, err := os.Create(filepath.Join(place, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Acknowledged is what was said before the copy begins.
	waitStopped(t, cmd.Process.Pid)
	digests := kept(t, said.Name())
	command(t, "cp", "--sparse=always", image, cut)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	unmount()

	after := filepath.Join(place, "after")
	defer mounted(t, cut, after)()
	dir := filepath.Join(after, "hub")
	s, err := Open(t.Context(), dir, Options{Now: time.Now})
	if err != nil {
		t.Fatalf("synchronous=%s: the hub does not open after the cut: %v", mode, err)
	}
	defer s.Close()
	h := hub.New(s, hub.Config{Now: time.Now})
	for name, digest := range digests {
		got, err := h.Archive(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: name})
		if err != nil || got.Release.Digest != digest {
			lost++
		}
	}
	if report, err := Fsck(t.Context(), Place{Dir: dir}); err != nil || len(report.Faults) > 0 {
		t.Errorf("synchronous=%s: %+v, %v", mode, report.Faults, err)
	}
	return len(digests), lost
}

// waitStopped waits until every thread of a process stands.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(files) == 0 {
			t.Fatalf("no process %d: %v", pid, err)
		}
		running := false
		for _, file := range files {
			data, _ := os.ReadFile(file)
			_, state, _ := strings.Cut(string(data), ") ")
			running = running || state != "" && state[0] != 'T'
		}
		if !running {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatal("the process does not stop")
}

func kept(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[0] == "kept" && len(words[2]) == len("sp1:")+64 {
			out[words[1]] = words[2]
		}
	}
	return out
}
