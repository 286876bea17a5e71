package hubclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
)

// LogState describes the log that the caller reads. It is what the hub says: only
// OpenLog believes none of it.
func (c *Client) LogState(ctx context.Context) (hubapi.Log, error) {
	var out hubapi.Log
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"log"}}, &out)
	return out, err
}

// LogEntries lists entries of the log from first on: those about ref, or all when
// it has no name. Limit 0 is the hub's default.
func (c *Client) LogEntries(ctx context.Context, ref hubapi.Ref, first int64, limit int) (hubapi.LogEntries, error) {
	query := url.Values{"first": {strconv.FormatInt(first, 10)}}
	setLimit(query, limit)
	if ref.Name != "" {
		query.Set("name", ref.String())
	}
	var out hubapi.LogEntries
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"log", "entries"}, query: query, limit: maxList}, &out)
	return out, err
}

// LastLogEntries lists the last n entries of the log from first on that are about
// ref, or all when it has no name. It reads page after page, within the time of one
// call.
func (c *Client) LastLogEntries(ctx context.Context, ref hubapi.Ref, first int64, n int) ([]hubapi.LogEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	out := []hubapi.LogEntry{}
	for range maxPages {
		page, err := c.LogEntries(ctx, ref, first, logPage)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		out = out[max(0, len(out)-n):]
		if page.Next == nil {
			return out, nil
		}
		if *page.Next <= first {
			return nil, fetchError(hubapi.Internal, "fetch.type", "the hub's list of log entries does not go on behind entry %d", first)
		}
		first = *page.Next
	}
	return nil, fetchError(hubapi.Internal, "fetch.too-large", "the hub's list of log entries has more than %d pages", maxPages)
}

// logProof fetches a proof: of the entry at, or from the size at.
func (c *Client) logProof(ctx context.Context, of string, at, size int64) ([]translog.Hash, error) {
	var answer hubapi.LogProof
	err := c.call(ctx, request{method: http.MethodGet, path: []string{"log", "proof"}, query: url.Values{
		of: {strconv.FormatInt(at, 10)}, "size": {strconv.FormatInt(size, 10)},
	}}, &answer)
	if err != nil {
		return nil, err
	}
	const most = 128 // twice the depth of the largest tree
	if len(answer.Hashes) > most {
		return nil, logError(&translog.Error{ID: translog.IDProof, Text: "the hub's proof is too long"})
	}
	out := make([]translog.Hash, len(answer.Hashes))
	for i, text := range answer.Hashes {
		if out[i], err = translog.ParseHash(text); err != nil {
			return nil, logError(&translog.Error{ID: translog.IDProof, Text: "the hub's proof cannot be read: " + err.Error()})
		}
	}
	return out, nil
}

// logError puts a refusal of the log's formats into the vocabulary.
func logError(err error) error {
	e, ok := errors.AsType[*translog.Error](err)
	if !ok {
		return err
	}
	return fetchError(hubapi.Internal, e.ID, "%s", e.Text)
}

// LogView is a log at one checkpoint that was verified.
type LogView struct {
	Checkpoint translog.Checkpoint
	VKey       string
	Note       []byte // the signed checkpoint
	// Before is the checkpoint that was remembered, nil on the first sight of this
	// log. Checkpoint continues it.
	Before *translog.Checkpoint

	client *Client
}

// OpenLog fetches the log's checkpoint and verifies it: the signature by the key
// that was remembered, or shown on the first sight; that it is the log which this
// caller saw before; that it continues what was seen. A log that does not is
// refused, with both notes kept as evidence. The new checkpoint is remembered.
//
// A hub without a log is an error with the id log.missing.
func (c *Client) OpenLog(ctx context.Context) (*LogView, error) { return c.openLog(ctx, c.memory) }

// PeekLog is OpenLog without a memory: it compares with nothing and keeps nothing,
// which is enough for a hub that nobody but its own user can have changed.
func (c *Client) PeekLog(ctx context.Context) (*LogView, error) { return c.openLog(ctx, nil) }

// Own tells whether the hub is the user's own.
func (c *Client) Own() bool { return c.own }

