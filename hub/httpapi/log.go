package httpapi

import (
	"net/http"
	"strconv"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
)

// The transparency log: /checkpoint and /tile/… for whoever reads logs in the form
// of C2SP tlog-tiles, /api/v1/log… for what those cannot say.

// reader finds out who reads a log. Without a key it is nobody, and the hub says
// whether nobody may.
func (a *api) reader(r *http.Request) (hub.Principal, error) {
	p, err := a.auth.Authenticate(r)
	if err != nil && len(r.Header.Values("Authorization"))+len(r.Header.Values("X-Api-Key")) == 0 {
		return hub.Principal{}, nil
	}
	return p, err
}

func (a *api) reading(serve func(*call, hub.Principal) error) func(*call) error {
	return func(c *call) error {
		p, err := a.reader(c.r)
		if err != nil {
			return err
		}
		return serve(c, p)
	}
}

func (a *api) checkpoint(c *call, p hub.Principal) error {
	note, err := a.hub.Checkpoint(c.r.Context(), p)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(note)))
	_, _ = c.w.Write(note)
	return nil
}

func (a *api) logTile(c *call, p hub.Principal) error {
	tile, err := translog.ParseTilePath("tile/" + c.r.PathValue("path"))
	if err != nil {
		return hubapi.Errorf(hubapi.NotFound, "%v", err)
	}
	data, err := a.hub.LogTile(c.r.Context(), p, tile)
	if err != nil {
		return err
	}
	if tile.Full() {
		c.w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	c.w.Header().Set("Content-Type", "application/octet-stream")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = c.w.Write(data)
	return nil
}

func (a *api) logState(c *call, p hub.Principal) error {
	return c.answer(a.hub.LogState(c.r.Context(), p))
}

// int64 is 0 for a parameter that is absent.
func (p params) int64(name string) (int64, error) {
	text, ok := p[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > translog.MaxSize {
		return 0, hubapi.Errorf(hubapi.Invalid, "the query parameter %s must be a number, not %.80q", name, text)
	}
	return n, nil
}

func (a *api) logProof(c *call, p hub.Principal) error {
	_, inclusion := c.q["index"]
	_, consistency := c.q["from"]
	if inclusion == consistency {
		return hubapi.Errorf(hubapi.Invalid, "a proof is of an index, or from a size: one of the two must be given")
	}
	size, err := c.q.int64("size")
	if err != nil {
		return err
	}
	name, prove := "index", a.hub.LogInclusion
	if consistency {
		name, prove = "from", a.hub.LogConsistency
	}
	at, err := c.q.int64(name)
	if err != nil {
		return err
	}
	return c.answer(prove(c.r.Context(), p, at, size))
}

func (a *api) logEntries(c *call, p hub.Principal) error {
	var ref hubapi.Ref
	if name, ok := c.q["name"]; ok {
		var err error
		if ref, err = hubapi.ParseRef(name); err != nil {
			return hubapi.Errorf(hubapi.Invalid, "the query parameter name: %v", err)
		}
	}
	first, err := c.q.int64("first")
	if err != nil {
		return err
	}
	limit, err := c.q.number("limit")
	if err != nil {
		return err
	}
	return c.answer(a.hub.LogEntries(c.r.Context(), p, ref, first, limit))
}

func (a *api) logReleases(c *call, p hub.Principal) error {
	after, err := c.q.int64("after")
	if err != nil {
		return err
	}
	limit, err := c.q.number("limit")
	if err != nil {
		return err
	}
	return c.answer(a.hub.LogReleases(c.r.Context(), p, after, limit))
}
