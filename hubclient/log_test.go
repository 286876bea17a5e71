package hubclient_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/hubclient"
	"github.com/kortecx/kx/internal/translog"
)

// logServer is a hub's log that can lie.
type logServer struct {
	t       *testing.T
	url     string
	mu      sync.Mutex
	origin  string
	key     translog.Key
	entries [][]byte
	// twist changes an answer on its way out.
	twist func(path string, answer []byte) []byte
	gone  bool
}

func newLogServer(t *testing.T) *logServer {
	t.Helper()
	l := &logServer{t: t, origin: "hub.example/team", key: logKey(t, 1)}
	l.url = serve(t, l.answer)
	return l
}

func logKey(t *testing.T, b byte) translog.Key {
	t.Helper()
	k, err := translog.KeyFromSeed(bytes.Repeat([]byte{b}, translog.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// add appends a publication of version n, with a digest of its own.
func (l *logServer) add(n int, digit string) {
	l.t.Helper()
	e := translog.Entry{
		Op: translog.Publish, Name: "acme/triage", Version: strconv.Itoa(n), Digest: "sp1:" + strings.Repeat(digit, 64),
		KeyID: translog.None, Time: time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC),
	}
	data, err := e.Marshal()
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, data)
}

// history replaces what the log says by n entries of that digit.
func (l *logServer) history(n int, digit string) {
	l.entries = nil
	for i := range n {
		l.add(i+1, digit)
	}
}

func (l *logServer) answer(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		sendJSON(w, 404, hubapi.ErrorBody{Error: hubapi.Errorf(hubapi.NotFound, "there is no such path in the API")})
		return
	}
	var tree translog.Tree
	var stored [][]byte
	for _, e := range l.entries {
		var hashes []byte
		tree, hashes = tree.Append(translog.LeafHash(e))
		stored = append(stored, hashes)
	}
	nodes := translog.Nodes(func(indexes []int64) ([][]byte, error) {
		out := make([][]byte, len(indexes))
		for i, index := range indexes {
			out[i] = stored[index]
		}
		return out, nil
	})
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
		return n
	}
	kind, body := "application/json", []byte(nil)
	var answer any
	switch path := r.URL.Path; {
	case path == "/checkpoint":
		kind = "text/plain; charset=utf-8"
		body, _ = l.key.Sign(translog.Checkpoint{Origin: l.origin, Size: tree.Size, Root: tree.Root()})
	case path == "/api/v1/log":
		vkey, _ := l.key.VerifierKey(l.origin)
		answer = hubapi.Log{Origin: l.origin, VKey: vkey, Size: tree.Size, Root: tree.Root().String()}
	case path == "/api/v1/log/proof":
		var hashes []translog.Hash
		if r.URL.Query().Has("index") {
			hashes, _ = translog.Inclusion(number("size"), number("index"), nodes)
		} else {
			hashes, _ = translog.Consistency(number("from"), number("size"), nodes)
		}
		proof := hubapi.LogProof{Size: number("size"), Hashes: []string{}}
		for _, h := range hashes {
			proof.Hashes = append(proof.Hashes, h.String())
		}
		answer = proof
	case path == "/api/v1/log/entries":
		page := hubapi.LogEntries{Items: []hubapi.LogEntry{}}
		limit := max(number("limit"), 1)
		for i := number("first"); i < min(tree.Size, number("first")+limit); i++ {
			page.Items = append(page.Items, hubapi.LogEntry{Index: i, Entry: string(l.entries[i])})
		}
		answer = page
	case path == "/api/v1/log/releases":
		last := len(l.entries)
		e, _ := translog.ParseEntry(l.entries[last-1])
		index := int64(last - 1)
		answer = hubapi.LogReleases{Items: []hubapi.LogRelease{{
			Author: "acme", Name: "triage", Version: e.Version, Digest: e.Digest, Status: hubapi.Active, LogIndex: &index,
		}}}
	case strings.HasPrefix(path, "/tile/"):
		kind = "application/octet-stream"
		tile, err := translog.ParseTilePath(path[1:])
		if err != nil || !tile.In(tree.Size) {
			w.WriteHeader(404)
			return
		}
		body, _ = translog.EncodeBundle(l.entries[tile.First() : tile.First()+int64(tile.Width)])
	default:
		w.WriteHeader(404)
		return
	}
	if answer != nil {
		body, _ = json.Marshal(answer)
	}
	if l.twist != nil {
		body = l.twist(r.URL.Path, body)
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(body)
}

