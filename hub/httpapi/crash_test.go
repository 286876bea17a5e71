package httpapi_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

// childDir makes this test binary a server on that directory, to be killed.
const childDir = "KX_TEST_HUB_CHILD"

// R12 is RunAll: no goroutine is left behind.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := serveChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	timetest.ManyWait(8)
	os.Exit(storetest.RunAll(m))
}

func serveChild(dir string) error {
	store, err := sqlstore.Open(context.Background(), dir, sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mine := hubapi.ServerFile{Address: "http://" + l.Addr().String(), PID: os.Getpid(), Key: "k"}
	if err := hubapi.WriteServerFile(dir, mine); err != nil {
		return err
	}
	fmt.Println(mine.Address)
	handler := httpapi.Handler(hub.New(store, hub.Config{Now: time.Now}), httpapi.LocalKey("k"), httpapi.Options{Loopback: true})
	return httpapi.Serve(context.Background(), httpapi.NewServer(handler), l)
}

// startChild starts a server process and waits until it listens.
func startChild(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(address)
}

// I1, R1: a server that is killed under load has lost nothing that it acknowledged.
func TestKilledServersLoseNothing(t *testing.T) {
	rounds := 4
	switch {
	case testing.Short():
		rounds = 1
	case reliability():
		rounds = 200
	}
	dir := storetest.TempDir(t)
	acknowledged := map[string]string{} // name to digest
	var mu sync.Mutex
	for round := range rounds {
		cmd, address := startChild(t, dir)
		// I7: while it runs, nobody else gets in, and everybody learns where it is.
		_, err := sqlstore.Open(t.Context(), dir, sqlstore.Options{Now: time.Now})
		if e := hubapi.AsError(err); e == nil || !strings.Contains(e.Message, fmt.Sprintf("process %d", cmd.Process.Pid)) || !strings.Contains(e.Hint, address) {
			t.Errorf("a second opener: %v", err)
		}
		client, err := hubclient.New(hubclient.Config{Endpoint: address, Token: "k"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for pusher := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					name := fmt.Sprintf("p-%d-%d-%d", round, pusher, i)
					out, err := client.Push(ctx, hubclient.PushInput{Name: name, Files: kortecx(name, "1", big(1500)), Approve: i%3 == 0})
					if err != nil {
						return
					}
					mu.Lock()
					acknowledged[name] = out.Digest
					mu.Unlock()
				}
			})
		}
		// Under way, however slow the machine is today, and then at any moment.
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			mu.Lock()
			enough := len(acknowledged) >= 8*(round+1)
			mu.Unlock()
			if enough {
				break
			}
		}
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		stop()
		wg.Wait()
	}
	if len(acknowledged) < 8*rounds {
		t.Fatalf("only %d pushes were acknowledged in %d rounds", len(acknowledged), rounds)
	}
	t.Logf("%d pushes acknowledged in %d rounds", len(acknowledged), rounds)

	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "hub.db")))
	if err != nil {
		t.Fatal(err)
	}
	var verdict string
	var orphans int
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %s, %v", verdict, err)
	}
	if err := db.QueryRow("SELECT count(*) FROM pragma_foreign_key_check").Scan(&orphans); err != nil || orphans != 0 {
		t.Errorf("%d dangling rows, %v", orphans, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	store, err := sqlstore.Open(t.Context(), dir, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := hub.New(store, hub.Config{Now: time.Now})
	for name, digest := range acknowledged {
		out, err := h.Archive(t.Context(), hub.LocalAdmin(), hubapi.Ref{Name: name, Version: "1"})
		if err != nil || out.Release.Digest != digest || string(pack.DigestFiles(out.Files)) != digest {
			t.Errorf("%s was acknowledged as %s and is now %s, %v", name, digest, out.Release.Digest, err)
		}
	}
}
