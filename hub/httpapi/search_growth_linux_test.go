package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/httpapi"
	"github.com/kortecx/kx/pack"
)

// corpus makes packs of 2 KB whose words are spread as those of a language are: a
// few are in every pack, most in very few.
type corpus struct {
	rand *rand.Rand
	zipf *rand.Zipf
}

func newCorpus(seed uint64) *corpus {
	r := rand.New(rand.NewPCG(seed, 1))
	return &corpus{r, rand.NewZipf(r, 1.07, 4, 30_000)}
}

// word is the n-th most frequent one.
func (c *corpus) word(n uint64) string {
	const syllables = "basedigolumanoperitusavekifohaze"
	var out strings.Builder
	for n += 40; n > 0; n /= 16 {
		out.WriteString(syllables[2*(n%16) : 2*(n%16)+2])
	}
	return out.String()
}

func (c *corpus) text(words int) string {
	out := make([]string, words)
	for i := range out {
		out[i] = c.word(c.zipf.Uint64())
	}
	return strings.Join(out, " ")
}

func (c *corpus) pack(n int) (name string, files []pack.File) {
	name = fmt.Sprintf("%s-%d", c.word(c.zipf.Uint64()), n)
	manifest := fmt.Sprintf(`{"schema":"kortecx.skill/v1","name":%q,"version":"1","description":%q,"tags":[%q,%q],"tools":{"gmail/read":"1"}}`,
		name, c.text(12), c.word(c.zipf.Uint64()), c.word(c.zipf.Uint64()))
	return name, []pack.File{
		{Path: "instructions.md", Data: []byte("# " + name + "\n\n" + c.text(270) + "\n")},
		{Path: "skill.json", Data: []byte(manifest)},
	}
}

func fill(b *testing.B, h *hub.Hub, n int) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			c := newCorpus(uint64(worker))
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				name, files := c.pack(int(i))
				if _, err := h.Publish(context.Background(), hub.LocalAdmin(), hub.PublishInput{Name: name, Files: files, Approve: true}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// processor is how much processor time this process has used: on a busy machine it
// says more than the clock.
func processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// resident is how much memory the process has, in MB; 0 where that is not known.
func resident() float64 {
	data, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// BenchmarkSearchGrowth is the search row of the design at 1,000, 10,000 and
// 100,000 releases: answers a second with 8 clients, the slowest of a hundred at 50
// requests a second, and what the index costs to load and to keep. Clients and
// server share the processor.
func BenchmarkSearchGrowth(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := startIn(b, httpapi.DevLocal(), b.TempDir())
			begun := time.Now()
			fill(b, s.hub, n)
			b.Logf("%d releases published and approved: %.0f/s", n, float64(n)/time.Since(begun).Seconds())
			fresh := hub.New(s.store, hub.Config{Now: time.Now})
			runtime.GC()
			debug.FreeOSMemory()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun = time.Now()
			used := processor()
			if err := fresh.LoadSearch(b.Context()); err != nil {
				b.Fatal(err)
			}
			took := time.Since(begun)
			used = processor() - used
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.Logf("index loaded in %v, %v of processor time, %.1f MB", took, used, float64(after.HeapAlloc-before.HeapAlloc)/(1<<20))
			runtime.KeepAlive(fresh)
			fresh = nil
			runtime.GC()
			debug.FreeOSMemory()
			for kind, query := range queries() {
				b.Run(kind, func(b *testing.B) { askAll(b, s, query) })
			}
			b.Logf("resident %.0f MB, with the clients", resident())
		})
	}
}

// queries are what is asked, below /api/v1.
func queries() map[string]func(*corpus) string {
	out := map[string]func(*corpus) string{
		"kazma":          func(c *corpus) string { return fmt.Sprint("/skills?page=", 1+c.rand.IntN(50)) },
		"kazma-category": func(*corpus) string { return "/skills?category=mail" },
		"kazma-search":   func(c *corpus) string { return "/skills/search?q=" + c.word(1000+c.zipf.Uint64()) },
	}
	for kind, text := range textQueries() {
		out[kind] = func(c *corpus) string { return "/search?limit=20&q=" + url.QueryEscape(text(c)) }
	}
	return out
}

func textQueries() map[string]func(*corpus) string {
	return map[string]func(*corpus) string{
		"word":   func(c *corpus) string { return c.word(c.zipf.Uint64()) },
		"two":    func(c *corpus) string { return c.word(c.zipf.Uint64()) + " " + c.word(c.zipf.Uint64()%200) },
		"common": func(c *corpus) string { return c.word(uint64(c.rand.IntN(3))) },
		"prefix": func(c *corpus) string { return c.word(c.zipf.Uint64())[:3] },
		"letter": func(c *corpus) string { return c.word(c.zipf.Uint64())[:1] },
		"typo": func(c *corpus) string {
			word := []byte(c.word(1000 + c.zipf.Uint64()))
			word[2] = 'x'
			return string(word)
		},
		"list": func(*corpus) string { return "" },
	}
}

func askAll(b *testing.B, s *running, query func(*corpus) string) {
	wire := &http.Transport{MaxIdleConnsPerHost: 16}
	defer wire.CloseIdleConnections()
	ask := func(q string) error {
		r, err := http.NewRequest(http.MethodGet, s.url+"/api/v1"+q, nil)
		if err != nil {
			return err
		}
		resp, err := wire.RoundTrip(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%q: %s", q, resp.Status)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	begun := time.Now()
	used := processor()
	for worker := range 8 {
		wg.Go(func() {
			c := newCorpus(uint64(100 + worker))
			for next.Add(1) <= int64(b.N) {
				if err := ask(query(c)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "answers/s")
	b.ReportMetric(float64((processor()-used).Microseconds())/float64(b.N), "cpu-µs/answer")
	c := newCorpus(200)
	var times []time.Duration
	tick := time.NewTicker(time.Second / 50)
	defer tick.Stop()
	for range 100 {
		<-tick.C
		begun := time.Now()
		if err := ask(query(c)); err != nil {
			b.Error(err)
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[98].Microseconds())/1000, "p99-ms")
}
