package deliver

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/internal/fsx"
)

// glance is what a folder was found to be, and how it looked from outside then. While it
// looks the same, it need not be read again.
type glance struct {
	sum   [16]byte // of fsx.Sight
	names string   // of fsx.Sight
	is    string   // one word: of a lock's skill its digest when it was as written; see also tally
}

// glances are those of the folders of one lock, or in one folder, in a file beside the
// store that may be lost at any time. A folder that was changed shortly before it was looked at is never
// in it: a second change might not show.
type glances struct {
	dir, name string
	now       time.Time // when this run looks
	verified  time.Time // when all files were read last
	known     map[string]glance

	mu   sync.Mutex
	next map[string]glance
}

const (
	glancesHead = "kx-seen 2 "
	maxGlances  = 16 << 20 // bytes
)

// glances are those of the lock.
func (w *Workspace) glances() *glances {
	return recallGlances(w.o.Data, filepath.Clean(w.o.File), w.o.Now())
}

// recallGlances reads what is remembered about something: nothing, when it cannot be read
// or is older than the stamps of files are believed.
func recallGlances(data, about string, now time.Time) *glances {
	g := &glances{
		dir: filepath.Join(data, "seen"), name: hexSum([]byte(about))[:32], now: now,
		verified: now.Truncate(time.Second), next: map[string]glance{},
	}
	root, err := fsx.Open(g.dir)
	if err != nil {
		return g
	}
	defer root.Close()
	text, err := root.ReadFile(g.name, maxGlances)
	if err != nil {
		return g
	}
	verified, known, ok := parseGlances(text)
	if age := now.Sub(verified); ok && age >= 0 && age <= verifyEvery {
		g.verified, g.known = verified, known
	}
	return g
}

// parseGlances reads the file: its head with the time of the last full reading, then for
// each folder a line with its sum, its word, its path and the names in it ("//" before
// each), and as the last line the hash of those before.
func parseGlances(data []byte) (verified time.Time, known map[string]glance, ok bool) {
	at := len(data) - len("\n") - 64
	if at < 0 || data[len(data)-1] != '\n' || hexSum(data[:at]) != string(data[at:len(data)-1]) {
		return verified, nil, false
	}
	text, ok := strings.CutPrefix(string(data[:at]), glancesHead)
	head, text, cut := strings.Cut(text, "\n")
	seconds, err := strconv.ParseInt(head, 10, 64)
	if !ok || !cut || err != nil {
		return verified, nil, false
	}
	known = make(map[string]glance, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		sum, rest, _ := strings.Cut(line, " ")
		is, rest, _ := strings.Cut(rest, " ")
		path, names, _ := strings.Cut(rest, "//")
		one := glance{is: is, names: names}
		if n, err := hex.Decode(one.sum[:], []byte(sum[:min(len(sum), 2*len(one.sum))])); err != nil || n != len(one.sum) ||
			len(sum) != 2*n || !whole || path == "" || is == "" {
			return verified, nil, false
		}
		known[path] = one
	}
	return time.Unix(seconds, 0), known, true
}

func (g *glances) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%d\n", glancesHead, g.verified.Unix())
	for _, path := range slices.Sorted(maps.Keys(g.next)) {
		one := g.next[path]
		fmt.Fprintf(&b, "%x %s %s", one.sum, one.is, path)
		if one.names != "" {
			b.WriteString("//" + one.names)
		}
		b.WriteByte('\n')
	}
	b.WriteString(hexSum(b.Bytes()) + "\n")
	return b.Bytes()
}

// again looks at a folder of root; ok is false where that proves nothing. The names of
// the last glance make it cheaper, while they are still right. now is before the look, as
// Settled wants it.
func (last glance) again(root fsx.Dir, folder string, now time.Time) (sight fsx.Sight, ok bool) {
	var err error
	if last.names != "" {
		sight, err = root.LookAgain(folder, last.names)
	}
	if last.names == "" || err != nil || sight.Sum != last.sum {
		sight, err = root.LookOver(folder)
	}
	return sight, err == nil && sight.Settled(now)
}

func (g *glances) note(dir string, one glance) {
	if strings.ContainsRune(dir, '\n') || strings.Contains(dir+"/", "//") {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next[dir] = one
}

// save keeps what was seen, when it is not what was remembered. That it cannot be kept
// costs the next command its time, and nothing else.
func (g *glances) save() {
	if maps.Equal(g.known, g.next) {
		return
	}
	root, err := fsx.OpenOrCreate(g.dir, 0o700)
	if err != nil {
		return
	}
	defer root.Close()
	_ = root.WriteFile(g.name, g.encode(), 0o600)
}
