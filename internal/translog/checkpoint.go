package translog

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// MaxCheckpoint is the size of a signed checkpoint that is read.
const MaxCheckpoint = 64 << 10

// Checkpoint is what a log says about itself: who it is, how long, and the one
// hash that stands for every entry.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   Hash
}

// Text is the note that is signed.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, c.Root)
}

// ParseCheckpoint reads the text of a checkpoint whose signature was verified.
// Lines behind the third are extensions that we have no use for.
func ParseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[len(lines)-1] != "" || lines[0] == "" {
		return Checkpoint{}, refuse(IDFormat, "not a checkpoint")
	}
	for _, extension := range lines[3 : len(lines)-1] {
		if extension == "" {
			return Checkpoint{}, refuse(IDFormat, "a checkpoint has an empty line")
		}
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || size > MaxSize || strconv.FormatInt(size, 10) != lines[1] {
		return Checkpoint{}, refuse(IDFormat, "a checkpoint has the size %.40q", lines[1])
	}
	root, err := ParseHash(lines[2])
	if err != nil {
		return Checkpoint{}, refuse(IDFormat, "a checkpoint has the root %.80q", lines[2])
	}
	return Checkpoint{Origin: lines[0], Size: size, Root: root}, nil
}

// ParseHash reads the one base64 form of a hash.
func ParseHash(text string) (Hash, error) {
	var h Hash
	if len(text) != base64.StdEncoding.EncodedLen(len(h)) {
		return h, refuse(IDFormat, "%.80q is not a hash", text)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(data) != len(h) {
		return h, refuse(IDFormat, "%.80q is not a hash", text)
	}
	copy(h[:], data)
	return h, nil
}

// Key signs checkpoints. One key serves all logs of a hub; a log's origin is part
// of what its verifier key names.
type Key struct{ private ed25519.PrivateKey }

// SeedSize is the length of a key's seed.
const SeedSize = ed25519.SeedSize

// NewSeed makes the seed of a new key.
func NewSeed(random io.Reader) ([]byte, error) {
	seed := make([]byte, SeedSize)
	_, err := io.ReadFull(random, seed)
	return seed, err
}

// KeyFromSeed makes the key of a seed.
func KeyFromSeed(seed []byte) (Key, error) {
	if len(seed) != SeedSize {
		return Key{}, refuse(IDFormat, "a log key has %d bytes", len(seed))
	}
	return Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// VerifierKey is the text by which others check the checkpoints of a log.
func (k Key) VerifierKey(origin string) (string, error) {
	public, ok := k.private.Public().(ed25519.PublicKey)
	if !ok {
		return "", errors.New("a log key without a public half")
	}
	return note.NewEd25519VerifierKey(origin, public)
}

// Sign gives the checkpoint as a signed note. The same checkpoint always gives the
// same bytes.
func (k Key) Sign(c Checkpoint) ([]byte, error) {
	verifier, err := k.VerifierKey(c.Origin)
	if err != nil {
		return nil, err
	}
	// NAME+HASH+KEY, whose key is one byte for the algorithm and then the seed.
	hash := strings.Split(strings.TrimPrefix(verifier, c.Origin+"+"), "+")[0]
	seed := append([]byte{1}, k.private.Seed()...)
	signer, err := note.NewSigner("PRIVATE+KEY+" + c.Origin + "+" + hash + "+" + base64.StdEncoding.EncodeToString(seed))
	if err != nil {
		return nil, err
	}
	return note.Sign(&note.Note{Text: c.Text()}, signer)
}

// SplitVerifierKey gives the origin that a verifier key is for, and the key itself,
// which is the same for all logs of a hub.
func SplitVerifierKey(vkey string) (origin, key string, err error) {
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return "", "", refuse(IDFormat, "not a verifier key of a log: %v", err)
	}
	parts := strings.SplitN(strings.TrimPrefix(vkey, v.Name()+"+"), "+", 2)
	return v.Name(), parts[len(parts)-1], nil
}

// OpenCheckpoint verifies a signed note by a log's verifier key and reads the
// checkpoint in it.
func OpenCheckpoint(signed []byte, vkey string) (Checkpoint, error) {
	if len(signed) > MaxCheckpoint {
		return Checkpoint{}, refuse(IDFormat, "a checkpoint has %d bytes", len(signed))
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return Checkpoint{}, refuse(IDFormat, "not a verifier key of a log: %v", err)
	}
	n, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		if _, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
			return Checkpoint{}, refuse(IDUnsigned, "the checkpoint is not signed by the key of %s", verifier.Name())
		}
		if _, ok := errors.AsType[*note.InvalidSignatureError](err); ok {
			return Checkpoint{}, refuse(IDUnsigned, "the signature on the checkpoint of %s is wrong", verifier.Name())
		}
		return Checkpoint{}, refuse(IDFormat, "not a signed checkpoint: %v", err)
	}
	c, err := ParseCheckpoint(n.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	if c.Origin != verifier.Name() {
		return Checkpoint{}, refuse(IDOrigin, "the checkpoint is one of %q, signed by the key of %q", c.Origin, verifier.Name())
	}
	if c.Size == 0 && c.Root != (Tree{}).Root() {
		return Checkpoint{}, refuse(IDFork, "the checkpoint gives an empty log a root that it cannot have")
	}
	return c, nil
}
