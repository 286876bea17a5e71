package fsx

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Sight is how a folder with all that is in it looks from outside: the names and the
// Stamp of every file and folder. Two are comparable with ==. It says nothing about
// what the files hold; but while it is the same, and was Settled when it was first
// taken, nothing that they held then was changed.
type Sight struct {
	Sum [16]byte
	// Last is when the youngest of them was changed, in nanoseconds of the epoch.
	Last int64
	// Names are those of all that is in it, for LookAgain: a folder whose own stamp is
	// the same has the same names in it, so that it need not be listed again. Empty where
	// they are many, or not fit to be kept in a line of text.
	Names string
}

// namesBetween stands between the names of a Sight: no clean path has it in it.
const namesBetween = "//"

// maxNames bounds the names of a Sight, in bytes: who keeps it keeps thousands.
const maxNames = 512

// Settled is that of Stamp, for all files.
func (s Sight) Settled(now time.Time) bool { return s.Last <= now.Add(-settle).UnixNano() }

// maxSight is how many files and folders are looked at in one folder.
const maxSight = 1000

// sighting gathers a Sight, in the order of a walk that takes names ascending and a
// folder before what it holds.
type sighting struct {
	data  []byte
	names []byte
	lost  bool // the names do not count
	n     int
	last  int64
}

func newSighting() *sighting {
	const usual = 512 // bytes that a small skill takes
	return &sighting{last: math.MinInt64, data: make([]byte, 0, usual)}
}

func (g *sighting) add(name string, s Stamp) error {
	if g.n++; g.n > maxSight {
		return ErrTooLarge
	}
	g.last = max(g.last, s.Modified, s.Changed)
	if g.n > 1 && !g.lost { // the first is the folder itself
		if len(g.names) > 0 {
			g.names = append(g.names, namesBetween...)
		}
		g.names = append(g.names, name...)
		g.lost = len(g.names) > maxNames || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || c == utf8.RuneError })
	}
	g.data = binary.AppendUvarint(g.data, uint64(len(name)))
	g.data = append(g.data, name...)
	for _, v := range [...]uint64{uint64(s.Size), uint64(s.Mode), uint64(s.Modified), uint64(s.Changed), s.Inode} {
		g.data = binary.LittleEndian.AppendUint64(g.data, v)
	}
	return nil
}

func (g *sighting) sight() Sight {
	out := Sight{Last: g.last}
	if !g.lost {
		out.Names = string(g.names)
	}
	sum := sha256.Sum256(g.data)
	copy(out.Sum[:], sum[:])
	return out
}

// lookOver takes a Sight of the folder called name, by the calls that every system has.
func lookOver(root Dir, name string) (Sight, error) {
	dir, err := root.OpenDir(name)
	if err != nil {
		return Sight{}, err
	}
	g := newSighting()
	var walk func(name string) error
	walk = func(name string) error {
		info, err := dir.Lstat(name)
		if err != nil {
			return err
		}
		if err := g.add(name, StampOf(info)); err != nil || !info.IsDir() {
			return err
		}
		entries, err := dir.ReadDir(name)
		for _, e := range entries {
			if err = walk(path.Join(name, e.Name())); err != nil {
				return err
			}
		}
		return err
	}
	err = walk(".")
	return g.sight(), errors.Join(err, dir.Close())
}
