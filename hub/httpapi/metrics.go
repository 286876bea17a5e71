package httpapi

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/internal/sorting"
)

// buckets are the upper bounds of the latency histogram, in seconds.
var buckets = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}

// metrics are the counts of one server. Routes, methods and codes are few, so
// their product is bounded whatever is asked.
type metrics struct {
	mu       sync.Mutex
	requests map[requestKey]int64
	latency  map[string]*histogram // by route
	pushes   map[string]int64      // by outcome
}

type requestKey struct {
	route, method string
	code          int
}

type histogram struct {
	counts [len(buckets)]int64
	count  int64
	sum    float64 // seconds
}

type gauge struct {
	name, help string
	value      int64
}

func newMetrics() *metrics {
	return &metrics{requests: map[requestKey]int64{}, latency: map[string]*histogram{}, pushes: map[string]int64{}}
}

func (m *metrics) request(route, method string, code int, took time.Duration) {
	seconds := took.Seconds()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[requestKey{route, method, code}]++
	h := m.latency[route]
	if h == nil {
		h = &histogram{}
		m.latency[route] = h
	}
	h.count++
	h.sum += seconds
	for i, bound := range buckets {
		if seconds <= bound {
			h.counts[i]++
		}
	}
	if outcome := pushOutcome(route, method, code); outcome != "" {
		m.pushes[outcome]++
	}
}

// text writes everything, sorted.
func (m *metrics) text(gauges []gauge, store *StoreStats) []byte {
	var b strings.Builder
	head := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	m.mu.Lock()
	defer m.mu.Unlock()

	head("kx_http_requests_total", "counter", "requests that were answered")
	keys := slices.Collect(maps.Keys(m.requests))
	sorting.Sort(keys, func(a, b requestKey) int {
		return strings.Compare(a.route+"\x00"+a.method+"\x00"+strconv.Itoa(a.code), b.route+"\x00"+b.method+"\x00"+strconv.Itoa(b.code))
	})
	for _, k := range keys {
		fmt.Fprintf(&b, "kx_http_requests_total{route=\"%s\",method=\"%s\",code=\"%d\"} %d\n", escapeLabel(k.route), escapeLabel(k.method), k.code, m.requests[k])
	}
	head("kx_http_request_duration_seconds", "histogram", "time from a request's head to the end of its answer")
	for _, route := range slices.Sorted(maps.Keys(m.latency)) {
		h, label := m.latency[route], escapeLabel(route)
		for i, bound := range buckets {
			fmt.Fprintf(&b, "kx_http_request_duration_seconds_bucket{route=\"%s\",le=\"%s\"} %d\n", label, strconv.FormatFloat(bound, 'g', -1, 64), h.counts[i])
		}
		fmt.Fprintf(&b, "kx_http_request_duration_seconds_bucket{route=\"%s\",le=\"+Inf\"} %d\n", label, h.count)
		fmt.Fprintf(&b, "kx_http_request_duration_seconds_sum{route=\"%s\"} %s\n", label, strconv.FormatFloat(h.sum, 'g', -1, 64))
		fmt.Fprintf(&b, "kx_http_request_duration_seconds_count{route=\"%s\"} %d\n", label, h.count)
	}
	head("kx_pushes_total", "counter", "pushes by what became of them")
	for _, outcome := range []string{"failed", "new", "refused", "unchanged"} {
		fmt.Fprintf(&b, "kx_pushes_total{outcome=\"%s\"} %d\n", outcome, m.pushes[outcome])
	}
	if store != nil {
		for _, c := range []gauge{
			{"kx_store_writes_total", "writes that were committed", store.Writes},
			{"kx_store_commits_total", "transactions that committed them: writes that wait share one", store.Commits},
			{"kx_store_failed_transactions_total", "transactions that were taken back", store.Failed},
		} {
			head(c.name, "counter", c.help)
			fmt.Fprintf(&b, "%s %d\n", c.name, c.value)
		}
		if store.Bytes >= 0 {
			gauges = append(gauges, gauge{"kx_store_size_bytes", "size of the database", store.Bytes})
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	gauges = append(gauges,
		gauge{"kx_goroutines", "goroutines of the process", int64(runtime.NumGoroutine())},
		gauge{"kx_heap_bytes", "memory of live and not yet collected objects", int64(memory.HeapAlloc)},
	)
	for _, g := range gauges {
		head(g.name, "gauge", g.help)
		fmt.Fprintf(&b, "%s %d\n", g.name, g.value)
	}
	return []byte(b.String())
}
