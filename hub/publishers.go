package hub

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
	"github.com/kortecx/kx/sign"
)

// PublisherReader is the part of Reader about authors' lists of keys.
type PublisherReader interface {
	// Publishers are an author's versions behind after, oldest first.
	Publishers(tenant, author string, after int64, limit int) ([]PublisherRow, error)
	LastPublisher(tenant, author string) (PublisherRow, error)
}

// PublisherWriter is the part of Writer about authors' lists of keys.
type PublisherWriter interface {
	// AddPublisher adds a version. It must be free.
	AddPublisher(PublisherRow) error
}

// PublisherRow is one version of an author's list of keys.
type PublisherRow struct {
	Tenant   string
	Author   string
	Version  int64
	Envelope []byte // as it was sent
	AddedAt  time.Time
	AddedBy  string
}

const (
	actPublisher      = "publisher"
	publisherPage     = 50
	maxPublisherChain = 10_000
)

// PutPublisher adds the next version of an author's list of keys, for who may publish
// under that name: not for an agent, which could lock the person out. It has to follow
// from the version before (sign.Publication.Follow). The same version again is no
// error. The log gets an entry for it and one for every key that it revokes, in the
// same transaction.
func (h *Hub) PutPublisher(ctx context.Context, p Principal, author string, data []byte) (out hubapi.PublisherChain, err error) {
	if err := p.check(); err != nil {
		return out, err
	}
	if !p.reviews() && p.Role != Publisher {
		return out, hubapi.Errorf(hubapi.Forbidden, "the role %s does not publish keys", p.Role)
	}
	if _, err := p.author(author, ""); err != nil {
		return out, err
	}
	if len(data) > hubapi.MaxPublisher {
		return out, publisherError(hubapi.TooLarge, sign.IDTooLarge, "a list of keys has at most "+strconv.Itoa(hubapi.MaxPublisher>>10)+" KiB")
	}
	next, err := sign.ReadPublication(data)
	if err != nil {
		return out, publisherRefusal(err)
	}
	if next.Document.Owner != author {
		return out, publisherError(hubapi.Invalid, sign.IDRotateInvalid, "the list is of the keys of "+next.Document.Owner+", not of "+author)
	}
	if err := next.Valid(h.now()); err != nil {
		return out, publisherRefusal(err)
	}
	err = h.write(ctx, func(w Writer) error {
		var before sign.Publication
		row, err := w.LastPublisher(p.Tenant, author)
		switch {
		case errors.Is(err, ErrNoRow):
			if next.Document.Version != 1 {
				return publisherError(hubapi.Conflict, sign.IDRotateChain, "the first version of the keys of "+author+" is 1")
			}
		case err != nil:
			return err
		default:
			if before, err = sign.ReadPublication(row.Envelope); err != nil {
				return err
			}
			if before.Sum() == next.Sum() {
				return nil
			}
			if _, err := before.Follow(next); err != nil {
				return publisherRefusal(err)
			}
			if next.Document.Version > maxPublisherChain {
				return publisherError(hubapi.Invalid, sign.IDRotateInvalid, "the keys of "+author+" have too many versions")
			}
		}
		if err := w.AddPublisher(PublisherRow{
			Tenant: p.Tenant, Author: author, Version: next.Document.Version, Envelope: data, AddedAt: h.now(), AddedBy: p.ID,
		}); err != nil {
			return err
		}
		if err := h.logPublisher(w, p, before.Document, next); err != nil {
			return err
		}
		return w.AddAudit(AuditRow{
			Tenant: p.Tenant, At: h.now(), Principal: p.ID, Action: actPublisher, Author: author,
			Version: strconv.FormatInt(next.Document.Version, 10), Digest: "sha256:" + next.Sum(),
		})
	})
	if err != nil {
		return out, err
	}
	return hubapi.PublisherChain{Author: author, Version: next.Document.Version, Items: []json.RawMessage{data}}, nil
}

// logPublisher writes what changed about an author's keys into the log.
func (h *Hub) logPublisher(w Writer, p Principal, before sign.PublisherDocument, next sign.Publication) error {
	entries := []translog.Entry{{Op: translog.Publisher, Digest: "sha256:" + next.Sum(), KeyID: translog.None}}
	for _, r := range next.Document.Revoked {
		if !slices.Contains(before.Revoked, r) {
			entries = append(entries, translog.Entry{Op: translog.Revoke, Digest: translog.None, KeyID: r.ID})
		}
	}
	for _, e := range entries {
		e.Name, e.Version, e.Time = next.Document.Owner, strconv.FormatInt(next.Document.Version, 10), h.now()
		leaf, err := e.Marshal()
		if err != nil {
			return logError(err)
		}
		index, err := w.AppendLog(p.Tenant, LogRow{Entry: leaf, Op: string(e.Op), Name: e.Name, Principal: p.ID})
		if err != nil {
			return err
		}
		if index > 0 {
			continue
		}
		// It is the first entry, so that the releases of before follow it.
		if err := h.logEarlier(w, p, ReleaseRow{Tenant: p.Tenant}); err != nil {
			return err
		}
	}
	return nil
}

// PublisherChain gives an author's lists of keys behind a version, oldest first.
// Whoever may read the hub's log may read them.
func (h *Hub) PublisherChain(ctx context.Context, p Principal, author string, after int64) (out hubapi.PublisherChain, err error) {
	if err := hubapi.CheckAuthor(author); err != nil {
		return out, err
	}
	err = h.read(ctx, func(r Reader) error {
		tenant, err := logTenant(r, p)
		if err != nil {
			return err
		}
		last, err := r.LastPublisher(tenant.ID, author)
		if errors.Is(err, ErrNoRow) {
			return hubapi.Errorf(hubapi.NotFound, "the author %q has published no keys", author)
		}
		if err != nil {
			return err
		}
		rows, err := r.Publishers(tenant.ID, author, after, publisherPage)
		out = hubapi.PublisherChain{Author: author, Version: last.Version, Items: []json.RawMessage{}}
		for _, row := range rows {
			out.Items = append(out.Items, row.Envelope)
		}
		return err
	})
	return out, err
}

func publisherError(code hubapi.Code, id, text string) error {
	return hubapi.Errorf(code, "%s", text).With(hubapi.Detail{ID: id, Message: text})
}

// publisherRefusal words a refusal of package sign: what does not fit to what is
// there is a conflict.
func publisherRefusal(err error) error {
	e, ok := errors.AsType[*sign.Error](err)
	if !ok {
		return err
	}
	code := hubapi.Invalid
	if slices.Contains([]string{sign.IDRotateChain, sign.IDRotateFork, sign.IDRotateRollback}, e.ID) {
		code = hubapi.Conflict
	}
	return publisherError(code, e.ID, e.Text)
}
