package translog_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kortecx/kx/internal/translog"
)

func FuzzParseEntry(f *testing.F) {
	for _, e := range readVectors(f).Entries {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := translog.ParseEntry(data)
		if err != nil {
			return
		}
		if again, err := e.Marshal(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q comes back as %q, %v", data, again, err)
		}
	})
}

func FuzzOpenCheckpoint(f *testing.F) {
	v := readVectors(f)
	f.Add([]byte(v.Checkpoint))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := translog.OpenCheckpoint(data, v.VKey)
		if err == nil && c.Origin != v.Origin {
			t.Errorf("accepted %+v", c)
		}
		if text, _, ok := strings.Cut(string(data), "\n\n"); ok {
			if c, err := translog.ParseCheckpoint(text + "\n"); err == nil && !strings.HasPrefix(text+"\n", c.Text()) {
				t.Errorf("%q reads as %q", text, c.Text())
			}
		}
	})
}

func FuzzTilePath(f *testing.F) {
	for _, s := range []string{"tile/8/0/x001/234.p/5", "tile/entries/000", "tile/1/000.p/9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		tile, err := translog.ParseTilePath(path)
		if err != nil {
			return
		}
		if again, err := translog.ParseTilePath(tile.Path()); err != nil || again != tile || tile.Width < 1 || tile.Width > translog.TileWidth || tile.Index < 0 {
			t.Errorf("%q: %+v, %+v, %v", path, tile, again, err)
		}
	})
}

func FuzzDecodeBundle(f *testing.F) {
	f.Add([]byte("\x00\x03one\x00\x00"), 2)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		entries, err := translog.DecodeBundle(data, n)
		if err != nil {
			return
		}
		if again, err := translog.EncodeBundle(entries); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q comes back as %q, %v", data, again, err)
		}
	})
}

// No proof of any shape proves a leaf that is not there, or panics.
func FuzzProofs(f *testing.F) {
	g, _ := grow(13)
	f.Add(int64(13), int64(4), []byte{}, int64(5))
	proof, err := translog.Inclusion(13, 4, g.nodes())
	if err != nil {
		f.Fatal(err)
	}
	var flat []byte
	for _, h := range proof {
		flat = append(flat, h[:]...)
	}
	f.Add(int64(13), int64(4), flat, int64(7))
	absent := translog.LeafHash([]byte("never written"))
	f.Fuzz(func(t *testing.T, size, index int64, data []byte, from int64) {
		var hashes []translog.Hash
		for ; len(data) >= 32 && len(hashes) < 80; data = data[32:] {
			hashes = append(hashes, translog.Hash(data[:32]))
		}
		c := translog.Checkpoint{Origin: "o", Size: size, Root: g.tree.Root()}
		if translog.CheckInclusion(hashes, c, index, absent) == nil {
			t.Error("a leaf that was never written is proven")
		}
		before := translog.Checkpoint{Origin: "o", Size: from, Root: absent}
		_ = translog.CheckConsistency(before, c, func(int64, int64) ([]translog.Hash, error) { return hashes, nil })
	})
}

func BenchmarkAppend(b *testing.B) {
	var tree translog.Tree
	e := translog.Entry{Op: translog.Publish, Name: "acme/hello", Version: "1", Digest: "sp1:" + strings.Repeat("ab", 32), KeyID: "-", Time: time.Unix(0, 0)}
	for b.Loop() {
		data, err := e.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		tree, _ = tree.Append(translog.LeafHash(data))
	}
}

func BenchmarkSign(b *testing.B) {
	k := key(b)
	g, _ := grow(1000)
	c := g.checkpoint("hub.example/local")
	for b.Loop() {
		if _, err := k.Sign(c); err != nil {
			b.Fatal(err)
		}
	}
}
