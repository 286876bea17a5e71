package translog_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/kortecx/kx/internal/translog"
)

// vectors are the log's part of testdata/vectors/signing.json.
type vectors struct {
	Checkpoint  string   `json:"checkpoint"`
	Consistency []string `json:"consistency_3_to_5"`
	Entries     []string `json:"entries"`
	Inclusion   []string `json:"inclusion_2_of_5"`
	Leaf        string   `json:"leaf_hash_2"`
	Origin      string   `json:"origin"`
	Root3       string   `json:"root_3"`
	Root5       string   `json:"root_5"`
	VKey        string   `json:"vkey"`
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", "signing.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Log vectors }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Log.Entries) != 5 {
		t.Fatalf("%d entries in the vectors", len(file.Log.Entries))
	}
	return file.Log
}

// seed is the private seed of the vectors, 00 to 1f.
func seed() []byte {
	out := make([]byte, translog.SeedSize)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

func key(t testing.TB) translog.Key {
	t.Helper()
	k, err := translog.KeyFromSeed(seed())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// grown is a log in memory: its tree, and the hashes stored with every entry.
type grown struct {
	tree   translog.Tree
	stored [][]byte
}

func (g *grown) add(entry []byte) {
	tree, stored := g.tree.Append(translog.LeafHash(entry))
	g.tree, g.stored = tree, append(g.stored, stored)
}

func (g *grown) nodes() tlog.HashReader {
	return translog.Nodes(func(entries []int64) ([][]byte, error) {
		out := make([][]byte, len(entries))
		for i, e := range entries {
			if e >= int64(len(g.stored)) {
				return nil, fmt.Errorf("entry %d of %d", e, len(g.stored))
			}
			out[i] = g.stored[e]
		}
		return out, nil
	})
}

func (g *grown) checkpoint(origin string) translog.Checkpoint {
	return translog.Checkpoint{Origin: origin, Size: g.tree.Size, Root: g.tree.Root()}
}

func grow(n int) (g *grown, roots []translog.Hash) {
	g = &grown{}
	roots = append(roots, g.tree.Root())
	for i := range n {
		g.add(fmt.Appendf(nil, "entry %d", i))
		roots = append(roots, g.tree.Root())
	}
	return g, roots
}

func id(err error) string {
	if e, ok := errors.AsType[*translog.Error](err); ok {
		return e.ID
	}
	return fmt.Sprint(err)
}

func hashes(t testing.TB, texts []string) []translog.Hash {
	t.Helper()
	out := make([]translog.Hash, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = translog.ParseHash(text); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestVectors(t *testing.T) {
	v := readVectors(t)
	g := &grown{}
	roots := []translog.Hash{g.tree.Root()}
	for i, text := range v.Entries {
		e, err := translog.ParseEntry([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := translog.Entry{
			Op: translog.Publish, Name: "acme/hello", Version: fmt.Sprint(i + 1),
			Digest: "sp1:07fd4c82af75bc07234e9fd7f4acbb1f5fb915c08c836cc5db8db6e51d84dd61",
			KeyID:  "a050837d85070582ccf7394b0988847cc312cb88259b894899f6f239cf1791a5",
			Time:   time.Date(2026, 11, 29, 0, 0, i, 0, time.UTC),
		}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Error(diff)
		}
		out, err := e.Marshal()
		if err != nil || string(out) != text {
			t.Errorf("entry %d: %v\n%s", i, err, out)
		}
		g.add(out)
		roots = append(roots, g.tree.Root())
	}
	if got := translog.LeafHash([]byte(v.Entries[2])).String(); got != v.Leaf {
		t.Errorf("leaf hash %s, want %s", got, v.Leaf)
	}
	if roots[3].String() != v.Root3 || roots[5].String() != v.Root5 {
		t.Errorf("roots %s and %s, want %s and %s", roots[3], roots[5], v.Root3, v.Root5)
	}
	inclusion, err := translog.Inclusion(5, 2, g.nodes())
	if diff := cmp.Diff(hashes(t, v.Inclusion), inclusion); diff != "" || err != nil {
		t.Error(err, diff)
	}
	consistency, err := translog.Consistency(3, 5, g.nodes())
	if diff := cmp.Diff(hashes(t, v.Consistency), consistency); diff != "" || err != nil {
		t.Error(err, diff)
	}
	now := g.checkpoint(v.Origin)
	if err := translog.CheckInclusion(inclusion, now, 2, translog.LeafHash([]byte(v.Entries[2]))); err != nil {
		t.Error(err)
	}
	before := translog.Checkpoint{Origin: v.Origin, Size: 3, Root: roots[3]}
	if err := translog.CheckConsistency(before, now, func(from, to int64) ([]translog.Hash, error) {
		if from != 3 || to != 5 {
			t.Errorf("a proof from %d to %d was asked for", from, to)
		}
		return hashes(t, v.Consistency), nil
	}); err != nil {
		t.Error(err)
	}

	vkey, err := key(t).VerifierKey(v.Origin)
	if err != nil || vkey != v.VKey {
		t.Errorf("verifier key %s, want %s (%v)", vkey, v.VKey, err)
	}
	signed, err := key(t).Sign(now)
	if err != nil || string(signed) != v.Checkpoint {
		t.Errorf("checkpoint %v\n%s\nwant\n%s", err, signed, v.Checkpoint)
	}
	opened, err := translog.OpenCheckpoint([]byte(v.Checkpoint), v.VKey)
	if err != nil || opened != now {
		t.Errorf("opened %+v, %v", opened, err)
	}
	origin, public, err := translog.SplitVerifierKey(v.VKey)
	if err != nil || origin != v.Origin || public != "AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4" {
		t.Errorf("split %s %s %v", origin, public, err)
	}
}

func TestEntriesThatAreNone(t *testing.T) {
	good := readVectors(t).Entries[0]
	fields := strings.Split(good, "\n")
	with := func(i int, value string) string {
		changed := append([]string{}, fields...)
		changed[i] = value
		return strings.Join(changed, "\n")
	}
	hidden := strings.Repeat("ab", 32)
	for name, text := range map[string]string{
		"empty": "", "another version": with(0, "kx-log/v2"), "no last line end": strings.TrimSuffix(good, "\n"),
		"a line more": good + "\n", "windows line ends": strings.ReplaceAll(good, "\n", "\r\n"),
		"unknown op": with(1, "delete"), "upper op": with(1, "PUBLISH"),
		"no author": with(2, "hello"), "three parts": with(2, "a/b/c"), "empty name": with(2, ""), "space": with(2, "a b/c"),
		"hidden publish": with(2, hidden), "control": with(2, "acme/he\tllo"),
		"empty version": with(3, ""), "invalid utf-8": with(3, "\xff"),
		"short digest": with(4, "sp1:00"), "upper digest": with(4, "sp1:"+strings.Repeat("AB", 32)), "no digest": with(4, "-"),
		"other digest": with(4, "sha256:"+strings.Repeat("ab", 32)),
		"short key":    with(5, "a050"), "empty key": with(5, ""),
		"offset": with(6, "2026-11-29T01:00:00+01:00"), "fraction": with(6, "2026-11-29T00:00:00.5Z"), "no day": with(6, "2026-11-31T00:00:00Z"),
		"long": with(3, strings.Repeat("9", 2000)),
	} {
		if _, err := translog.ParseEntry([]byte(text)); id(err) != translog.IDFormat {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"hidden submit": strings.Replace(with(2, hidden), "\npublish\n", "\nsubmit\n", 1),
		"unsigned":      with(5, "-"), "1970": with(6, "1970-01-01T00:00:00Z"), "2100": with(6, "2100-01-01T00:00:00Z"),
		"text version": with(3, "2.0 beta"),
	} {
		e, err := translog.ParseEntry([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out, err := e.Marshal(); err != nil || string(out) != text {
			t.Errorf("%s comes back as %q, %v", name, out, err)
		}
	}
	for _, e := range []translog.Entry{
		{Op: translog.Publisher, Name: "acme", Version: "2", Digest: "sha256:" + hidden, KeyID: translog.None},
		{Op: translog.Revoke, Name: "acme", Version: "3", Digest: translog.None, KeyID: hidden},
	} {
		if _, err := e.Marshal(); err != nil {
			t.Errorf("%s: %v", e.Op, err)
		}
	}
	if _, err := (translog.Entry{Op: translog.Publish, Name: "a/b", Version: "1", Digest: "sp1:" + hidden, KeyID: "-", Time: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}).Marshal(); err == nil {
		t.Error("the year 12026 was written")
	}
}

func TestHiddenName(t *testing.T) {
	nonce := bytes.Repeat([]byte{7}, translog.NonceSize)
	sum := sha256.Sum256([]byte(string(nonce) + "acme/hello" + "1"))
	got := translog.HiddenName(nonce, "acme/hello", "1")
	if got != hex.EncodeToString(sum[:]) || !(translog.Entry{Name: got}).Hidden() || (translog.Entry{Name: "acme/hello"}).Hidden() {
		t.Errorf("hidden name %s", got)
	}
}

// Every proof of a random log verifies, and agrees with the library's own storage;
// any changed bit of it, or of what it proves, does not.
func TestProofs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "size")
		g, roots := grow(n)
		size := rapid.Int64Range(1, int64(n)).Draw(t, "tree")
		index := rapid.Int64Range(0, size-1).Draw(t, "index")
		at := translog.Checkpoint{Origin: "o", Size: size, Root: roots[size]}
		leaf := translog.LeafHash(fmt.Appendf(nil, "entry %d", index))
		proof, err := translog.Inclusion(size, index, g.nodes())
		if err != nil {
			t.Fatal(err)
		}
		if err := translog.CheckInclusion(proof, at, index, leaf); err != nil {
			t.Fatal(err)
		}
		if len(proof) > 0 {
			changed := append([]translog.Hash{}, proof...)
			flip(t, &changed[rapid.IntRange(0, len(changed)-1).Draw(t, "hash")])
			if err := translog.CheckInclusion(changed, at, index, leaf); id(err) != translog.IDProof {
				t.Fatalf("a changed proof: %v", err)
			}
		}
		other := leaf
		flip(t, &other)
		if err := translog.CheckInclusion(proof, at, index, other); id(err) != translog.IDProof {
			t.Fatalf("another leaf: %v", err)
		}

		from := rapid.Int64Range(0, size).Draw(t, "from")
		before := translog.Checkpoint{Origin: "o", Size: from, Root: roots[from]}
		steps, err := translog.Consistency(from, size, g.nodes())
		if err != nil {
			t.Fatal(err)
		}
		give := func(p []translog.Hash) func(int64, int64) ([]translog.Hash, error) {
			return func(int64, int64) ([]translog.Hash, error) { return p, nil }
		}
		if err := translog.CheckConsistency(before, at, give(steps)); err != nil {
			t.Fatal(err)
		}
		if from == 0 {
			return
		}
		if len(steps) > 0 {
			changed := append([]translog.Hash{}, steps...)
			flip(t, &changed[rapid.IntRange(0, len(changed)-1).Draw(t, "step")])
			if err := translog.CheckConsistency(before, at, give(changed)); id(err) != translog.IDFork {
				t.Fatalf("a changed proof: %v", err)
			}
		}
		forked := before
		flip(t, &forked.Root)
		if err := translog.CheckConsistency(forked, at, give(steps)); id(err) != translog.IDFork {
			t.Fatalf("another history: %v", err)
		}
	})
}

func flip(t *rapid.T, h *translog.Hash) {
	bit := rapid.IntRange(0, 255).Draw(t, "bit")
	h[bit/8] ^= 1 << (bit % 8)
}

// The tree kept as an edge is the tree that the library builds from all hashes.
func TestTreeIsTheLibrarys(t *testing.T) {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			out[i] = stored[index]
		}
		return out, nil
	})
	g, roots := grow(600)
	for i := range int64(600) {
		more, err := tlog.StoredHashes(i, fmt.Appendf(nil, "entry %d", i), reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
		var flat []byte
		for _, h := range more {
			flat = append(flat, h[:]...)
		}
		if !bytes.Equal(flat, g.stored[i]) {
			t.Fatalf("entry %d stores other hashes", i)
		}
		root, err := tlog.TreeHash(i+1, reader)
		if err != nil || root != roots[i+1] {
			t.Fatalf("size %d: root %s, want %s (%v)", i+1, roots[i+1], root, err)
		}
	}
	again, err := translog.ReadTree(g.tree.Size, g.tree.Edge())
	if err != nil || again.Root() != g.tree.Root() {
		t.Errorf("read back: %v", err)
	}
	for _, bad := range []struct {
		size int64
		edge []byte
	}{{-1, nil}, {1, nil}, {0, make([]byte, 32)}, {3, make([]byte, 63)}, {translog.MaxSize + 1, make([]byte, 64)}} {
		if _, err := translog.ReadTree(bad.size, bad.edge); id(err) != translog.IDFormat {
			t.Errorf("a tree of %d with %d bytes: %v", bad.size, len(bad.edge), err)
		}
	}
}

// G18: each kind of wrong inclusion proof is refused with its id.
func TestWrongInclusionProofs(t *testing.T) {
	g, _ := grow(11)
	c := g.checkpoint("o")
	proof, err := translog.Inclusion(11, 4, g.nodes())
	if err != nil {
		t.Fatal(err)
	}
	leaf := translog.LeafHash([]byte("entry 4"))
	flipped := append([]translog.Hash{}, proof...)
	flipped[1][5] ^= 1
	for name, try := range map[string]error{
		"another leaf":     translog.CheckInclusion(proof, c, 4, translog.LeafHash([]byte("entry 5"))),
		"wrong index":      translog.CheckInclusion(proof, c, 5, leaf),
		"index outside":    translog.CheckInclusion(proof, c, 11, leaf),
		"negative index":   translog.CheckInclusion(proof, c, -1, leaf),
		"one hash flipped": translog.CheckInclusion(flipped, c, 4, leaf),
		"extra hash":       translog.CheckInclusion(append(append([]translog.Hash{}, proof...), proof[0]), c, 4, leaf),
		"missing hash":     translog.CheckInclusion(proof[1:], c, 4, leaf),
		"empty":            translog.CheckInclusion(nil, c, 4, leaf),
		"a huge tree":      translog.CheckInclusion(proof, translog.Checkpoint{Size: 1 << 62, Root: c.Root}, 4, leaf),
		"a negative tree":  translog.CheckInclusion(proof, translog.Checkpoint{Size: -1, Root: c.Root}, 4, leaf),
	} {
		if id(try) != translog.IDProof {
			t.Errorf("%s: %v", name, try)
		}
	}
	one, _ := grow(1)
	if err := translog.CheckInclusion(nil, one.checkpoint("o"), 0, translog.LeafHash([]byte("entry 0"))); err != nil {
		t.Errorf("the only entry needs no proof: %v", err)
	}
}

func TestTreesThatDoNotContinue(t *testing.T) {
	g, roots := grow(9)
	now := g.checkpoint("o")
	at := func(size int64) translog.Checkpoint {
		return translog.Checkpoint{Origin: "o", Size: size, Root: roots[size]}
	}
	never := func(int64, int64) ([]translog.Hash, error) {
		t.Error("a proof was asked for where none can help")
		return nil, nil
	}
	unreachable := errors.New("unreachable")
	other := now
	other.Root[0] ^= 1
	for name, tt := range map[string]struct {
		before, now translog.Checkpoint
		prove       func(int64, int64) ([]translog.Hash, error)
		want        string
	}{
		"same":           {now, now, never, "<nil>"},
		"from nothing":   {at(0), now, never, "<nil>"},
		"smaller":        {now, at(8), never, translog.IDRollback},
		"same size":      {now, other, never, translog.IDFork},
		"another origin": {at(3), translog.Checkpoint{Origin: "p", Size: 9, Root: now.Root}, never, translog.IDOrigin},
		"no proof":       {at(3), now, func(int64, int64) ([]translog.Hash, error) { return nil, nil }, translog.IDFork},
		"no answer":      {at(3), now, func(int64, int64) ([]translog.Hash, error) { return nil, unreachable }, "unreachable"},
		"huge":           {at(3), translog.Checkpoint{Origin: "o", Size: 1 << 62}, never, translog.IDFormat},
	} {
		if got := id(translog.CheckConsistency(tt.before, tt.now, tt.prove)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestCheckpointsThatAreRefused(t *testing.T) {
	v := readVectors(t)
	now, err := translog.OpenCheckpoint([]byte(v.Checkpoint), v.VKey)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(text, name string) []byte {
		vkey, err := key(t).VerifierKey(name)
		if err != nil {
			t.Fatal(err)
		}
		hash := strings.Split(strings.TrimPrefix(vkey, name+"+"), "+")[0]
		signer, err := note.NewSigner("PRIVATE+KEY+" + name + "+" + hash + "+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f")
		if err != nil {
			t.Fatal(err)
		}
		out, err := note.Sign(&note.Note{Text: text}, signer)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	elsewhere := now
	elsewhere.Origin = "other.example/local"
	stranger, err := translog.KeyFromSeed(bytes.Repeat([]byte{9}, 32))
	if err != nil {
		t.Fatal(err)
	}
	strange, err := stranger.Sign(now)
	if err != nil {
		t.Fatal(err)
	}
	root := now.Root.String()
	for name, tt := range map[string]struct {
		note []byte
		want string
	}{
		// G20.
		"another origin by the right key": {sign(elsewhere.Text(), v.Origin), translog.IDOrigin},
		"another log's checkpoint":        {sign(elsewhere.Text(), elsewhere.Origin), translog.IDUnsigned},
		"another key":                     {strange, translog.IDUnsigned},
		"a changed root":                  {bytes.Replace([]byte(v.Checkpoint), []byte("UMsv"), []byte("UMsw"), 1), translog.IDUnsigned},
		"a changed size":                  {bytes.Replace([]byte(v.Checkpoint), []byte("\n5\n"), []byte("\n6\n"), 1), translog.IDUnsigned},
		"no signature":                    {[]byte(now.Text() + "\n"), translog.IDFormat},
		"nothing":                         {nil, translog.IDFormat},
		"too large":                       {bytes.Repeat([]byte("x"), translog.MaxCheckpoint+1), translog.IDFormat},
		"a size with a zero before it":    {sign(v.Origin+"\n05\n"+root+"\n", v.Origin), translog.IDFormat},
		"a negative size":                 {sign(v.Origin+"\n-5\n"+root+"\n", v.Origin), translog.IDFormat},
		"a size beyond all":               {sign(v.Origin+"\n9223372036854775807\n"+root+"\n", v.Origin), translog.IDFormat},
		"a short root":                    {sign(v.Origin+"\n5\nUMsv\n", v.Origin), translog.IDFormat},
		"another spelling of a root":      {sign(v.Origin+"\n5\n"+strings.TrimSuffix(root, "c=")+"d=\n", v.Origin), translog.IDFormat},
		"two lines":                       {sign(v.Origin+"\n5\n", v.Origin), translog.IDFormat},
		"a root for nothing":              {sign(v.Origin+"\n0\n"+root+"\n", v.Origin), translog.IDFork},
	} {
		if _, err := translog.OpenCheckpoint(tt.note, v.VKey); id(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	extended, err := translog.OpenCheckpoint(sign(now.Text()+"an extension\n", v.Origin), v.VKey)
	if err != nil || extended != now {
		t.Errorf("an extension line: %+v, %v", extended, err)
	}
	for _, vkey := range []string{"", "x", v.VKey + "x", strings.Replace(v.VKey, "3dd73f3b", "3dd73f3c", 1)} {
		if _, err := translog.OpenCheckpoint([]byte(v.Checkpoint), vkey); id(err) != translog.IDFormat {
			t.Errorf("verifier key %q: %v", vkey, err)
		}
	}
}

// What is accepted is what was signed; only the unused bits of the signature's own
// base64 make no difference.
func TestAFlippedBitOfACheckpointIsRefused(t *testing.T) {
	v := readVectors(t)
	unused := bytes.LastIndexByte([]byte(v.Checkpoint), '=') - 1
	for i := range len(v.Checkpoint) * 8 {
		changed := []byte(v.Checkpoint)
		changed[i/8] ^= 1 << (i % 8)
		if c, err := translog.OpenCheckpoint(changed, v.VKey); err == nil && i/8 != unused {
			t.Errorf("bit %d: %+v was accepted", i, c)
		}
	}
}

func TestDamagedStorageIsAnErrorNotAPanic(t *testing.T) {
	g, _ := grow(8)
	g.stored[7] = g.stored[7][:32] // lost what it completed
	if _, err := translog.Inclusion(8, 7, g.nodes()); err != nil {
		t.Errorf("a proof that needs none of it: %v", err)
	}
	g.stored[3] = nil
	if _, err := translog.Inclusion(8, 5, g.nodes()); id(err) != translog.IDFormat {
		t.Errorf("damage: %v", err)
	}
	if _, err := translog.Inclusion(8, 8, g.nodes()); id(err) != translog.IDProof {
		t.Errorf("outside: %v", err)
	}
	if _, err := translog.Consistency(9, 8, g.nodes()); id(err) != translog.IDProof {
		t.Errorf("backwards: %v", err)
	}
}
