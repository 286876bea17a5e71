package hub

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kortecx/kx/hub/search"
	"github.com/kortecx/kx/hubapi"
)

// Embedder turns texts into vectors that are near to each other when the texts mean
// nearly the same. Search works without one.
type Embedder interface {
	// Model names what makes the vectors. Those of two names are never compared.
	Model() string
	// Embed gives one vector for each text, all of one length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	maxEmbedded  = 4000 // bytes of a release's text that are embedded
	embedBatch   = 64
	maxQueries   = 1024 // vectors of queries that are kept
	queryTimeout = 2 * time.Second
	embedPause   = 30 * time.Second // during which no query is embedded after one failed
)

// EmbeddingReader is the part of a Reader that the meanings of releases need.
type EmbeddingReader interface {
	// Embeddings runs fn on the vectors that a model made of these releases. Data is
	// fn's to keep.
	Embeddings(model string, releases []int64, fn func(release int64, data []byte) error) error
}

// EmbeddingWriter keeps vectors.
type EmbeddingWriter interface {
	// PutEmbedding replaces the vector of a release, whichever model made it.
	PutEmbedding(release int64, model string, data []byte) error
}

// queries are the vectors of queries that were asked.
type queries struct {
	mu      sync.Mutex
	known   map[string]search.Vector
	resting time.Time // until when none is embedded
}

// meaningOf embeds a query; nil without an embedder. What went wrong is a note for
// people: the words are searched for all the same.
func (h *Hub) meaningOf(ctx context.Context, t *tenantIndex, text string) (*search.Meaning, string) {
	if h.embedder == nil {
		return nil, ""
	}
	const without = "the meaning of the query could not be looked up; only its words were searched for"
	text = strings.TrimSpace(text)
	if len(text) > maxEmbedded {
		return nil, ""
	}
	a := &search.Meaning{Among: &t.meanings, Least: h.leastLikeness}
	h.queries.mu.Lock()
	v, known := h.queries.known[text]
	resting := h.now().Before(h.queries.resting)
	h.queries.mu.Unlock()
	switch {
	case known:
		a.Query = v
		return a, ""
	case resting:
		return nil, without
	}
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	answers, err := h.embedder.Embed(limited, []string{text})
	ok := false
	if err == nil && len(answers) == 1 {
		a.Query, ok = search.NewVector(answers[0])
	}
	h.queries.mu.Lock()
	defer h.queries.mu.Unlock()
	if !ok {
		if ctx.Err() == nil {
			h.queries.resting = h.now().Add(embedPause)
		}
		return nil, without
	}
	if h.queries.known == nil || len(h.queries.known) >= maxQueries {
		h.queries.known = map[string]search.Vector{}
	}
	h.queries.known[text] = a.Query
	return a, ""
}

// EmbedPending gives every active release that has no vector one, and reads those
// that other servers made. It says how many it made. A server calls it again and
// again; a release is found by its words before.
func (h *Hub) EmbedPending(ctx context.Context) (made int, err error) {
	if h.embedder == nil {
		return 0, nil
	}
	var tenants []string
	err = h.read(ctx, func(r Reader) (err error) {
		tenants, err = r.SearchTenants()
		return err
	})
	for _, tenant := range tenants {
		if err != nil {
			break
		}
		var n int
		n, err = h.embedTenant(ctx, h.indexes.of(tenant))
		made += n
	}
	return made, err
}

func (h *Hub) embedTenant(ctx context.Context, t *tenantIndex) (made int, err error) {
	if err := h.refresh(ctx, t); err != nil {
		return 0, refusal(err)
	}
	t.mu.RLock()
	change := t.change
	var missing []int64
	if t.meant.Load() != change {
		for seq := range t.index.IDs() {
			if !t.meanings.Has(seq) {
				missing = append(missing, seq)
			}
		}
	}
	t.mu.RUnlock()
	slices.Sort(missing)
	for batch := range slices.Chunk(missing, embedBatch) {
		n, err := h.embedBatch(ctx, t, batch)
		made += n
		if err != nil {
			return made, err
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.meanings.Keep(t.index.Has)
	t.meant.Store(change)
	return made, nil
}

// embedBatch takes in the vectors that are stored, and makes and stores the others.
func (h *Hub) embedBatch(ctx context.Context, t *tenantIndex, seqs []int64) (made int, err error) {
	model := h.embedder.Model()
	stored := map[int64]search.Vector{}
	var rows []ReleaseRow
	err = h.read(ctx, func(r Reader) (err error) {
		clear(stored)
		err = r.Embeddings(model, seqs, func(seq int64, data []byte) error {
			if v, ok := search.ReadVector(data); ok {
				stored[seq] = v
			}
			return nil
		})
		if err != nil {
			return err
		}
		rest := slices.DeleteFunc(slices.Clone(seqs), func(seq int64) bool { _, ok := stored[seq]; return ok })
		rows, err = r.ReleasesBySeq(rest)
		return err
	})
	if err != nil {
		return 0, err
	}
	for seq, v := range stored {
		t.meanings.Add(seq, v)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = embedded(row)
	}
	answers, err := h.embedder.Embed(ctx, texts)
	if err == nil && len(answers) != len(texts) {
		err = errors.New("the endpoint did not answer with one vector for each text")
	}
	if err != nil {
		return 0, hubapi.Errorf(hubapi.Unavailable, "the meanings of %d releases could not be looked up: %v", len(rows), err)
	}
	ready := make([]search.Vector, len(rows))
	for i, row := range rows {
		ok := false
		if ready[i], ok = search.NewVector(answers[i]); !ok {
			return 0, hubapi.Errorf(hubapi.Unavailable, "the endpoint's vector for %s is none", refOf(row))
		}
	}
	err = h.write(ctx, func(w Writer) error {
		for i, row := range rows {
			if err := w.PutEmbedding(row.Seq, model, ready[i].Encode()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for i, row := range rows {
		t.meanings.Add(row.Seq, ready[i])
	}
	return len(rows), nil
}

// embedded is what a release is about, in one text.
func embedded(row ReleaseRow) string {
	parts := []string{strings.NewReplacer("-", " ", "_", " ", ".", " ").Replace(row.Name), row.Summary}
	if row.Description != row.Summary {
		parts = append(parts, row.Description)
	}
	if len(row.Tags) > 0 {
		parts = append(parts, strings.Join(row.Tags, ", "))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	text := strings.Join(parts, "\n")
	if len(text) > maxEmbedded {
		text = strings.ToValidUTF8(text[:maxEmbedded], "")
	}
	return text
}
