package sqlstore

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/stracetest"
)

// faultyDir makes this test binary a process that pushes into that directory, to
// have its system calls disturbed.
const faultyDir = "KX_TEST_FAULTY_DIR"

// R12 is RunAll: no goroutine is left behind.
func TestMain(m *testing.M) {
	if dir := os.Getenv(faultyDir); dir != "" {
		pushAndTell(dir)
		os.Exit(0)
	}
	os.Exit(storetest.RunAll(m))
}

const faultyPushes = 12

// faultyMode lets the process push until it is ended, with that setting of
// synchronous.
const faultyMode = "KX_TEST_FAULTY_MODE"

// pushAndTell says on standard output what became of each push.
func pushAndTell(dir string) {
	ctx := context.Background()
	s, err := Open(ctx, dir, Options{Now: time.Now})
	if err != nil {
		fmt.Println("refused open", hubapi.AsError(err).Code)
		return
	}
	h := hub.New(s, hub.Config{Now: time.Now})
	pushes := faultyPushes
	switch os.Getenv(faultyMode) {
	case "NORMAL":
		if _, err := s.writer.session.conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
			fmt.Println("refused pragma", err)
		}
		fallthrough
	case "FULL":
		pushes = 1 << 30
	}
	for i := range pushes {
		name := fmt.Sprint("p", i)
		out, err := h.Publish(ctx, hub.LocalAdmin(), hub.PublishInput{Name: name, Files: skillPack(name, strings.Repeat("text ", 3000)), Approve: true})
		if err != nil {
			fmt.Println("refused", name, hubapi.AsError(err).Code)
			continue
		}
		fmt.Println("kept", name, out.Digest)
	}
	if err := s.Ready(ctx); err != nil {
		fmt.Println("degraded", hubapi.AsError(err).Code)
	}
	_ = s.Close()
}

// I13, R3: a system call on the database that fails, or in which the process dies,
// takes nothing that was acknowledged, and what failed is refused.
func TestSystemCallsThatFail(t *testing.T) {
	strace := stracetest.Find(t)
	instances := []int{1, 4, 5}
	if os.Getenv("KX_RELIABILITY") == "1" {
		instances = nil
		for i := range 40 {
			instances = append(instances, i+1)
		}
	}
	slots := make(chan struct{}, 4)
	for _, call := range []string{"openat", "pwrite64", "fdatasync", "ftruncate", "close"} {
		for _, fault := range []string{"error=EIO", "error=ENOSPC", "signal=SIGKILL"} {
			t.Run(call+" "+fault, func(t *testing.T) {
				t.Parallel()
				var kept, refused, degraded int
				for _, n := range instances {
					slots <- struct{}{}
					k, r, d := disturbed(t, strace, n%2 == 1, call, fmt.Sprintf("%s:%s:when=%d", call, fault, n))
					<-slots
					kept, refused, degraded = kept+k, refused+r, degraded+d
				}
				t.Logf("%d kept, %d refused, %d times not ready", kept, refused, degraded)
				if call == "fdatasync" && fault == "error=EIO" && (refused == 0 || degraded == 0) {
					t.Error("a disk that fails is not noticed")
				}
			})
		}
	}
}

// disturbed runs pushes with one fault, over a new database or one that is there,
// and looks at what is left.
func disturbed(t *testing.T, strace string, there bool, call, inject string) (kept, refused, degraded int) {
	t.Helper()
	dir := storetest.TempDir(t)
	if there {
		if err := opened(t, dir).Close(); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", "inject=" + inject}
	for _, name := range []string{databaseFile, databaseFile + "-wal", databaseFile + "-journal", databaseFile + "-shm"} {
		args = append(args, "-P", filepath.Join(dir, name))
	}
	cmd := exec.Command(strace, append(args, os.Args[0], "-test.run=^$")...)
	cmd.Env = append(os.Environ(), faultyDir+"="+dir)
	out, err := cmd.Output()
	if err != nil && !strings.Contains(inject, "SIGKILL") {
		t.Errorf("%s: %v\n%s", inject, err, out)
	}
	digests := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 3 && words[0] == "kept":
			digests[words[1]] = words[2]
			kept++
		case len(words) == 3 && words[0] == "refused":
			refused++
			if strings.Contains(inject, "ENOSPC") && words[2] != string(hubapi.NoSpace) && call == "pwrite64" && words[1] != "open" {
				t.Errorf("%s: %s", inject, lines.Text())
			}
		case len(words) == 2 && words[0] == "degraded":
			degraded++
		default:
			t.Errorf("%s: the process said %q", inject, lines.Text())
		}
	}
	s := opened(t, dir) // as the next start would
	defer s.Close()
	report, err := Fsck(t.Context(), Place{Dir: dir})
	if err != nil || len(report.Faults) > 0 || report.Releases < len(digests) {
		t.Errorf("%s: %d kept, %+v, %v", inject, len(digests), report, err)
	}
	h := hub.New(s, hub.Config{Now: time.Now})
	for name, digest := range digests {
		got, err := h.Archive(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: name})
		if err != nil || got.Release.Digest != digest {
			t.Errorf("%s: %s was acknowledged and is lost: %v", inject, name, err)
		}
	}
	return kept, refused, degraded
}

// I9, R7: the clock goes back, to 1970 and far ahead: order is by sequence.
func TestClocksThatJump(t *testing.T) {
	s := opened(t, storetest.TempDir(t))
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	h := hub.New(s, hub.Config{Now: func() time.Time { return now }})
	for i, jump := range []time.Time{now, now.Add(-time.Hour), now.Add(time.Hour), time.Unix(0, 0), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), now} {
		now = jump
		if _, err := h.Publish(t.Context(), hub.LocalAdmin(), hub.PublishInput{Name: "triage", Files: skillPack("triage", fmt.Sprint("text ", i)), Approve: true}); err != nil {
			t.Fatalf("at %v: %v", jump, err)
		}
		found, err := h.Search(t.Context(), hub.LocalAdmin(), hub.SearchQuery{Text: "triage", Limit: 5})
		if err != nil || len(found.Items) != 1 || found.Items[0].Version != fmt.Sprint(i+1) {
			t.Errorf("at %v the active one is %+v, %v", jump, found.Items, err)
		}
	}
	if err := s.Read(t.Context(), func(r hub.Reader) error {
		rows, err := r.TenantReleases(hub.LocalTenant, hubapi.Deprecated, 10)
		for i, row := range rows {
			if row.Version != fmt.Sprint(5-i) {
				t.Errorf("%d: version %s", i, row.Version)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
