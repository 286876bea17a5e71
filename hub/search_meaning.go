package hub

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

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

// How meaning enters a score. The models of different makers put likeness on
// different scales, so that what counts is the place among the nearest, as in
// reciprocal rank fusion: the nearest gets pointsMeaning, the one at place n that
// times slope/(slope+n-1). A release that has every word of the query and is near
// outdoes one that is only near.
const (
	pointsMeaning = 60
	meaningSlope  = 10
	maxNear       = 50 // releases that a meaning finds

	maxEmbedded  = 4000 // bytes of a release's text that are embedded
	embedBatch   = 64
	maxDims      = 8192
	maxQueries   = 1024 // vectors of queries that are kept
	queryTimeout = 2 * time.Second
	embedPause   = 30 * time.Second // during which no query is embedded after one failed
)

// vectorVersion heads a stored vector; after it come its scale and one signed byte
// for each dimension.
const vectorVersion = 1

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

// vector is a meaning of length one, in a byte for each dimension.
type vector struct {
	scale float32
	of    []int8
}

// newVector takes a vector of any length but none.
func newVector(v []float32) (vector, bool) {
	sum, most := 0.0, 0.0
	for _, f := range v {
		x := float64(f)
		sum += x * x
		most = max(most, math.Abs(x))
	}
	if len(v) == 0 || len(v) > maxDims || sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return vector{}, false
	}
	out := vector{scale: float32(most / math.Sqrt(sum) / math.MaxInt8), of: make([]int8, len(v))}
	for i, f := range v {
		out.of[i] = int8(math.Round(float64(f) / most * math.MaxInt8))
	}
	return out, true
}

func (v vector) encode() []byte {
	out := make([]byte, 0, 5+len(v.of))
	out = append(out, vectorVersion)
	out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v.scale))
	for _, n := range v.of {
		out = append(out, byte(n))
	}
	return out
}

func readVector(data []byte) (vector, bool) {
	if len(data) < 6 || len(data) > 5+maxDims || data[0] != vectorVersion {
		return vector{}, false
	}
	v := vector{scale: math.Float32frombits(binary.LittleEndian.Uint32(data[1:])), of: make([]int8, len(data)-5)}
	for i, b := range data[5:] {
		v.of[i] = int8(b)
	}
	ok := v.scale > 0 && v.scale <= 1
	return v, ok
}

// meanings are the vectors of one tenant's active releases, in memory, one behind
// the other.
type meanings struct {
	mu     sync.RWMutex
	change int64 // of the tenant's index, up to which they are
	vectors
}

// vectors are many of one length.
type vectors struct {
	dims   int
	bySeq  map[int64]int
	seqs   []int64
	scales []float32
	data   []int8
}

func (all *vectors) append(seq int64, scale float32, of []int8) {
	all.bySeq[seq] = len(all.seqs)
	all.seqs, all.scales, all.data = append(all.seqs, seq), append(all.scales, scale), append(all.data, of...)
}

func (all *vectors) row(at int) []int8 { return all.data[at*all.dims : (at+1)*all.dims] }

func (m *meanings) add(seq int64, v vector) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dims != len(v.of) { // the model has another length now
		m.vectors = vectors{dims: len(v.of), bySeq: map[int64]int{}}
	}
	if at, ok := m.bySeq[seq]; ok {
		m.scales[at] = v.scale
		copy(m.row(at), v.of)
		return
	}
	m.append(seq, v.scale, v.of)
}

// keep drops the vectors of releases that are not wanted any more, when they are
// many.
func (m *meanings) keep(wanted func(seq int64) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := 0
	for _, seq := range m.seqs {
		if !wanted(seq) {
			dead++
		}
	}
	if dead < compactFrom && dead < len(m.seqs) {
		return
	}
	kept := vectors{dims: m.dims, bySeq: map[int64]int{}}
	for at, seq := range m.seqs {
		if wanted(seq) {
			kept.append(seq, m.scales[at], m.row(at))
		}
	}
	m.vectors = kept
}

// asked is the meaning of one query.
type asked struct {
	among *meanings
	query vector
	least float64 // likeness below which nothing is near
}

// nearness is how near one release is.
type nearness struct {
	doc      uint32
	seq      int64
	likeness float64
	points   int64
}

