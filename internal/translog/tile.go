package translog

import (
	"encoding/binary"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	// TileHeight is the height of every tile: C2SP tlog-tiles knows no other.
	TileHeight = 8
	// TileWidth is the number of hashes, or of entries, in a full tile.
	TileWidth = 1 << TileHeight
	// Entries is the level of the tiles that hold entries.
	Entries = -1

	maxTileLevel = 5 // six levels hold 2^48 entries, see MaxSize
	maxTilePath  = 64
)

// Tile is a part of a log that never changes once it is full.
type Tile struct {
	Level int // Entries, or the level of its hashes divided by TileHeight
	Index int64
	Width int // 1 to TileWidth
}

// ParseTilePath reads the path of a tile, without a leading slash. A tile of
// hashes has two spellings: tile/8/LEVEL/INDEX, with the height as in the Go
// checksum database, and tile/LEVEL/INDEX of C2SP tlog-tiles; they cannot be mixed
// up, because no log has a level 8. Entries are in tile/entries/INDEX. Behind the
// index of a partial tile stands .p/WIDTH.
func ParseTilePath(path string) (Tile, error) {
	rest, ok := strings.CutPrefix(path, "tile/")
	if !ok || len(path) > maxTilePath {
		return Tile{}, refuse(IDFormat, "%.80q is not the path of a tile", path)
	}
	var level string
	switch first, after, _ := strings.Cut(rest, "/"); first {
	case "entries":
		level = "data/" + after
	case "8":
		level = after
	default:
		level = rest
	}
	if strings.HasPrefix(rest, "data/") || strings.HasPrefix(rest, "8/data/") { // the library's name for entries
		level = ""
	}
	t, err := tlog.ParseTilePath("tile/8/" + level)
	if err != nil || t.L > maxTileLevel || t.N < 0 || t.N > MaxSize>>TileHeight {
		return Tile{}, refuse(IDFormat, "%.80q is not the path of a tile", path)
	}
	return Tile{Level: t.L, Index: t.N, Width: t.W}, nil
}

// Path is where the tile is, without a leading slash, as C2SP tlog-tiles spells it.
func (t Tile) Path() string {
	path := tlog.Tile{H: TileHeight, L: t.Level, N: t.Index, W: t.Width}.Path()
	rest := strings.TrimPrefix(path, "tile/8/")
	return "tile/" + strings.Replace(rest, "data/", "entries/", 1)
}

// Full tells whether the tile can never change.
func (t Tile) Full() bool { return t.Width == TileWidth }

// First is the index of the tile's first entry or hash on its level.
func (t Tile) First() int64 { return t.Index << TileHeight }

// In tells whether a tree of that size has the tile.
func (t Tile) In(size int64) bool {
	level := max(t.Level, 0)
	return t.First()+int64(t.Width) <= size>>(TileHeight*level)
}

// HashTile gives the content of a tile of hashes.
func HashTile(t Tile, nodes tlog.HashReader) ([]byte, error) {
	return tlog.ReadTileData(tlog.Tile{H: TileHeight, L: t.Level, N: t.Index, W: t.Width}, nodes)
}

// EntryTile is the tile of entries that begins at the entry first, which is a
// multiple of TileWidth, in a tree of that size.
func EntryTile(first, size int64) Tile {
	return Tile{Level: Entries, Index: first >> TileHeight, Width: int(min(TileWidth, size-first))}
}

// EncodeBundle is the content of a tile of entries: each with its length before it,
// two bytes, the high one first.
func EncodeBundle(entries [][]byte) ([]byte, error) {
	var out []byte
	for _, e := range entries {
		if len(e) > MaxEntry {
			return nil, refuse(IDFormat, "a log entry has %d bytes", len(e))
		}
		out = binary.BigEndian.AppendUint16(out, uint16(len(e)))
		out = append(out, e...)
	}
	return out, nil
}

// DecodeBundle reads a tile of exactly that many entries.
func DecodeBundle(data []byte, entries int) ([][]byte, error) {
	var out [][]byte
	for len(data) > 0 {
		if len(data) < 2 || len(data)-2 < int(binary.BigEndian.Uint16(data)) {
			return nil, refuse(IDFormat, "a tile of log entries ends early")
		}
		end := 2 + int(binary.BigEndian.Uint16(data))
		if len(out) == entries {
			return nil, refuse(IDFormat, "a tile has more than its %d entries", entries)
		}
		out = append(out, data[2:end])
		data = data[end:]
	}
	if len(out) != entries {
		return nil, refuse(IDFormat, "a tile has %d entries instead of %d", len(out), entries)
	}
	return out, nil
}
