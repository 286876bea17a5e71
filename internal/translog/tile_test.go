package translog_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/kortecx/kx/internal/translog"
)

func TestTilePaths(t *testing.T) {
	for path, want := range map[string]translog.Tile{
		"tile/8/0/000":               {Level: 0, Index: 0, Width: 256},
		"tile/0/000":                 {Level: 0, Index: 0, Width: 256},
		"tile/8/0/x001/x234/067.p/1": {Level: 0, Index: 1234067, Width: 1},
		"tile/1/x001/234.p/255":      {Level: 1, Index: 1234, Width: 255},
		"tile/entries/x001/234":      {Level: translog.Entries, Index: 1234, Width: 256},
		"tile/entries/000.p/5":       {Level: translog.Entries, Index: 0, Width: 5},
		"tile/8/5/000.p/1":           {Level: 5, Index: 0, Width: 1},
	} {
		got, err := translog.ParseTilePath(path)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", path, got, err)
			continue
		}
		again, err := translog.ParseTilePath(got.Path())
		if err != nil || again != want {
			t.Errorf("%s is written %s: %+v, %v", path, got.Path(), again, err)
		}
	}
	for _, path := range []string{
		"", "tile", "tile/", "tile/8", "tile/8/0", "tile/8/0/", "tile/0/0", "tile/0/00", "tile/0/0000", "tile/0/x000/000", "tile/0/001/000",
		"tile/0/000.p/0", "tile/0/000.p/256", "tile/0/000.p/01", "tile/0/000.p", "tile/0/000.p/", "tile/0/-01", "tile/-1/000", "tile/+1/000",
		"tile/data/000", "tile/8/data/000", "tile/8/entries/000", "tile/entries/entries/000", "tile/6/000", "tile/8/9/000",
		"tile/7/0/000", "tile/0/x999/x999/x999/x999/x999/x999/999", "tile/0/" + strings.Repeat("x999/", 20) + "999", "/tile/0/000",
	} {
		if got, err := translog.ParseTilePath(path); id(err) != translog.IDFormat {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
}

// Tiles of a log verify with the library's own tile reader, and every entry can be
// proven from them alone.
func TestTilesServeTheLibrarysClient(t *testing.T) {
	const n = 700
	g, _ := grow(n)
	tiles := tileReader(func(tile translog.Tile) []byte {
		data, err := translog.HashTile(tile, g.nodes())
		if err != nil || len(data) != tile.Width*tlog.HashSize {
			t.Fatalf("%+v: %d bytes, %v", tile, len(data), err)
		}
		if !tile.In(n) {
			t.Errorf("%+v is not said to be in a tree of %d", tile, n)
		}
		return data
	})
	root := g.tree.Root()
	reader := tlog.TileHashReader(tlog.Tree{N: n, Hash: root}, tiles)
	for _, index := range []int64{0, 1, 255, 256, 511, 512, 699} {
		proof, err := tlog.ProveRecord(n, index, reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(proof, n, root, index, tlog.RecordHash(fmt.Appendf(nil, "entry %d", index))); err != nil {
			t.Errorf("entry %d: %v", index, err)
		}
	}
	for tile, want := range map[translog.Tile]bool{
		{Level: 0, Index: 2, Width: 188}: true, {Level: 0, Index: 2, Width: 189}: false, {Level: 0, Index: 3, Width: 1}: false,
		{Level: 1, Index: 0, Width: 2}: true, {Level: 1, Index: 0, Width: 3}: false, {Level: 2, Index: 0, Width: 1}: false,
		{Level: translog.Entries, Index: 2, Width: 188}: true, {Level: translog.Entries, Index: 2, Width: 256}: false,
	} {
		if tile.In(n) != want {
			t.Errorf("%+v in %d: %v", tile, n, !want)
		}
	}
}

type tileReader func(translog.Tile) []byte

func (tileReader) Height() int                     { return translog.TileHeight }
func (tileReader) SaveTiles([]tlog.Tile, [][]byte) {}
func (r tileReader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		tile, err := translog.ParseTilePath(t.Path())
		if err != nil {
			return nil, err
		}
		out[i] = r(tile)
	}
	return out, nil
}

func TestBundles(t *testing.T) {
	entries := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("x"), translog.MaxEntry)}
	data, err := translog.EncodeBundle(entries)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte("\x00\x03one\x00\x00\xff\xffx")) {
		t.Errorf("bundle begins with %q", data[:10])
	}
	got, err := translog.DecodeBundle(data, 3)
	if diff := cmp.Diff(entries, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for name, tt := range map[string]struct {
		data []byte
		n    int
	}{
		"fewer": {data, 4}, "more": {data, 2}, "short": {data[:len(data)-1], 3}, "half a length": {append(data, 0), 4}, "none": {nil, 1},
	} {
		if _, err := translog.DecodeBundle(tt.data, tt.n); id(err) != translog.IDFormat {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := translog.EncodeBundle([][]byte{make([]byte, translog.MaxEntry+1)}); id(err) != translog.IDFormat {
		t.Errorf("too large: %v", err)
	}
}
