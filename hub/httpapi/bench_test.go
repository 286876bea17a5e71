package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/hubclient"
)

// BenchmarkPush is the bar of the design: 2 KB packs from 16 clients over TCP,
// each acknowledged when it is durable.
func BenchmarkPush(b *testing.B) {
	s := startIn(b, httpapi.DevLocal(), b.TempDir())
	prose := strings.Repeat("Read the mail first, then sort it. ", 50)
	var next atomic.Int64
	const clients = 16
	var wg sync.WaitGroup
	begun := time.Now()
	b.ResetTimer()
	for range clients {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				name := fmt.Sprintf("pack-%d", n)
				if _, err := s.client.Push(context.Background(), hubclient.PushInput{Name: name, Files: kortecx(name, "1", prose)}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "push/s")
}

// BenchmarkSearch asks 1,000 releases from 8 clients.
func BenchmarkSearch(b *testing.B) {
	s := startIn(b, httpapi.DevLocal(), b.TempDir())
	seed(b, s, 1000)
	for _, q := range []string{"pack 500", "mail", ""} {
		b.Run("q="+q, func(b *testing.B) {
			var next atomic.Int64
			var wg sync.WaitGroup
			begun := time.Now()
			for range 8 {
				wg.Go(func() {
					for next.Add(1) <= int64(b.N) {
						r, err := s.client.Search(context.Background(), q, hubclient.SearchOptions{Limit: 20})
						if err != nil || len(r.Items) == 0 {
							b.Errorf("%d items, %v", len(r.Items), err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "search/s")
		})
	}
}

func seed(t testing.TB, s *running, n int) {
	t.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				name := fmt.Sprintf("pack-%d", i)
				if _, err := s.client.Push(context.Background(), hubclient.PushInput{Name: name, Files: kortecx(name, "1", "text"), Approve: true}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