func (l *logServer) client(dir, token string) *hubclient.Client {
	l.t.Helper()
	return newClient(l.t, hubclient.Config{Endpoint: l.url, Token: token, Memory: &hubclient.LogMemory{Dir: dir}})
}

// open opens the log and wants this id, or no error for an empty one.
func (l *logServer) open(c *hubclient.Client, what, id string) *hubclient.LogView {
	l.t.Helper()
	view, err := c.OpenLog(l.t.Context())
	if id == "" && err != nil || id != "" && hubapi.AsError(err).ID() != id {
		l.t.Errorf("%s: %v, want %q", what, err, id)
	}
	return view
}

func evidenceFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.evidence-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A client that saw one history accepts no other, as TestClientFork of the Go
// checksum database has it: shorter, as long, longer.
func TestAClientRefusesAnotherHistory(t *testing.T) {
	l, dir := newLogServer(t), filepath.Join(t.TempDir(), "log")
	c := l.client(dir, "k")
	l.history(3, "a")
	if view := l.open(c, "first sight", ""); view.Before != nil || view.Checkpoint.Size != 3 {
		t.Errorf("%+v", view)
	}
	l.history(7, "a")
	if view := l.open(l.client(dir, "k"), "grown", ""); view.Before == nil || view.Before.Size != 3 || view.Checkpoint.Size != 7 {
		t.Errorf("%+v", view)
	}
	l.open(c, "the same again", "")
	memory, err := os.ReadFile(filepath.Join(dir, strings.NewReplacer("http://", "", ":", "_").Replace(l.url)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(memory, []byte(`"k"`)) {
		t.Error("the key is in the memory")
	}
	for n, want := range map[int]string{2: translog.IDRollback, 6: translog.IDRollback, 7: translog.IDFork, 8: translog.IDFork, 300: translog.IDFork} {
		l.history(n, "b")
		l.open(c, fmt.Sprint("another history of ", n), want)
	}
	l.history(5, "a")
	l.open(c, "rolled back", translog.IDRollback)
	l.history(0, "a")
	l.open(c, "emptied", translog.IDRollback)
	files := evidenceFiles(t, dir)
	if len(files) != 7 {
		t.Errorf("evidence: %v", files)
	}
	l.open(c, "emptied again", translog.IDRollback)
	if again := evidenceFiles(t, dir); len(again) != len(files) {
		t.Errorf("the same evidence is kept twice: %v", again)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ VKey, Before, Now string }
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		for _, note := range []string{e.Before, e.Now} {
			if _, err := translog.OpenCheckpoint([]byte(note), e.VKey); err != nil {
				t.Errorf("%s: a note that shows nothing: %v", file, err)
			}
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, strings.NewReplacer("http://", "", ":", "_").Replace(l.url)+".json")); err != nil || !bytes.Equal(now, memory) {
		t.Errorf("a refusal changed the memory: %v", err)
	}
	l.history(9, "a")
	l.open(c, "the honest one", "")
}

func TestAClientRefusesAnotherLog(t *testing.T) {
	l, dir := newLogServer(t), t.TempDir()
	l.history(3, "a")
	l.open(l.client(dir, "k"), "first sight", "")
	origin, key := l.origin, l.key

	l.key = logKey(t, 2)
	l.open(l.client(dir, "k"), "another key", translog.IDUnsigned)
	l.open(l.client(dir, "other"), "another key, to another caller", translog.IDUnsigned)
	l.key = key
	l.origin = "evil.example/team"
	l.open(l.client(dir, "k"), "another host", translog.IDOrigin)
	l.origin = "hub.example/fresh"
	l.open(l.client(dir, "k"), "a fresh log for a known key", translog.IDOrigin)
	if view := l.open(l.client(dir, "other"), "another tenant for another key", ""); view.Before != nil {
		t.Errorf("%+v", view.Before)
	}
	l.origin = origin
	l.open(l.client(dir, "k"), "as before", "")
	l.open(l.client(dir, "other"), "another log for the other key", translog.IDOrigin)

	l.twist = func(path string, answer []byte) []byte {
		if path == "/checkpoint" {
			elsewhere, _ := l.key.Sign(translog.Checkpoint{Origin: "hub.example/fresh", Size: 3})
			return elsewhere
		}
		return answer
	}
	l.open(l.client(dir, "k"), "the checkpoint of another log", translog.IDUnsigned)
	l.twist = func(path string, answer []byte) []byte {
		if path == "/checkpoint" {
			return []byte("nonsense")
		}
		return answer
	}
	l.open(l.client(dir, "k"), "no checkpoint", translog.IDFormat)
	l.twist = func(path string, answer []byte) []byte {
		if path == "/api/v1/log" {
			return []byte(`{"origin":"hub.example/team","vkey":"nonsense"}`)
		}
		return answer
	}
	l.open(l.client(dir, "k"), "no key", translog.IDFormat)
	l.twist = nil

	l.gone = true
	want(t, "no log any more", func() error { _, err := l.client(dir, "k").OpenLog(t.Context()); return err }(), hubapi.Internal, translog.IDMissing)
	want(t, "no log", func() error { _, err := l.client(t.TempDir(), "k").OpenLog(t.Context()); return err }(), hubapi.Unsupported, translog.IDMissing)
}

// G18 over the wire: each kind of wrong proof is refused.
func TestAClientRefusesWrongProofs(t *testing.T) {
	l, dir := newLogServer(t), t.TempDir()
	l.history(11, "a")
	c := l.client(dir, "k")
	view := l.open(c, "first sight", "")
	index := int64(4)
	release := hubapi.Release{
		Author: "acme", Name: "triage", Version: "5", Status: hubapi.Active, Digest: "sp1:" + strings.Repeat("a", 64), LogIndex: &index,
	}
	if _, err := view.ProveRelease(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	zero := tlog.Hash{}.String()
	for name, tt := range map[string]struct {
		change func(hubapi.LogProof) any
		id     string
	}{
		"one flipped": {func(p hubapi.LogProof) any { p.Hashes[1] = zero; return p }, translog.IDProof},
		"one more":    {func(p hubapi.LogProof) any { p.Hashes = append(p.Hashes, zero); return p }, translog.IDProof},
		"one less":    {func(p hubapi.LogProof) any { p.Hashes = p.Hashes[1:]; return p }, translog.IDProof},
		"empty":       {func(p hubapi.LogProof) any { p.Hashes = nil; return p }, translog.IDProof},
		"no hash":     {func(p hubapi.LogProof) any { p.Hashes[0] = "x"; return p }, translog.IDProof},
		"very long":   {func(p hubapi.LogProof) any { p.Hashes = make([]string, 1000); return p }, translog.IDProof},
		"no proof":    {func(hubapi.LogProof) any { return []int{1} }, "fetch.type"},
	} {
		l.twist = func(path string, answer []byte) []byte {
			if path != "/api/v1/log/proof" {
				return answer
			}
			var p hubapi.LogProof
			_ = json.Unmarshal(answer, &p)
			out, _ := json.Marshal(tt.change(p))
			return out
		}
		if _, err := view.ProveRelease(t.Context(), release); hubapi.AsError(err).ID() != tt.id {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.twist = nil
	other := int64(5)
	wrong := release
	wrong.LogIndex = &other
	if _, err := view.ProveRelease(t.Context(), wrong); hubapi.AsError(err).ID() != translog.IDMismatch {
		t.Errorf("another index: %v", err)
	}
	wrong.LogIndex = nil
	if _, err := view.ProveRelease(t.Context(), wrong); hubapi.AsError(err).ID() != translog.IDMissing {
		t.Errorf("no index: %v", err)
	}
}

func TestAnAuditFindsWhatIsWrong(t *testing.T) {
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	l := newLogServer(t)
	l.history(300, "a")
	audit := func() hubclient.LogAudit {
		t.Helper()
		out, err := l.client(t.TempDir(), "k").AuditLog(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := audit(); !out.OK || out.Size != 300 || out.Releases != 1 {
		t.Errorf("%+v", out)
	}
	// One version with two digests.
	l.add(300, "b")
	if out := audit(); out.OK || out.Findings[0].ID != translog.IDMismatch || *out.Findings[0].Index != 300 {
		t.Errorf("%+v", out)
	}
	// Entries that are not those of the root.
	l.history(300, "a")
	l.twist = func(path string, answer []byte) []byte {
		if strings.HasPrefix(path, "/tile/") || path == "/api/v1/log/entries" {
			return bytes.ReplaceAll(answer, []byte("2026-01-01T00:00:07Z"), []byte("2026-01-01T00:00:08Z"))
		}
		return answer
	}
	if out := audit(); out.OK || out.Findings[0].ID != translog.IDMismatch {
		t.Errorf("%+v", out)
	}
	// Entries that are listed differently than logged.
	l.twist = func(path string, answer []byte) []byte {
		if path == "/api/v1/log/entries" {
			return bytes.ReplaceAll(answer, []byte("publish"), []byte("withdraw"))
		}
		return answer
	}
	_, err := l.client(t.TempDir(), "k").AuditLog(t.Context(), now)
	want(t, "another list", err, hubapi.Internal, translog.IDMismatch)
	// A tile that ends early.
	l.twist = func(path string, answer []byte) []byte {
		if strings.HasPrefix(path, "/tile/") {
			return answer[:len(answer)-1]
		}
		return answer
	}
	_, err = l.client(t.TempDir(), "k").AuditLog(t.Context(), now)
	want(t, "a short tile", err, hubapi.Internal, translog.IDFormat)
	l.twist = nil
	// A clock of 1970 is a doubt, not a fault.
	out, err := l.client(t.TempDir(), "k").AuditLog(t.Context(), time.Unix(0, 0))
	if err != nil || !out.OK || len(out.Findings) != 1 || out.Findings[0].ID != translog.IDClock || !out.Findings[0].Warning {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAMemoryThatCannotBeRead(t *testing.T) {
	l, dir := newLogServer(t), t.TempDir()
	l.history(3, "a")
	l.open(l.client(dir, "k"), "first sight", "")
	file := filepath.Join(dir, strings.NewReplacer("http://", "", ":", "_").Replace(l.url)+".json")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"empty": "", "no JSON": "x", "unknown key": `{"v":1,"x":1}`, "another version": strings.Replace(string(good), `"v": 1`, `"v": 2`, 1),
		"another note": strings.Replace(string(good), `\n3\n`, `\n2\n`, 1), "cut": string(good[:len(good)/2]),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := l.client(dir, "k").OpenLog(t.Context())
		if e := hubapi.AsError(err); e == nil || e.Code != hubapi.Usage {
			t.Errorf("%s: %v", name, err)
		}
		if now, _ := os.ReadFile(file); string(now) != content {
			t.Errorf("%s: the memory was changed", name)
		}
	}
	if err := os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	l.open(l.client(dir, "k"), "as it was", "")
	if _, err := l.client(dir, "k").PeekLog(t.Context()); err != nil {
		t.Error(err)
	}
}

// Many commands at once share a memory: none of them refuses the honest hub, and
// what is remembered in the end is one of its states.
func TestManyClientsShareAMemory(t *testing.T) {
	l, dir := newLogServer(t), t.TempDir()
	l.history(1, "a")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				if i == 0 {
					l.mu.Lock()
					n := len(l.entries)
					l.mu.Unlock()
					l.add(n+1, "a")
				}
				if _, err := l.client(dir, "k").OpenLog(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	l.open(l.client(dir, "k"), "in the end", "")
}