// nearest gives the releases nearest to the query of those that may be found.
func (a *asked) nearest(x *searchIndex, may func(doc uint32) bool) map[uint32]nearness {
	m := a.among
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.dims != len(a.query.of) {
		return nil
	}
	var best []nearness
	nearer := func(a, b nearness) int {
		return cmp.Or(cmp.Compare(b.likeness, a.likeness), cmp.Compare(b.seq, a.seq))
	}
	for at, seq := range m.seqs {
		likeness := float64(dot(a.query.of, m.row(at))) * float64(a.query.scale) * float64(m.scales[at])
		if likeness < a.least || len(best) == maxNear && likeness < best[maxNear-1].likeness {
			continue
		}
		doc, ok := x.bySeq[seq]
		if !ok || !may(doc) {
			continue
		}
		n := nearness{doc: doc, seq: seq, likeness: likeness}
		i, _ := slices.BinarySearchFunc(best, n, nearer)
		best = slices.Insert(best, i, n)
		best = best[:min(len(best), maxNear)]
	}
	out := make(map[uint32]nearness, len(best))
	for i, n := range best {
		n.points = points(pointsMeaning*meaningSlope/float64(meaningSlope+i), 1)
		out[n.doc] = n
	}
	return out
}

// dot cannot overflow: a dimension adds at most 127².
func dot(a, b []int8) int32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 int32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += int32(a[i]) * int32(b[i])
		s1 += int32(a[i+1]) * int32(b[i+1])
		s2 += int32(a[i+2]) * int32(b[i+2])
		s3 += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// queries are the vectors of queries that were asked.
type queries struct {
	mu      sync.Mutex
	known   map[string]vector
	resting time.Time // until when none is embedded
}

// meaningOf embeds a query; nil without an embedder. What went wrong is a note for
// people: the words are searched for all the same.
func (h *Hub) meaningOf(ctx context.Context, t *tenantIndex, text string) (*asked, string) {
	if h.embedder == nil {
		return nil, ""
	}
	const without = "the meaning of the query could not be looked up; only its words were searched for"
	text = strings.TrimSpace(text)
	if len(text) > maxEmbedded {
		return nil, ""
	}
	a := &asked{among: &t.meanings, least: h.leastLikeness}
	h.queries.mu.Lock()
	v, known := h.queries.known[text]
	resting := h.now().Before(h.queries.resting)
	h.queries.mu.Unlock()
	switch {
	case known:
		a.query = v
		return a, ""
	case resting:
		return nil, without
	}
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	answers, err := h.embedder.Embed(limited, []string{text})
	ok := false
	if err == nil && len(answers) == 1 {
		a.query, ok = newVector(answers[0])
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
		h.queries.known = map[string]vector{}
	}
	h.queries.known[text] = a.query
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
	t.meanings.mu.RLock()
	var missing []int64
	if t.meanings.change != change {
		for seq := range t.index.bySeq {
			if _, ok := t.meanings.bySeq[seq]; !ok {
				missing = append(missing, seq)
			}
		}
	}
	t.meanings.mu.RUnlock()
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
	t.meanings.keep(func(seq int64) bool { _, ok := t.index.bySeq[seq]; return ok })
	t.meanings.mu.Lock()
	t.meanings.change = change
	t.meanings.mu.Unlock()
	return made, nil
}

// embedBatch takes in the vectors that are stored, and makes and stores the others.
func (h *Hub) embedBatch(ctx context.Context, t *tenantIndex, seqs []int64) (made int, err error) {
	model := h.embedder.Model()
	stored := map[int64]vector{}
	var rows []ReleaseRow
	err = h.read(ctx, func(r Reader) (err error) {
		clear(stored)
		err = r.Embeddings(model, seqs, func(seq int64, data []byte) error {
			if v, ok := readVector(data); ok {
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
		t.meanings.add(seq, v)
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
	ready := make([]vector, len(rows))
	for i, row := range rows {
		ok := false
		if ready[i], ok = newVector(answers[i]); !ok {
			return 0, hubapi.Errorf(hubapi.Unavailable, "the endpoint's vector for %s is none", refOf(row))
		}
	}
	err = h.write(ctx, func(w Writer) error {
		for i, row := range rows {
			if err := w.PutEmbedding(row.Seq, model, ready[i].encode()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for i, row := range rows {
		t.meanings.add(row.Seq, ready[i])
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
