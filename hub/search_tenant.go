package hub

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kortecx/kx/hub/search"
	"github.com/kortecx/kx/hubapi"
)

// maxCards is how many items of answers are kept ready for a tenant.
const maxCards = 4096

// indexes are the search indexes of a hub, one for each tenant that was searched.
type indexes struct {
	mu       sync.Mutex
	byTenant map[string]*tenantIndex
}

func (i *indexes) of(tenant string) *tenantIndex {
	i.mu.Lock()
	defer i.mu.Unlock()
	t := i.byTenant[tenant]
	if t == nil {
		if i.byTenant == nil {
			i.byTenant = map[string]*tenantIndex{}
		}
		t = &tenantIndex{tenant: tenant, cards: map[int64]*card{}}
		i.byTenant[tenant] = t
	}
	return t
}

// tenantIndex is the index of one tenant with what keeps it current. The documents
// and the number of their last change are in the store, written in the transaction
// that makes a release active or ends that; every search first reads the number,
// in a view that begins after the search did, and takes in what is new. So an
// answer knows everything that was acknowledged before it was asked for, whichever
// server over the same database did it.
type tenantIndex struct {
	tenant string

	update sync.Mutex // held by whoever brings the index up to date
	// mu lets many search, or one change; change is that of the store up to which
	// the index is.
	mu     sync.RWMutex
	index  *search.Index
	change int64
	broken bool // the index is to be read anew; guarded by update
	// known is the store's mark, plus one, up to which the index is.
	known atomic.Int64

	waitMu  sync.Mutex
	waiting *check

	meanings search.Meanings
	meant    atomic.Int64 // the change up to which meanings are

	cardMu sync.RWMutex
	cards  map[int64]*card
}

// card is what answers show of a release.
type card struct {
	hubapi.SearchItem
	description string
}

// check is one look at the store that several searches wait for together.
type check struct {
	done chan struct{}
	err  error
}

// current is the index of a tenant. It knows all that was acknowledged before the call.
func (h *Hub) current(ctx context.Context, tenant string) (*tenantIndex, error) {
	t := h.indexes.of(tenant)
	return t, h.refresh(ctx, t)
}

