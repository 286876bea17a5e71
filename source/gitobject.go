package source

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// The three kinds of git objects that lead to a file are read here, a few lines each:
// go-git's own reader of them brings OpenPGP along, which is a megabyte of a program
// that verifies no such signatures.

// maxHead is how much of a commit or tag is read: what it points at comes first.
const maxHead = 4096

var errObject = errors.New("a git object is damaged")

// treeEntry is one name in a folder of a repository.
type treeEntry struct {
	Name string
	Mode filemode.FileMode
	Hash plumbing.Hash
}

// parseTree reads the entries of a tree: a mode in octal, a space, the name, a zero
// byte and the twenty bytes of a hash.
func parseTree(data []byte) ([]treeEntry, error) {
	var out []treeEntry
	for len(data) > 0 {
		head, rest, found := bytes.Cut(data, []byte{0})
		mode, name, spaced := bytes.Cut(head, []byte{' '})
		if !found || !spaced || len(rest) < len(plumbing.Hash{}) {
			return nil, errObject
		}
		m, err := filemode.New(string(mode))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errObject, err)
		}
		e := treeEntry{Name: string(name), Mode: m}
		data = rest[copy(e.Hash[:], rest):]
		out = append(out, e)
	}
	return out, nil
}

// commitTree is the folder that a commit is of.
func commitTree(objects storer.EncodedObjectStorer, h plumbing.Hash) (plumbing.Hash, error) {
	return pointsAt(objects, plumbing.CommitObject, h, "tree ")
}

// tagTarget is the object that a tag is about.
func tagTarget(objects storer.EncodedObjectStorer, h plumbing.Hash) (plumbing.Hash, error) {
	return pointsAt(objects, plumbing.TagObject, h, "object ")
}

// pointsAt reads the hash in the first line of an object.
func pointsAt(objects storer.EncodedObjectStorer, kind plumbing.ObjectType, h plumbing.Hash, label string) (to plumbing.Hash, err error) {
	o, err := objects.EncodedObject(kind, h)
	if err != nil {
		return to, err
	}
	r, err := o.Reader()
	if err != nil {
		return to, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxHead))
	if err != nil {
		return to, err
	}
	return parsePointer(data, label)
}

func parsePointer(data []byte, label string) (to plumbing.Hash, err error) {
	line, _, found := strings.Cut(string(data), "\n")
	text, labelled := strings.CutPrefix(line, label)
	raw, err := hex.DecodeString(text)
	if !found || !labelled || err != nil || len(raw) != len(to) {
		return to, errObject
	}
	copy(to[:], raw)
	return to, nil
}
