package httpapi_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
)

// smallDisk is a file system of that many MiB.
func smallDisk(t *testing.T, mib int) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib))
	if err != nil {
		t.Skipf("this machine does not let us mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// R4: on a full disk pushes are refused with 507, everything that was acknowledged
// is read, and writes go on when there is room again.
func TestFullDiskOverHTTP(t *testing.T) {
	cycles := 1
	if reliability() {
		cycles = 5
	}
	dir := smallDisk(t, 12)
	store, err := sqlstore.Open(t.Context(), dir, sqlstore.Options{Now: time.Now, MinFree: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := hub.New(store, hub.Config{Now: time.Now})
	client, err := hubclient.New(hubclient.Config{
		Endpoint:  "http://127.0.0.1",
		Transport: httpapi.InProcess(httpapi.Handler(h, httpapi.DevLocal(), httpapi.Options{})),
	})
	if err != nil {
		t.Fatal(err)
	}
	ballast := dir + "/ballast"
	kept := map[string]string{}
	n := 0
	push := func(size int) error {
		n++
		name := fmt.Sprint("p", n)
		out, err := client.Push(t.Context(), hubclient.PushInput{Name: name, Files: kortecx(name, "1", big(size))})
		if err == nil {
			kept[name] = out.Digest
		}
		return err
	}
	for cycle := range cycles {
		if err := os.WriteFile(ballast, make([]byte, 5<<20), 0o600); err != nil && !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
		refused := 0
		for refused < 20 {
			err := push(20_000)
			if err == nil {
				continue
			}
			refused++
			if e := hubapi.AsError(err); e.Code != hubapi.NoSpace || e.Code.HTTP() != 507 || e.Hint == "" {
				t.Fatalf("cycle %d: %v", cycle, err)
			}
		}
		if err := h.Ready(t.Context()); hubapi.AsError(err).Code != hubapi.NoSpace {
			t.Errorf("ready on a full disk: %v", err)
		}
		for name, digest := range kept {
			out, err := h.Archive(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: name, Version: "1"})
			if err != nil || out.Release.Digest != digest {
				t.Fatalf("cycle %d: %s is lost: %v", cycle, name, err)
			}
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if err := push(1000); err != nil {
			t.Errorf("cycle %d: after space was freed: %v", cycle, err)
		}
	}
	t.Logf("%d pushes kept", len(kept))
	report, err := sqlstore.Fsck(t.Context(), sqlstore.Place{Dir: dir})
	if err != nil || len(report.Faults) > 0 || report.Releases != len(kept) {
		t.Errorf("%+v, %v", report, err)
	}
}
