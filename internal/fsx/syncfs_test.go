//go:build linux

package fsx

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kortecx/kx/internal/stracetest"
)

func TestKernelsWhoseSyncfsTells(t *testing.T) {
	for release, want := range map[string]bool{
		"4.4.0": false, "5.4.0-200-generic": false, "5.7": false, "5.8": true, "5.8.0-rc1": true, "5.10.16.3-microsoft-standard-WSL2": true,
		"6.18.44-fc-v782": true, "10.0": true, "": false, "x.9": false, "6": false,
	} {
		if got := tellsSince(release); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}

// TestManyFoldersWaitOnce: a batch is one flush of the file system, by the directory that
// was open before anything was written, and one of the directory.
func TestManyFoldersWaitOnce(t *testing.T) {
	strace := stracetest.Find(t)
	if !syncfsTells() {
		t.Skip("this kernel's syncfs does not tell what failed, so it is not used")
	}
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	if _, out := runChild(t, []string{strace, "-f", "-qq", "-y", "-o", log, "-e", "trace=syncfs,fsync,mkdirat,renameat2"}, "many", dir, "KX_FSX_BARE=1"); out != "" {
		t.Fatal(out)
	}
	data, err := os.ReadFile(log)
	must(t, err)
	var order []string // of the calls, without repetitions
	for line := range strings.Lines(string(data)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, rest, ok := strings.Cut(strings.TrimSpace(call), "(")
		if !ok || name == "???" {
			continue // the end of a call that another thread interrupted, or one that the process ended in
		}
		if name == "syncfs" && !strings.Contains(rest, "<"+dir+">") {
			t.Errorf("the file system is flushed by %s", call)
		}
		if name != "mkdirat" && name != "renameat2" || len(order) == 0 || order[len(order)-1] != name {
			order = append(order, name)
		}
	}
	if got := strings.Join(order, " "); got != "mkdirat syncfs renameat2 fsync" && !(strings.HasPrefix(got, "mkdirat syncfs renameat2 ") && strings.HasSuffix(got, " fsync") && strings.Count(got, "sync") == 2) {
		t.Errorf("the calls are %s", got)
	}
}

// A power cut could take the directory that was made for a file, and with it the file that
// was flushed. Where nothing had to be made, nothing more is flushed than the file and its
// directory.
func TestNewDirectoriesAreDurableWithWhatIsWrittenBelow(t *testing.T) {
	strace := stracetest.Find(t)
	dir, log := memory(t), filepath.Join(t.TempDir(), "log")
	flushed := regexp.MustCompile(`fsync\(\d+<([^>]*)>`)
	for _, want := range []string{". a a/b file", "a/b file"} {
		if _, out := runChild(t, []string{strace, "-f", "-qq", "-y", "-o", log, "-e", "trace=fsync"}, "made", dir); out != "" {
			t.Fatal(out)
		}
		data, err := os.ReadFile(log)
		must(t, err)
		var got []string
		for _, call := range flushed.FindAllSubmatch(data, -1) {
			name, err := filepath.Rel(dir, string(call[1]))
			must(t, err)
			if strings.Contains(name, stagePrefix) {
				name = "file"
			}
			got = append(got, name)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%q were flushed, want %s", got, want)
		}
	}
}
