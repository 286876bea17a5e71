package pack

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/kortecx/kx/internal/sorting"
)

// Digest is the content identity of a pack: "sp1:" and 64 hex digits. Modes,
// order and times do not enter it.
type Digest string

// Digest computes the identity of all files of p.
func (p *Pack) Digest() Digest { return DigestFiles(p.Files) }

// DigestFiles computes the identity of a set of files, in any order.
func DigestFiles(files []File) Digest { return digestOf(Packsum(files)) }

func digestOf(lines []byte) Digest {
	sum := sha256.Sum256(lines)
	return Digest("sp1:" + hex.EncodeToString(sum[:]))
}

// Summed is what a set of files hashes to, for who needs it more than once.
type Summed struct {
	Digest Digest
	Files  []string // the SHA-256 of each in hex, in the order of the files
}

// SumFiles hashes every file once.
func SumFiles(files []File) Summed {
	out := Summed{Files: make([]string, len(files))}
	byPath := make([]int, len(files))
	for i := range files {
		sum := FileSum(files[i])
		out.Files[i], byPath[i] = hex.EncodeToString(sum[:]), i
	}
	sorting.Stable(byPath, func(a, b int) int { return strings.Compare(files[a].Path, files[b].Path) })
	var lines []byte
	for _, i := range byPath {
		lines = append(append(append(append(lines, out.Files[i]...), "  "...), files[i].Path...), '\n')
	}
	out.Digest = digestOf(lines)
	return out
}

// Packsum gives one line per file, ascending by path, in the form that
// sha256sum prints and checks. The digest is the SHA-256 of these lines, so that
// anyone can compute it without us.
func Packsum(files []File) []byte {
	byPath := func(a, b File) int { return strings.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(files, byPath) {
		files = slices.Clone(files)
		sorting.Sort(files, byPath)
	}
	size := 0
	for i := range files {
		size += 2*sha256.Size + len("  \n") + len(files[i].Path)
	}
	lines := make([]byte, 0, size)
	for i := range files {
		sum := FileSum(files[i])
		lines = hex.AppendEncode(lines, sum[:])
		lines = append(lines, "  "...)
		lines = append(lines, files[i].Path...)
		lines = append(lines, '\n')
	}
	return lines
}

// FileSum is the SHA-256 of one file's content.
func FileSum(f File) [32]byte { return sha256.Sum256(f.Data) }