func (c *Client) openLog(ctx context.Context, memory *LogMemory) (*LogView, error) {
	seen := &remembered{}
	if memory != nil {
		var err error
		if seen, err = memory.load(); err != nil {
			return nil, err
		}
	}
	state, err := c.LogState(ctx)
	if e, ok := errors.AsType[*hubapi.Error](err); ok && (e.Code == hubapi.NotFound || e.Code == hubapi.Unsupported) {
		missing := fetchError(hubapi.Unsupported, translog.IDMissing, "the hub at %s has no log", c.base.Redacted())
		if len(seen.Logs) > 0 {
			missing = fetchError(hubapi.Internal, translog.IDMissing, "the hub at %s has no log any more, it had one before", c.base.Redacted())
		}
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	note, err := c.do(ctx, request{method: http.MethodGet, path: []string{"checkpoint"}, top: true, accept: "text/plain"})
	if err != nil {
		return nil, err
	}
	view := &LogView{VKey: state.VKey, Note: note, client: c}
	before, err := view.check(ctx, seen, c.caller())
	if err != nil {
		return nil, c.keepEvidence(memory, err, before, state.VKey, note)
	}
	if memory != nil {
		now := rememberedLog{Origin: view.Checkpoint.Origin, VKey: view.VKey, Checkpoint: string(note)}
		if err := memory.save(c.base.Redacted(), c.caller(), now, view.Checkpoint.Size); err != nil {
			return nil, err
		}
	}
	return view, nil
}

// caller stands for the key of this client in a memory.
func (c *Client) caller() string {
	switch {
	case c.own:
		return "own"
	case c.token == "":
		return "none"
	}
	sum := sha256.Sum256([]byte("kx-log-caller\n" + c.token))
	return hex.EncodeToString(sum[:8])
}

// check verifies the note of a view against what was seen of the hub before, and
// gives what it was held against.
func (v *LogView) check(ctx context.Context, seen *remembered, caller string) (before *rememberedLog, err error) {
	origin, key, err := translog.SplitVerifierKey(v.VKey)
	if err != nil {
		return nil, err
	}
	if len(seen.Logs) > 0 {
		// All logs of a hub have one host and one key, and a caller has one log.
		before = &seen.Logs[0]
		if expected := seen.log(first(seen.Callers[caller], origin)); expected != nil {
			before = expected
		}
		firstOrigin, firstKey, err := translog.SplitVerifierKey(before.VKey)
		if err != nil {
			return before, err
		}
		switch {
		case seen.Callers[caller] != "" && origin != seen.Callers[caller], hostOf(origin) != hostOf(firstOrigin):
			return before, &translog.Error{ID: translog.IDOrigin, Text: "the hub's log calls itself " + strconv.Quote(origin) + ", it was " + strconv.Quote(before.Origin) + " before"}
		case key != firstKey:
			return before, &translog.Error{ID: translog.IDUnsigned, Text: "the hub shows another key for its log than before"}
		}
	}
	if v.Checkpoint, err = translog.OpenCheckpoint(v.Note, v.VKey); err != nil {
		return before, err
	}
	if before = seen.log(origin); before == nil {
		return nil, nil
	}
	old, err := translog.OpenCheckpoint([]byte(before.Checkpoint), before.VKey)
	if err != nil {
		return nil, hubapi.Errorf(hubapi.Usage, "the checkpoint that was remembered of %s is not one of its: %v", origin, err)
	}
	v.Before = &old
	return before, translog.CheckConsistency(old, v.Checkpoint, func(from, to int64) ([]translog.Hash, error) {
		return v.client.logProof(ctx, "from", from, to)
	})
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func hostOf(origin string) string {
	host, _, _ := strings.Cut(origin, "/")
	return host
}

// keepEvidence turns a refusal into the error that the caller gets, and keeps what
// shows it where there was something to compare with.
func (c *Client) keepEvidence(memory *LogMemory, err error, before *rememberedLog, vkey string, note []byte) error {
	e, ok := errors.AsType[*translog.Error](err)
	if !ok {
		return err
	}
	out := hubapi.AsError(logError(err))
	if before == nil || memory == nil {
		return out
	}
	file, err := memory.keep(evidence{
		ID: e.ID, Text: e.Text, Endpoint: c.base.Redacted(),
		VKey: before.VKey, VKeyShown: vkey, Before: before.Checkpoint, Now: string(note),
	})
	if err != nil {
		return out.WithHint("do not trust what this hub says; the evidence could not be kept: %v", err)
	}
	return out.WithHint("do not trust what this hub says until its operator explains it; both notes are in %s. If it was put back from a backup on purpose, remove %s", file, memory.file())
}

// ProvenRelease is a release whose entry was proven to be in a log.
type ProvenRelease struct {
	Entry  string // the exact leaf
	Parsed translog.Entry
	Proof  translog.Proof
}

// ProveRelease proves that the log has the entry about release that the hub names,
// and that it says the same as the hub. Release comes from Client.Release, before
// the log was opened.
func (v *LogView) ProveRelease(ctx context.Context, release hubapi.Release) (ProvenRelease, error) {
	out, err := v.proveRelease(ctx, release)
	return out, logError(err)
}

func (v *LogView) proveRelease(ctx context.Context, release hubapi.Release) (out ProvenRelease, err error) {
	if release.LogIndex == nil {
		return out, &translog.Error{ID: translog.IDMissing, Text: "the hub has " + release.Ref() + ", but its log does not"}
	}
	index := *release.LogIndex
	page, err := v.client.LogEntries(ctx, hubapi.Ref{}, index, 1)
	if err != nil {
		return out, err
	}
	if len(page.Items) != 1 || page.Items[0].Index != index {
		return out, &translog.Error{ID: translog.IDMissing, Text: "the hub names a log entry for " + release.Ref() + " that it does not have"}
	}
	out.Entry = page.Items[0].Entry
	if out.Parsed, err = translog.ParseEntry([]byte(out.Entry)); err != nil {
		return out, err
	}
	hashes, err := v.client.logProof(ctx, "index", index, v.Checkpoint.Size)
	if err != nil {
		return out, err
	}
	out.Proof = translog.Proof{Index: index, Hashes: hashes, Note: v.Note}
	if _, err := out.Proof.Check([]byte(out.Entry), v.VKey); err != nil {
		return out, err
	}
	return out, agree(release, out.Parsed)
}

// agree holds a release as the hub shows it against its entry in the log.
func agree(release hubapi.Release, e translog.Entry) error {
	name := release.Author + "/" + release.Name
	if e.Hidden() {
		nonce, err := hex.DecodeString(release.LogNonce)
		if err != nil || len(nonce) != translog.NonceSize {
			return &translog.Error{ID: translog.IDMismatch, Text: "the hub does not show that the log's entry is about " + release.Ref()}
		}
		name = translog.HiddenName(nonce, name, release.Version)
	}
	what := ""
	switch {
	case e.Name != name || e.Version != release.Version:
		what = "is about another release"
	case e.Digest != release.Digest:
		what = "has the digest " + e.Digest + ", but the hub says " + release.Digest
	case release.Status == hubapi.Active && e.Op != translog.Publish:
		what = "says " + string(e.Op) + ", but the hub says that it is active"
	default:
		return nil
	}
	return &translog.Error{ID: translog.IDMismatch, Text: "the log's entry about " + release.Ref() + " " + what}
}
