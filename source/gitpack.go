package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/kortecx/kx/hubapi"
)

// maxChain bounds how many differences an object may be made of.
const maxChain = 4095

// unpack reads a pack as a git server sends it into memory. The library's own reader
// believes what the pack says about sizes; this one adds up what it says, and what
// differences make of it, before it unpacks anything.
func unpack(ctx context.Context, packed []byte, limits Limits) (storer.EncodedObjectStorer, error) {
	u := &unpacker{ctx: ctx, scan: packfile.NewScanner(bytes.NewReader(packed)), limits: limits, store: memory.NewStorage(), at: map[int64]*packedObject{}, by: map[plumbing.Hash]*packedObject{}}
	_, n, err := u.scan.Header()
	if err != nil {
		return nil, err
	}
	if int64(n) > int64(limits.Objects) {
		return nil, fail(hubapi.TooLarge, "source.too-many", "the repository has %d objects, %d are read at most", n, limits.Objects)
	}
	for range n {
		if err := u.next(); err != nil {
			return nil, err
		}
	}
	if sum, err := u.scan.Checksum(); err != nil && !errors.Is(err, io.EOF) || sum.IsZero() {
		return nil, errors.New("the pack ends early")
	}
	for _, o := range u.deltas {
		if err := u.resolve(o); err != nil {
			return nil, err
		}
	}
	return u.store, nil
}

// packedObject is one object of a pack; a difference has a base.
type packedObject struct {
	kind plumbing.ObjectType
	data []byte // of a difference its instructions, until it is resolved

	base   *packedObject
	byHash plumbing.Hash // the base of a difference that names it so
	delta  bool
}

type unpacker struct {
	ctx    context.Context
	scan   *packfile.Scanner
	limits Limits
	store  *memory.Storage
	size   int64
	at     map[int64]*packedObject
	by     map[plumbing.Hash]*packedObject
	deltas []*packedObject
}

// grow accounts for n bytes more.
func (u *unpacker) grow(n int64) error {
	if n < 0 || n > u.limits.Bytes-u.size {
		return fail(hubapi.TooLarge, "fetch.too-large", "the repository unpacks to more than %d MiB", u.limits.Bytes>>20)
	}
	u.size += n
	return nil
}

func (u *unpacker) next() error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	h, err := u.scan.NextObjectHeader()
	if err != nil {
		return err
	}
	if err := u.grow(h.Length); err != nil {
		return err
	}
	var buf bytes.Buffer
	buf.Grow(int(min(h.Length, 1<<20)))
	n, _, err := u.scan.NextObject(&buf)
	if err != nil {
		return err
	}
	if n != h.Length {
		return errors.New("an object is shorter than it says")
	}
	o := &packedObject{kind: h.Type, data: buf.Bytes()}
	u.at[h.Offset] = o
	switch h.Type {
	case plumbing.OFSDeltaObject:
		o.delta, o.base = true, u.at[h.OffsetReference]
		if o.base == nil {
			return errors.New("a difference to nothing")
		}
	case plumbing.REFDeltaObject:
		o.delta, o.byHash = true, h.Reference
	default:
		return u.keep(o)
	}
	u.deltas = append(u.deltas, o)
	return nil
}

// keep puts a whole object into the store.
func (u *unpacker) keep(o *packedObject) error {
	m := &plumbing.MemoryObject{}
	m.SetType(o.kind)
	if _, err := m.Write(o.data); err != nil {
		return err
	}
	h, err := u.store.SetEncodedObject(m)
	u.by[h] = o
	return err
}

// resolve applies a difference, and those that its base is made of before it.
func (u *unpacker) resolve(o *packedObject) error {
	var chain []*packedObject
	for o.delta {
		if chain = append(chain, o); len(chain) > maxChain {
			return errors.New("differences nest too deep")
		}
		if o.base == nil {
			if o.base = u.by[o.byHash]; o.base == nil {
				o.base = u.pending(o.byHash)
			}
			if o.base == nil {
				return fmt.Errorf("a difference to %s, which is not there", o.byHash)
			}
		}
		o = o.base
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		d := chain[i]
		size, err := resultSize(d.data)
		if err != nil {
			return err
		}
		if err := u.grow(size); err != nil {
			return err
		}
		data, err := packfile.PatchDelta(d.base.data, d.data)
		if err != nil {
			return err
		}
		d.kind, d.data, d.delta, d.base = d.base.kind, data, false, nil
		if err := u.keep(d); err != nil {
			return err
		}
	}
	return nil
}

// pending looks for a base among differences that were not resolved yet: it is done
// by resolving all that can be. Servers order objects so that this never happens.
func (u *unpacker) pending(want plumbing.Hash) *packedObject {
	for changed := true; changed; {
		changed = false
		for _, o := range u.deltas {
			if o.delta && (o.base != nil && !o.base.delta || o.base == nil && u.by[o.byHash] != nil) {
				if u.resolve(o) != nil {
					return nil
				}
				changed = true
			}
		}
		if o := u.by[want]; o != nil {
			return o
		}
	}
	return nil
}

// resultSize reads how large the result of a difference is: the second number in it.
func resultSize(delta []byte) (int64, error) {
	rest := delta
	var size uint64
	for range 2 {
		size = 0
		for shift := 0; ; shift += 7 {
			if len(rest) == 0 || shift > 56 {
				return 0, errors.New("a difference without a size")
			}
			b := rest[0]
			rest = rest[1:]
			size |= uint64(b&0x7f) << shift
			if b < 0x80 {
				break
			}
		}
	}
	return int64(size), nil
}
