package search

import (
	"iter"
	"slices"
)

// Sort is an order of a list. Equals follow by ID.
type Sort int

// The orders.
const (
	ByPublication Sort = iota // oldest first
	ByName
	ByVersion // of the version's text
)

// Shown is what a list tells of a document.
type Shown struct {
	ID             int64
	Name, Category string
	CertifiedUntil int64 // as in Entry
}

func (x *Index) shown(doc uint32) Shown {
	d := &x.docs[doc]
	return Shown{ID: d.id, Name: d.name, Category: x.shared[d.category], CertifiedUntil: d.certified}
}

// All are all documents, by name.
func (x *Index) All() iter.Seq[Shown] {
	return func(yield func(Shown) bool) {
		for _, doc := range x.byName {
			if !yield(x.shown(doc)) {
				return
			}
		}
	}
}

// List gives the documents that have every facet, by name, those behind the place after;
// limit of them at most. More says that there are others behind them, total how many there
// are on all pages.
func (x *Index) List(facets []string, after *Shown, limit int) (page []Shown, total int, more bool) {
	keeps := func(uint32) bool { return true }
	total = x.Size()
	if len(facets) > 0 {
		work := scratches.Get().(*scratch)
		defer scratches.Put(work)
		work.fit(len(x.docs))
		for i, facet := range facets {
			x.narrow(work, facet, i == 0)
		}
		total = len(work.found)
		keeps = func(doc uint32) bool { return work.alive[doc] == work.turn }
	}
	from := 0
	if after != nil {
		from, _ = slices.BinarySearchFunc(x.byName, *after, func(doc uint32, after Shown) int {
			d := &x.docs[doc]
			if d.name < after.Name || d.name == after.Name && d.id <= after.ID {
				return -1
			}
			return 1
		})
	}
	for _, doc := range x.byName[from:] {
		if !keeps(doc) {
			continue
		}
		if len(page) == limit {
			return page, total, true
		}
		page = append(page, x.shown(doc))
	}
	return page, total, false
}

// Selection says which documents are selected, and in which order.
type Selection struct {
	// Text must stand in the name, the author, the description, the tags or the category;
	// ASCII letters match in either case. What it finds is in order of publication.
	Text      string
	Category  string // exactly; empty means any
	Certified *bool  // with a certificate that holds at Now, or without
	Now       int64  // as Entry.CertifiedUntil
	Sort      Sort   // without a text
	Offset    int
	Limit     int
}

// Select gives one page of a selection, and how many documents there are on all pages.
func (x *Index) Select(s Selection) (page []Shown, total int) {
	category, known := x.sharedAt[s.Category]
	if s.Category != "" && !known {
		return nil, 0
	}
	keeps := func(d *indexedDoc) bool {
		return (s.Category == "" || d.category == category) && (s.Certified == nil || *s.Certified == (d.certified >= s.Now))
	}
	if s.Text != "" {
		var ids []int64
		x.written.containing(s.Text, func(doc uint32) {
			if d := &x.docs[doc]; d.id != 0 && keeps(d) {
				ids = append(ids, d.id)
			}
		})
		slices.Sort(ids)
		from := min(s.Offset, len(ids))
		for _, id := range ids[from:min(from+s.Limit, len(ids))] {
			page = append(page, x.shown(x.byID[id]))
		}
		return page, len(ids)
	}
	docs := x.in(s.Sort)
	if s.Category == "" && s.Certified == nil {
		from := min(s.Offset, len(docs))
		for _, doc := range docs[from:min(from+s.Limit, len(docs))] {
			page = append(page, x.shown(doc))
		}
		return page, len(docs)
	}
	for _, doc := range docs {
		if !keeps(&x.docs[doc]) {
			continue
		}
		if total >= s.Offset && len(page) < s.Limit {
			page = append(page, x.shown(doc))
		}
		total++
	}
	return page, total
}
