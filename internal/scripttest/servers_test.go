package scripttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/storetest"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/pgtest"
	"github.com/kortecx/kx/internal/timetest"
	"github.com/kortecx/kx/pack"
)

// server is `kx serve` as a process of its own.
type server struct {
	cmd     *exec.Cmd
	address string
	stderr  *bytes.Buffer
	client  *hubclient.Client
}

// serve starts a server over place, with its own directory for server.json.
func serve(t *testing.T, place sqlstore.Place) *server {
	t.Helper()
	data := place.Dir
	if data == "" {
		data = t.TempDir()
	}
	s := &server{stderr: &bytes.Buffer{}}
	s.cmd = exec.Command(program(t, "kx"), "serve", "--dev-allow-local", "--listen", "127.0.0.1:0", "--data", data, "--json")
	s.cmd.Env = []string{"HOME=" + data, "PATH=" + os.Getenv("PATH"), "KX_DATABASE_URL=" + place.URL}
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	var said struct{ Address string }
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&said); err != nil {
		t.Fatalf("the server did not start: %v\n%s", err, s.stderr)
	}
	s.address = said.Address
	if s.client, err = hubclient.New(hubclient.Config{Endpoint: s.address}); err != nil {
		t.Fatal(err)
	}
	return s
}

func skillPack(name, version, text string) hubclient.PushInput {
	return hubclient.PushInput{Name: name, Files: []pack.File{
		{Path: "instructions.md", Data: []byte("# " + name + "\n\n" + text + "\n")},
		{Path: "skill.json", Data: fmt.Appendf(nil, `{"schema":"kortecx.skill/v1","name":%q,"version":%q,"description":"Sort the mail"}`, name, version)},
	}}
}

// R6, F8: two servers over one PostgreSQL; of sixteen writers that want the same
// name and version with different bytes exactly one gets it, and both servers give
// out the same bytes.
func TestTwoServersHaveOneWinner(t *testing.T) {
	place := sqlstore.Place{URL: pgtest.URL(t)}
	servers := []*server{serve(t, place), serve(t, place)}
	for round := range 10 {
		name := fmt.Sprintf("race-%d", round)
		var wg sync.WaitGroup
		var mu sync.Mutex
		winners := map[string]int{}
		conflicts := 0
		for i := range 16 {
			wg.Go(func() {
				out, err := servers[i%2].client.Push(t.Context(), skillPack(name, "1", fmt.Sprint("writer ", i)))
				mu.Lock()
				defer mu.Unlock()
				if e := hubapi.AsError(err); err != nil && e.Code == hubapi.Conflict {
					conflicts++
				} else if err != nil {
					t.Error(err)
				} else {
					winners[out.Digest]++
				}
			})
		}
		wg.Wait()
		if len(winners) != 1 || conflicts != 15 {
			t.Fatalf("round %d: winners %v, %d conflicts", round, winners, conflicts)
		}
		for digest := range winners {
			for _, s := range servers {
				got, err := s.client.Push(t.Context(), skillPack(name, "1", "somebody else"))
				if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Conflict {
					t.Errorf("%+v, %v", got, err)
				}
				if _, err := s.client.Approve(t.Context(), hubapi.Ref{Name: name}); err != nil && hubapi.AsError(err).Code != hubapi.Conflict {
					t.Error(err)
				}
				found, err := s.client.Search(t.Context(), name, hubclient.SearchOptions{Limit: 1})
				if err != nil || len(found.Items) != 1 || found.Items[0].Digest != digest {
					t.Errorf("%+v, %v", found, err)
				}
			}
		}
	}
	noFaults(t, place)
}

func noFaults(t *testing.T, place sqlstore.Place) sqlstore.Report {
	t.Helper()
	report, err := sqlstore.Fsck(t.Context(), place)
	if err != nil || len(report.Faults) > 0 {
		t.Errorf("%+v, %v", report.Faults, err)
	}
	return report
}

