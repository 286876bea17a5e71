// Package translog is the formats of a hub's transparency log: the bytes of an
// entry, RFC 6962 hashing, checkpoints as signed notes, proofs, and the tiles of
// C2SP tlog-tiles. Hub and client share it, so that what one writes and what the
// other checks cannot come apart.
//
// It keeps nothing and asks nobody: the hub stores trees, the client remembers
// checkpoints. It decides nothing about releases.
//
// A writer begins with Entry and Tree.Append, a reader with OpenCheckpoint and
// CheckInclusion. Every refusal is an *Error whose ID says what is wrong.
package translog

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Hash is a node of the tree; its text is standard base64.
type Hash = tlog.Hash

// The ids of refusals.
const (
	IDFormat   = "log.format"   // not an entry, a checkpoint, a bundle or a tile path
	IDProof    = "log.proof"    // a proof that does not prove it
	IDOrigin   = "log.origin"   // a checkpoint of another log
	IDUnsigned = "log.unsigned" // no signature by the log's key
	IDFork     = "log.fork"     // two trees that cannot both be this log
	IDRollback = "log.rollback" // a tree smaller than one that was seen before
	IDMismatch = "log.mismatch" // the log says one thing, the hub another
	IDMissing  = "log.missing"  // not in the log, or no log where there was one
	IDClock    = "clock.suspect"
)

// MaxSize bounds the size of a tree that is read from anywhere. Far below it the
// arithmetic of tree nodes is safe from overflow.
const MaxSize = 1 << 48

// Error is a refusal.
type Error struct {
	ID   string
	Text string
}

func (e *Error) Error() string { return e.Text }

// Not inlined, for the size of the programs.
//
//go:noinline
func refuse(id, format string, args ...any) *Error {
	return &Error{ID: id, Text: fmt.Sprintf(format, args...)}
}
