package translog

import (
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// Tree is the state of a log: its size, and the roots of the perfect subtrees
// that it falls into, the largest first. That is all it takes to append to it and
// to know its root.
type Tree struct {
	Size int64
	edge []Hash
}

// ReadTree takes a tree from what Edge gave.
func ReadTree(size int64, edge []byte) (Tree, error) {
	if size < 0 || size > MaxSize || len(edge) != bits.OnesCount64(uint64(size))*tlog.HashSize {
		return Tree{}, refuse(IDFormat, "a tree of %d entries with an edge of %d bytes", size, len(edge))
	}
	hashes, err := readHashes(edge)
	return Tree{Size: size, edge: hashes}, err
}

// Edge is the stored form of the tree beside its size.
func (t Tree) Edge() []byte { return joinHashes(t.edge) }

// Root is the RFC 6962 hash of the tree.
func (t Tree) Root() Hash {
	// The nodes that make the root are those of the edge, in its order.
	root, err := tlog.TreeHash(t.Size, tlog.HashReaderFunc(func([]int64) ([]Hash, error) { return t.edge, nil }))
	if err != nil {
		panic(err) // the reader cannot fail
	}
	return root
}

// Append gives the tree with one more leaf, and the hashes that are stored with
// it, 32 bytes each: the leaf's own, then those of the subtrees that it completes,
// from level 1 up.
func (t Tree) Append(leaf Hash) (Tree, []byte) {
	completes := bits.TrailingZeros64(uint64(t.Size + 1))
	taken := t.edge[len(t.edge)-completes:]
	stored, err := tlog.StoredHashesForRecordHash(t.Size, leaf,
		tlog.HashReaderFunc(func([]int64) ([]Hash, error) { return taken, nil }))
	if err != nil {
		panic(err) // the reader cannot fail
	}
	edge := make([]Hash, 0, len(t.edge)-completes+1)
	edge = append(append(edge, t.edge[:len(t.edge)-completes]...), stored[completes])
	return Tree{Size: t.Size + 1, edge: edge}, joinHashes(stored)
}

// Nodes reads nodes of a tree whose hashes are kept with the entries that complete
// them, as Append gives them. Read gives those of some entries, in their order.
func Nodes(read func(entries []int64) ([][]byte, error)) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]Hash, error) {
		entries := make([]int64, len(indexes))
		levels := make([]int, len(indexes))
		for i, index := range indexes {
			level, n := tlog.SplitStoredHashIndex(index)
			levels[i], entries[i] = level, (n+1)<<level-1
		}
		stored, err := read(entries)
		if err != nil {
			return nil, err
		}
		if len(stored) != len(indexes) {
			return nil, refuse(IDFormat, "%d entries were asked for, %d are there", len(indexes), len(stored))
		}
		out := make([]Hash, len(indexes))
		for i, data := range stored {
			if len(data) < (levels[i]+1)*tlog.HashSize {
				return nil, refuse(IDFormat, "the hashes of log entry %d are incomplete", entries[i])
			}
			copy(out[i][:], data[levels[i]*tlog.HashSize:])
		}
		return out, nil
	})
}

// Inclusion proves that the tree of that size has its entry at index.
func Inclusion(size, index int64, nodes tlog.HashReader) ([]Hash, error) {
	if size > MaxSize || index < 0 || index >= size {
		return nil, refuse(IDProof, "a tree of %d entries has no entry %d", size, index)
	}
	return tlog.ProveRecord(size, index, nodes)
}

// Consistency proves that the tree of size from is the beginning of that of size to.
func Consistency(from, to int64, nodes tlog.HashReader) ([]Hash, error) {
	if from < 0 || to > MaxSize || from > to {
		return nil, refuse(IDProof, "a tree of %d entries does not begin with one of %d", to, from)
	}
	if from == 0 { // every tree begins with the empty one
		return []Hash{}, nil
	}
	return tlog.ProveTree(to, from, nodes)
}

// CheckInclusion refuses a proof that does not prove that the entry with this leaf
// hash is at index in the tree of the checkpoint.
func CheckInclusion(proof []Hash, c Checkpoint, index int64, leaf Hash) error {
	if c.Size < 0 || c.Size > MaxSize || index < 0 || index >= c.Size {
		return refuse(IDProof, "a log of %d entries has no entry %d", c.Size, index)
	}
	if tlog.CheckRecord(proof, c.Size, c.Root, index, leaf) != nil {
		return refuse(IDProof, "the proof that entry %d is in the log of %d entries is wrong", index, c.Size)
	}
	return nil
}

// CheckConsistency refuses a tree that is not a continuation of the one before:
// another log, a smaller one, one with another history. Prove fetches the proof
// and is called only when one is needed; its error is passed on.
func CheckConsistency(before, now Checkpoint, prove func(from, to int64) ([]Hash, error)) error {
	switch {
	case now.Origin != before.Origin:
		return refuse(IDOrigin, "the log calls itself %q, it was %q before", now.Origin, before.Origin)
	case now.Size < 0 || now.Size > MaxSize || before.Size < 0:
		return refuse(IDFormat, "a log cannot have %d entries", now.Size)
	case now.Size < before.Size:
		return refuse(IDRollback, "the log has %d entries, it had %d before", now.Size, before.Size)
	case now.Size == before.Size && now.Root == before.Root, before.Size == 0:
		return nil
	case now.Size == before.Size:
		return refuse(IDFork, "the log of %d entries is not the one that was seen before", now.Size)
	}
	proof, err := prove(before.Size, now.Size)
	if err != nil {
		return err
	}
	if tlog.CheckTree(proof, now.Size, now.Root, before.Size, before.Root) != nil {
		return refuse(IDFork, "the log of %d entries does not continue the one of %d entries that was seen before", now.Size, before.Size)
	}
	return nil
}

func joinHashes(hashes []Hash) []byte {
	out := make([]byte, 0, len(hashes)*tlog.HashSize)
	for _, h := range hashes {
		out = append(out, h[:]...)
	}
	return out
}

func readHashes(data []byte) ([]Hash, error) {
	if len(data)%tlog.HashSize != 0 {
		return nil, refuse(IDFormat, "%d bytes are not a row of hashes", len(data))
	}
	out := make([]Hash, len(data)/tlog.HashSize)
	for i := range out {
		copy(out[i][:], data[i*tlog.HashSize:])
	}
	return out, nil
}
