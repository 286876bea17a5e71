package httpapi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/pgtest"
)

// vocabulary makes descriptions that are alike and not the same.
var vocabulary = strings.Fields(`mail draft reply sort label archive invoice receipt ledger budget forecast report
 meeting notes agenda summary translate review merge branch deploy rollback monitor alert incident runbook
 database query index backup restore schema table chart slide image caption photo video audio transcript
 customer ticket refund order shipment warehouse stock price quote contract clause policy audit risk
 research paper citation survey interview persona journey sketch wireframe palette font layout page`)

func description(i int) string {
	random := rand.New(rand.NewPCG(uint64(i), 7))
	words := make([]string, 12)
	for j := range words {
		words[j] = vocabulary[random.IntN(len(vocabulary))]
	}
	return strings.Join(words, " ")
}

// grown is a hub with many releases behind a real listener.
type grown struct {
	hub    *hub.Hub
	client *hubclient.Client
	size   int
}

func grownHub(b *testing.B, store *sqlstore.Store) *grown {
	h := hub.New(store, hub.Config{Now: time.Now})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- httpapi.Serve(ctx, httpapi.NewServer(httpapi.Handler(h, httpapi.DevLocal(), httpapi.Options{Loopback: true})), l)
	}()
	wire := &http.Transport{MaxIdleConnsPerHost: 16}
	client, err := hubclient.New(hubclient.Config{Endpoint: "http://" + l.Addr().String(), Transport: wire})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		wire.CloseIdleConnections()
		cancel()
		if err := errJoin(<-done, store.Close()); err != nil {
			b.Error(err)
		}
	})
	return &grown{hub: h, client: client}
}

func errJoin(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// grow adds releases, all of them active, until there are n.
func (g *grown) grow(b *testing.B, n int) {
	var next atomic.Int64
	next.Store(int64(g.size))
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				name := fmt.Sprintf("skill-%d", i)
				if _, err := g.hub.Publish(context.Background(), hub.LocalAdmin(), hub.PublishInput{Name: name, Files: skillMD(name, description(i), big(600)), Approve: true}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	g.size = n
}

// measure runs calls from clients at once and reports their rate and latencies.
func measure(b *testing.B, what string, clients, calls int, call func(i int) error) {
	var next atomic.Int64
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	begun := time.Now()
	for range clients {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= calls; i = int(next.Add(1)) {
				start := time.Now()
				err := call(i)
				took := time.Since(start)
				if err != nil {
					b.Errorf("%s: %v", what, err)
					return
				}
				mu.Lock()
				all = append(all, took)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	if len(all) == 0 {
		return
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(float64(len(all))/time.Since(begun).Seconds(), what+"/s")
	b.ReportMetric(ms(all[len(all)/2]), what+"-p50-ms")
	b.ReportMetric(ms(all[len(all)*99/100]), what+"-p99-ms")
}

// BenchmarkGrowth is the table of growth in docs/reliability.md: what pushing,
// searching, listing and showing cost at more and more releases, on both databases.
// KX_GROWTH names the sizes; run it with -benchtime 1x.
func BenchmarkGrowth(b *testing.B) {
	sizes := os.Getenv("KX_GROWTH")
	if sizes == "" {
		sizes = "1000"
	}
	databases := []string{"sqlite"}
	if os.Getenv(pgtest.Variable) != "" {
		databases = append(databases, "postgres")
	}
	for _, database := range databases {
		b.Run(database, func(b *testing.B) {
			place := sqlstore.Place{Dir: b.TempDir()}
			if database == "postgres" {
				place = sqlstore.Place{URL: pgtest.URL(b)}
			}
			store, err := sqlstore.OpenPlace(b.Context(), place, sqlstore.Options{Now: time.Now, Readers: 8})
			if err != nil {
				b.Fatal(err)
			}
			g := grownHub(b, store)
			var pushed atomic.Int64
			for _, text := range strings.Split(sizes, ",") {
				size, err := strconv.Atoi(text)
				if err != nil {
					b.Fatal(err)
				}
				g.grow(b, size)
				b.Run(text, func(b *testing.B) {
					for range b.N {
						g.costs(b, &pushed)
					}
				})
			}
		})
	}
}

func (g *grown) costs(b *testing.B, pushed *atomic.Int64) {
	ctx := context.Background()
	prose := strings.Repeat("Read the mail first, then sort it. ", 50)
	measure(b, "push", 16, 2000, func(int) error {
		name := fmt.Sprintf("pushed-%d", pushed.Add(1))
		_, err := g.client.Push(ctx, hubclient.PushInput{Name: name, Files: kortecx(name, "1", prose)})
		return err
	})
	measure(b, "search", 8, 1000, func(i int) error {
		words := strings.Fields(description(i))
		_, err := g.client.Search(ctx, words[0]+" "+words[1], hubclient.SearchOptions{Limit: 20})
		return err
	})
	measure(b, "list", 8, 1000, func(int) error {
		_, err := g.client.Search(ctx, "", hubclient.SearchOptions{Limit: 20})
		return err
	})
	measure(b, "show", 8, 1000, func(i int) error {
		_, err := g.client.Release(ctx, hubapi.Ref{Author: "local", Name: fmt.Sprintf("skill-%d", 1+i%g.size)})
		return err
	})
}