// pushAll pushes until ctx ends, counts what is acknowledged, and gives it.
func pushAll(ctx context.Context, clients []*hubclient.Client, pushers int, prefix string, count *atomic.Int64) map[string]string {
	out := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for pusher := range pushers {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("%s-%d-%d", prefix, pusher, i)
				in := skillPack(name, "1", strings.Repeat("text ", 300))
				in.Approve = i%3 == 0
				got, err := clients[pusher%len(clients)].Push(ctx, in)
				if err != nil {
					return
				}
				mu.Lock()
				out[name] = got.Digest
				mu.Unlock()
				count.Add(1)
			}
		})
	}
	wg.Wait()
	return out
}

// underway waits until n pushes were acknowledged, so that a machine that is slow is in the
// middle of them too.
func underway(t *testing.T, count *atomic.Int64, n int64) {
	t.Helper()
	for end := time.Now().Add(timetest.Limit(20 * time.Second)); count.Load() < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d pushes were acknowledged", count.Load())
		}
	}
}

// kept says that everything acknowledged is in the hub.
func kept(t *testing.T, place sqlstore.Place, acknowledged map[string]string) {
	t.Helper()
	report := noFaults(t, place)
	s := serve(t, place)
	for name, digest := range acknowledged {
		out, err := s.client.Push(t.Context(), skillPack(name, "1", strings.Repeat("text ", 300)))
		if err != nil || !out.Unchanged || out.Digest != digest {
			t.Errorf("%s was acknowledged and is lost: %+v, %v", name, out, err)
		}
	}
	if report.Releases < len(acknowledged) {
		t.Errorf("%d releases for %d acknowledged pushes", report.Releases, len(acknowledged))
	}
}

// I10, R16: a server that is told to end under sixteen uploads ends with 0 within
// ten seconds, and keeps what it acknowledged and nothing by half.
func TestTerminatedServersDrain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM here")
	}
	t.Parallel()
	rounds := quickOr(2, 100)
	place := sqlstore.Place{Dir: storetest.TempDir(t)}
	acknowledged := map[string]string{}
	for round := range rounds {
		s := serve(t, place)
		done := make(chan map[string]string, 1)
		var count atomic.Int64
		go func() {
			done <- pushAll(t.Context(), []*hubclient.Client{s.client}, 16, fmt.Sprint("r", round), &count)
		}()
		underway(t, &count, 16)
		begun := time.Now()
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Wait(); err != nil || time.Since(begun) > timetest.Limit(10*time.Second) {
			t.Errorf("round %d: %v after %v\n%s", round, err, time.Since(begun), s.stderr)
		}
		for name, digest := range <-done {
			acknowledged[name] = digest
		}
		if _, err := os.Stat(filepath.Join(place.Dir, "server.json")); err == nil {
			t.Error("server.json was left behind")
		}
	}
	kept(t, place, acknowledged)
}

// R1 with PostgreSQL: servers that are killed under load lose nothing that they
// acknowledged, and do not keep others from writing.
func TestKilledServersOverPostgres(t *testing.T) {
	place := sqlstore.Place{URL: pgtest.URL(t)}
	survivor := serve(t, place)
	acknowledged := map[string]string{}
	for round := range quickOr(3, 50) {
		s := serve(t, place)
		ctx, stop := context.WithTimeout(t.Context(), timetest.Limit(20*time.Second))
		done := make(chan map[string]string, 2)
		var killed, lived atomic.Int64
		go func() { done <- pushAll(ctx, []*hubclient.Client{s.client}, 8, fmt.Sprint("killed-", round), &killed) }()
		live, end := context.WithCancel(ctx)
		go func() {
			done <- pushAll(live, []*hubclient.Client{survivor.client}, 4, fmt.Sprint("live-", round), &lived)
		}()
		underway(t, &killed, 16)
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		underway(t, &lived, lived.Load()+4)
		end()
		for range 2 {
			for name, digest := range <-done {
				acknowledged[name] = digest
			}
		}
		stop()
	}
	kept(t, place, acknowledged)
}

// quickOr gives the long size where the long tests are asked for (make reliability).
func quickOr(quick, long int) int {
	if os.Getenv("KX_RELIABILITY") == "1" {
		return long
	}
	return quick
}
