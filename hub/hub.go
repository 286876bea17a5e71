// Package hub is the registry's rules: who may see which release, who may move it
// where, what a push must fulfil, how search ranks, and each principal's own
// catalog of kortecx skills. They live here once; every face (HTTP, MCP, gRPC,
// web pages) calls them with a Principal and prints what comes back.
//
// It is not a server and knows no database: a Store comes in from outside
// (package sqlstore), as do the clock and the set of registered tools.
//
// Call New. Every error of a rule is a *hubapi.Error.
package hub

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/kortecx/kx/hubapi"
)

// ToolRegistry knows which tools this server could call now.
type ToolRegistry interface {
	Registered(id, version string) bool
}

// Config is what a hub takes from outside besides its store.
type Config struct {
	Now        func() time.Time // required
	Signatures SignatureReader  // nil means SignFiles
	Tools      ToolRegistry     // nil means that no tool is registered
	Scanner    Scanner          // nil means that nothing is scanned
	Rand       io.Reader        // nil means crypto/rand
	Embedder   Embedder         // nil means that search knows words, not meanings
	// LeastLikeness is the cosine below which a meaning is not near; 0 means 0.3.
	LeastLikeness float64
}

// Hub is one registry. It is safe for concurrent use.
type Hub struct {
	store      Store
	now        func() time.Time
	signatures SignatureReader
	tools      ToolRegistry
	scanner    Scanner
	random     io.Reader
	indexes    indexes
	known      knownKeys
	catalogues catalogues
	site       siteCache

	embedder      Embedder
	leastLikeness float64
	queries       queries
}

// New makes a hub over store, which the caller closes.
func New(store Store, c Config) *Hub {
	h := &Hub{store: store, signatures: c.Signatures, tools: c.Tools, scanner: c.Scanner, random: c.Rand, embedder: c.Embedder}
	if h.leastLikeness = c.LeastLikeness; h.leastLikeness == 0 {
		h.leastLikeness = 0.3
	}
	if h.random == nil {
		h.random = rand.Reader
	}
	if h.signatures == nil {
		h.signatures = SignFiles{}
	}
	// A store keeps microseconds: what is answered now must be what is
	// answered later.
	h.now = func() time.Time { return c.Now().UTC().Truncate(time.Microsecond) }
	return h
}

// Ready says why the hub cannot take writes now, or nil.
func (h *Hub) Ready(ctx context.Context) error {
	return refusal(h.store.Ready(ctx))
}

func (h *Hub) read(ctx context.Context, fn func(Reader) error) error {
	return refusal(h.store.Read(ctx, fn))
}

func (h *Hub) write(ctx context.Context, fn func(Writer) error) error {
	return refusal(h.store.Write(ctx, fn))
}

// refusal keeps the promise that every error is a *hubapi.Error.
func refusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return hubapi.Errorf(hubapi.Interrupted, "the request was given up")
	case errors.Is(err, context.DeadlineExceeded):
		return hubapi.Errorf(hubapi.Timeout, "the hub did not answer in time")
	}
	return hubapi.AsError(err)
}
