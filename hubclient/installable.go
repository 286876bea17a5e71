package hubclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

// maxInstallable bounds the answer to Installable, in bytes.
const maxInstallable = 64 << 20

// InstallableAsk is one request for the skills that a node should have.
type InstallableAsk struct {
	TenantID string // empty: that of the key; other hubs than ours want one
	FleetID  string
	// ETag of the answer that the caller still has; empty asks for a new one.
	ETag string
}

// InstallableAnswer is the catalogue that a hub gives to a node, row by row.
type InstallableAnswer struct {
	Unchanged bool // the caller's ETag still holds; nothing else is set
	Rows      []InstallableRow
	ETag      string
	// Generation and Total are what a hub of ours says of its catalogue: how often
	// it changed, and how many rows it has. Nil where the hub does not say.
	Generation *int64
	Total      *int
}

// InstallableRow is one row. What a row of a catalogue must be is not decided here;
// Fault says why the row cannot be read as one at all.
type InstallableRow struct {
	DocID      string          `json:"doc_id"`
	TenantID   string          `json:"tenant_id"`
	FleetID    *string         `json:"fleet_id"`
	Collection string          `json:"collection"`
	Data       InstallableData `json:"data"`

	Fault string `json:"-"`
}

// InstallableData is what a row says of its skill.
type InstallableData struct {
	Name        *string              `json:"name"`
	Description *string              `json:"description"`
	Content     *string              `json:"content"`
	ContentHash *string              `json:"content_hash"`
	Status      *string              `json:"status"` // absent counts as active
	KX          *hubapi.SkillRelease `json:"kx"`
}

// Installable asks for the catalogue of a node: POST skills/installable. Anything
// but a list of rows, or the answer that nothing changed, is an error: an answer
// that is empty, cut or from another program never looks like a catalogue without
// skills.
func (c *Client) Installable(ctx context.Context, ask InstallableAsk) (InstallableAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, longer*c.timeout)
	defer cancel()
	out, err := c.installable(ctx, ask)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return InstallableAnswer{}, c.tooSlow(longer * c.timeout)
	case ctx.Err() != nil:
		return InstallableAnswer{}, hubapi.Errorf(hubapi.Interrupted, "interrupted")
	}
	if e, ok := errors.AsType[*hubapi.Error](err); ok {
		return InstallableAnswer{}, e
	}
	return InstallableAnswer{}, c.unreachable(err)
}

func (c *Client) installable(ctx context.Context, ask InstallableAsk) (InstallableAnswer, error) {
	limit := hubapi.MaxInstallable
	body, err := json.Marshal(struct {
		TenantID string `json:"tenant_id,omitempty"`
		FleetID  string `json:"fleet_id,omitempty"`
		Limit    *int   `json:"limit"`
	}{ask.TenantID, ask.FleetID, &limit})
	if err != nil {
		return InstallableAnswer{}, err
	}
	r, err := c.newRequest(ctx, request{method: http.MethodPost, path: []string{"skills", "installable"}, body: body, kind: typeJSON})
	if err != nil {
		return InstallableAnswer{}, err
	}
	if ask.ETag != "" {
		r.Header.Set("If-None-Match", ask.ETag)
	}
	resp, err := c.send(r)
	if err != nil {
		return InstallableAnswer{}, err
	}
	most := maxInstallable
	if resp.StatusCode != http.StatusOK {
		most = maxRefusal
	}
	data, err := c.read(resp, most)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	switch {
	case resp.StatusCode == http.StatusNotModified && ask.ETag != "":
		return InstallableAnswer{Unchanged: true}, nil
	case resp.StatusCode != http.StatusOK:
		return InstallableAnswer{}, c.refusal(resp, data) // whatever became of the rest of it
	case err != nil:
		return InstallableAnswer{}, err
	case mediaType(resp) != typeJSON:
		return InstallableAnswer{}, fetchError(hubapi.Internal, "fetch.type", "the server at %s answers with %q where a hub answers with %q", c.base.Redacted(), mediaType(resp), typeJSON).
			WithHint("is this the address of a hub?")
	}
	out := InstallableAnswer{ETag: resp.Header.Get("ETag")}
	if out.Rows, err = installableRows(data); err != nil {
		return InstallableAnswer{}, err
	}
	out.Generation, out.Total = wholeNumber(resp, hubapi.HeaderGeneration), nil
	if total := wholeNumber(resp, hubapi.HeaderTotal); total != nil {
		n := int(*total)
		out.Total = &n
	}
	return out, nil
}

// installableRows reads [row, ...] or {"documents": [row, ...]}.
func installableRows(data []byte) ([]InstallableRow, error) {
	notList := func(err error) error {
		return fetchError(hubapi.Internal, "fetch.type", "the hub's answer is no list of skills: %v", err).
			WithHint("nothing was changed; is this the address of a hub?")
	}
	raws, err := strictjson.Elements(data, "documents")
	if err != nil {
		return nil, notList(err)
	}
	if raws == nil {
		return nil, notList(errors.New("it is null, or an object without documents"))
	}
	if len(raws) > hubapi.MaxInstallable {
		return nil, fetchError(hubapi.Internal, "fetch.too-large", "the hub sent %d skills, at most %d were asked for", len(raws), hubapi.MaxInstallable)
	}
	rows := make([]InstallableRow, len(raws))
	for i, raw := range raws {
		if err := strictjson.UnmarshalLax(raw, &rows[i]); err != nil {
			rows[i] = InstallableRow{DocID: idOfRow(raw), Fault: "it cannot be read: " + err.Error()}
		}
	}
	return rows, nil
}

// idOfRow tells which row it is that cannot be read; empty when even that is not
// to be found out.
func idOfRow(raw []byte) string {
	var row struct {
		DocID string `json:"doc_id"`
	}
	_ = strictjson.UnmarshalLax(raw, &row)
	return row.DocID
}

// wholeNumber reads a header; what is no number counts as not said.
func wholeNumber(resp *http.Response, header string) *int64 {
	n, err := strconv.ParseInt(resp.Header.Get(header), 10, 63)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}
