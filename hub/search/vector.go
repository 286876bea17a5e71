package search

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

// How meaning enters a score. The models of different makers put likeness on
// different scales, so that what counts is the place among the nearest, as in
// reciprocal rank fusion: the nearest gets pointsMeaning, the one at place n that
// times slope/(slope+n-1). A document that has every word of the query and is near
// outdoes one that is only near.
const (
	pointsMeaning = 60
	meaningSlope  = 10
	maxNear       = 50 // documents that a meaning finds

	maxDims = 8192
)

// vectorVersion heads a stored vector; after it come its scale and one signed byte
// for each dimension.
const vectorVersion = 1

// Vector is a meaning of length one, in a byte for each dimension.
type Vector struct {
	scale float32
	of    []int8
}

// NewVector takes a vector of any length but none; false: it is no meaning.
func NewVector(v []float32) (Vector, bool) {
	sum, most := 0.0, 0.0
	for _, f := range v {
		x := float64(f)
		sum += x * x
		most = max(most, math.Abs(x))
	}
	if len(v) == 0 || len(v) > maxDims || sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return Vector{}, false
	}
	out := Vector{scale: float32(most / math.Sqrt(sum) / math.MaxInt8), of: make([]int8, len(v))}
	for i, f := range v {
		out.of[i] = int8(math.Round(float64(f) / most * math.MaxInt8))
	}
	return out, true
}

// Encode is v in bytes, for ReadVector.
func (v Vector) Encode() []byte {
	out := make([]byte, 0, 5+len(v.of))
	out = append(out, vectorVersion)
	out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v.scale))
	for _, n := range v.of {
		out = append(out, byte(n))
	}
	return out
}

// ReadVector reads what Encode wrote; false: it did not, or another version.
func ReadVector(data []byte) (Vector, bool) {
	if len(data) < 6 || len(data) > 5+maxDims || data[0] != vectorVersion {
		return Vector{}, false
	}
	v := Vector{scale: math.Float32frombits(binary.LittleEndian.Uint32(data[1:])), of: make([]int8, len(data)-5)}
	for i, b := range data[5:] {
		v.of[i] = int8(b)
	}
	ok := v.scale > 0 && v.scale <= 1
	return v, ok
}

// Meanings are the vectors of documents, in memory, one behind the other. They are safe
// for concurrent use.
type Meanings struct {
	mu sync.RWMutex
	vectors
}

// vectors are many of one length.
type vectors struct {
	dims   int
	byID   map[int64]int
	ids    []int64
	scales []float32
	data   []int8
}

func (all *vectors) append(id int64, scale float32, of []int8) {
	all.byID[id] = len(all.ids)
	all.ids, all.scales, all.data = append(all.ids, id), append(all.scales, scale), append(all.data, of...)
}

func (all *vectors) row(at int) []int8 { return all.data[at*all.dims : (at+1)*all.dims] }

// Add takes in the meaning of a document, in the place of the one that it had.
func (m *Meanings) Add(id int64, v Vector) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dims != len(v.of) { // the model has another length now
		m.vectors = vectors{dims: len(v.of), byID: map[int64]int{}}
	}
	if at, ok := m.byID[id]; ok {
		m.scales[at] = v.scale
		copy(m.row(at), v.of)
		return
	}
	m.append(id, v.scale, v.of)
}

// Has tells whether the meaning of a document is known.
func (m *Meanings) Has(id int64) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.byID[id]
	return ok
}

// Keep drops the vectors of documents that are not wanted any more, when they are
// many.
func (m *Meanings) Keep(wanted func(id int64) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := 0
	for _, id := range m.ids {
		if !wanted(id) {
			dead++
		}
	}
	if dead < compactFrom && dead < len(m.ids) {
		return
	}
	kept := vectors{dims: m.dims, byID: map[int64]int{}}
	for at, id := range m.ids {
		if wanted(id) {
			kept.append(id, m.scales[at], m.row(at))
		}
	}
	m.vectors = kept
}

// Meaning is that of one query.
type Meaning struct {
	Among *Meanings
	Query Vector
	Least float64 // likeness below which nothing is near
}

// nearness is how near one document is.
type nearness struct {
	doc      uint32
	id       int64
	likeness float64
	points   int64
}

// nearest gives the documents nearest to the query of those that may be found.
func (a *Meaning) nearest(x *Index, may func(doc uint32) bool) map[uint32]nearness {
	m := a.Among
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.dims != len(a.Query.of) {
		return nil
	}
	var best []nearness
	nearer := func(a, b nearness) int {
		return cmp.Or(cmp.Compare(b.likeness, a.likeness), cmp.Compare(b.id, a.id))
	}
	for at, id := range m.ids {
		likeness := float64(dot(a.Query.of, m.row(at))) * float64(a.Query.scale) * float64(m.scales[at])
		if likeness < a.Least || len(best) == maxNear && likeness < best[maxNear-1].likeness {
			continue
		}
		doc, ok := x.byID[id]
		if !ok || !may(doc) {
			continue
		}
		n := nearness{doc: doc, id: id, likeness: likeness}
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