// refresh makes the index know all that was acknowledged before the call.
// Searches that arrive while a look is under way share the next one.
func (h *Hub) refresh(ctx context.Context, t *tenantIndex) error {
	if mark, alone := h.store.Mark(); alone && t.known.Load() == mark+1 {
		return nil
	}
	for {
		t.waitMu.Lock()
		c := t.waiting
		leads := c == nil
		if leads {
			c = &check{done: make(chan struct{})}
			t.waiting = c
		}
		t.waitMu.Unlock()
		if leads {
			t.update.Lock()
			t.waitMu.Lock()
			t.waiting = nil // who comes now needs a later look
			t.waitMu.Unlock()
			c.err = h.catchUp(ctx, t)
			t.update.Unlock()
			close(c.done)
			return c.err
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if c.err == nil {
			return nil
		}
		// It may have failed for what concerns its leader only.
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// catchUp takes in what changed. The caller holds update.
func (h *Hub) catchUp(ctx context.Context, t *tenantIndex) error {
	mark, alone := h.store.Mark() // before the look: what is written meanwhile is looked at next time
	change := int64(-1)
	var err error
	if t.index != nil && !t.broken {
		err = h.store.Look(ctx, func(r Reader) (err error) {
			change, err = r.SearchChange(t.tenant)
			return err
		})
	}
	if err == nil && change != t.change {
		err = h.takeIn(ctx, t)
	}
	if err == nil && alone {
		t.known.Store(mark + 1)
	}
	return err
}

// takeIn reads what changed, or everything. The caller holds update.
func (h *Hub) takeIn(ctx context.Context, t *tenantIndex) error {
	var (
		docs   []SearchDoc
		change int64
		whole  *search.Index
		stale  []int64
	)
	err := h.store.Read(ctx, func(r Reader) (err error) {
		docs, whole, stale = nil, nil, nil
		if change, err = r.SearchChange(t.tenant); err != nil {
			return err
		}
		if t.index == nil || t.broken || change < t.change { // the store went back to a backup
			whole, stale, err = loadIndex(r, t.tenant)
			return err
		}
		err = r.SearchDocs(t.tenant, t.change, func(d SearchDoc) error {
			docs = append(docs, d)
			return nil
		})
		if err != nil {
			return err
		}
		return mend(r, docs)
	})
	if err != nil {
		return err
	}
	switch {
	case whole != nil:
		t.mu.Lock()
		t.index, t.change, t.broken = whole, change, false
		t.mu.Unlock()
		h.restore(ctx, stale)
	case change > t.change:
		return t.apply(docs, change)
	}
	return nil
}

// loadIndex reads the documents of a tenant into a new index.
func loadIndex(r Reader, tenant string) (x *search.Index, stale []int64, err error) {
	x = search.New()
	var anew []SearchDoc
	err = r.SearchDocs(tenant, 0, func(d SearchDoc) error {
		if d.Data == nil {
			return nil
		}
		if search.Stale(d.Data) {
			stale, anew = append(stale, d.Release), append(anew, d)
			return nil
		}
		return x.Put(entryOf(d))
	})
	if err != nil {
		return nil, nil, err
	}
	for _, d := range anew {
		if d.Data, err = documentNow(r, d.Release); err != nil {
			return nil, nil, err
		}
		if d.Data == nil {
			continue
		}
		if err := x.Put(entryOf(d)); err != nil {
			return nil, nil, err
		}
	}
	x.Settle()
	return x, stale, nil
}

// entryOf is a document as an index takes it in.
func entryOf(d SearchDoc) search.Entry {
	e := search.Entry{
		ID: d.Release, Data: d.Data, Version: d.Version, Author: d.Author, Description: d.Description, Tags: d.Tags, Category: d.Category,
	}
	if !d.CertifiedUntil.IsZero() {
		e.CertifiedUntil = d.CertifiedUntil.UnixMicro()
	}
	return e
}

// documentNow is the document that this program makes of an active release.
func documentNow(r Reader, seq int64) ([]byte, error) {
	rows, err := r.ReleasesBySeq([]int64{seq})
	if err != nil || len(rows) == 0 || rows[0].Status != hubapi.Active {
		return nil, err
	}
	return documentOf(r, rows[0])
}

// mend replaces documents of another version, such as a server of the release
// before writes while both run.
func mend(r Reader, docs []SearchDoc) error {
	for i, d := range docs {
		if d.Data == nil || !search.Stale(d.Data) {
			continue
		}
		data, err := documentNow(r, d.Release)
		if err != nil {
			return err
		}
		docs[i].Data = data
	}
	return nil
}

// restore stores documents that an older program, or none, had written, so that
// they are made once. What cannot be stored is made again at the next start.
func (h *Hub) restore(ctx context.Context, stale []int64) {
	const batch = 100
	for len(stale) > 0 {
		n := min(batch, len(stale))
		err := h.write(ctx, func(w Writer) error {
			for _, seq := range stale[:n] {
				rows, err := w.ReleasesBySeq([]int64{seq})
				if err != nil {
					return err
				}
				if len(rows) == 1 && rows[0].Status == hubapi.Active {
					if err := putDocument(w, rows[0]); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return
		}
		stale = stale[n:]
	}
}

// apply takes documents in and out. The caller holds update.
func (t *tenantIndex) apply(docs []SearchDoc, change int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.index
	var failed error
	for _, d := range docs {
		x.Remove(d.Release)
		if d.Data == nil {
			t.forget(d.Release)
			continue
		}
		if err := x.Put(entryOf(d)); err != nil {
			failed = err
		}
	}
	x.Settle()
	if x.Sparse() {
		t.index = x.Compacted()
	}
	if failed != nil {
		t.broken = true
		return failed
	}
	t.change = change
	return nil
}

func (t *tenantIndex) forget(seq int64) {
	t.cardMu.Lock()
	delete(t.cards, seq)
	t.cardMu.Unlock()
}

// cards are those of releases, in their order; nil for a release that the store does not
// have any more.
func (h *Hub) cards(ctx context.Context, t *tenantIndex, seqs []int64) ([]*card, error) {
	out := make([]*card, len(seqs))
	var missing []int64
	t.cardMu.RLock()
	for i, seq := range seqs {
		if out[i] = t.cards[seq]; out[i] == nil {
			missing = append(missing, seq)
		}
	}
	t.cardMu.RUnlock()
	if len(missing) == 0 {
		return out, nil
	}
	// They are looked at after the index learnt of them, so they are there; what may have
	// changed since is only that they are active. So one view of all is not needed.
	var rows []ReleaseRow
	err := h.store.Look(ctx, func(r Reader) (err error) {
		rows, err = r.ReleasesBySeq(missing)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.cardMu.Lock()
	defer t.cardMu.Unlock()
	fetched := make(map[int64]*card, len(rows))
	for _, row := range rows {
		row.Status = hubapi.Active
		made := &card{searchItem(row), row.Description}
		fetched[row.Seq] = made
		if len(t.cards) >= maxCards {
			clear(t.cards)
		}
		t.cards[row.Seq] = made
	}
	for i, seq := range seqs {
		if out[i] == nil {
			out[i] = fetched[seq]
		}
	}
	return out, nil
}

// LoadSearch reads the search indexes of all tenants into memory, which the first
// search of a tenant does otherwise. A server calls it when it starts.
func (h *Hub) LoadSearch(ctx context.Context) error {
	var tenants []string
	err := h.read(ctx, func(r Reader) (err error) {
		tenants, err = r.SearchTenants()
		return err
	})
	for _, tenant := range tenants {
		if err != nil {
			return err
		}
		_, refreshed := h.current(ctx, tenant)
		err = refusal(refreshed)
	}
	return err
}
