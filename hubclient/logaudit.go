package hubclient

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/translog"
)

// LogFinding is one thing that an audit found. A warning does not make the log wrong.
type LogFinding struct {
	ID      string `json:"id"`
	Index   *int64 `json:"index,omitempty"` // of the entry that it is about
	Text    string `json:"text"`
	Warning bool   `json:"warning,omitempty"`
}

// LogAudit is the outcome of reading a whole log.
type LogAudit struct {
	Origin   string       `json:"origin"`
	Size     int64        `json:"size"`
	Root     string       `json:"root"`
	Releases int          `json:"releases"` // of the hub's index that were compared
	OK       bool         `json:"ok"`
	Findings []LogFinding `json:"findings"`
}

const (
	logPage = 1000 // items of one answer; the hub gives no more
	// auditTries is how often an audit begins anew because the hub changed while
	// its index was being read.
	auditTries = 3
	// auditTime is for a whole audit with all its calls, auditEntries the most that
	// it reads: beyond, it would need more memory than a client should.
	auditTime    = 30 * time.Minute
	auditEntries = 1 << 22
)

// AuditLog replays the whole log: its entries make the root of the checkpoint, one
// version has one digest for ever, and the hub's index says what the log says. Now
// is for doubts about times only. The error is for an audit that could not be made,
// or for a log that is refused as a whole; what an audit found is in its findings.
func (c *Client) AuditLog(ctx context.Context, now time.Time) (LogAudit, error) {
	ctx, cancel := context.WithTimeout(ctx, auditTime)
	defer cancel()
	for try := 1; ; try++ {
		view, err := c.OpenLog(ctx)
		if err != nil {
			return LogAudit{}, err
		}
		out, err := view.audit(ctx, now)
		if err != nil || out.OK || try == auditTries {
			return out, logError(err)
		}
		state, err := c.LogState(ctx)
		if err != nil || state.Size == out.Size {
			return out, err
		}
	}
}

func (v *LogView) audit(ctx context.Context, now time.Time) (LogAudit, error) {
	out := LogAudit{
		Origin: v.Checkpoint.Origin, Size: v.Checkpoint.Size, Root: v.Checkpoint.Root.String(), Findings: []LogFinding{},
	}
	audit := translog.NewAudit()
	leaves, root, err := v.replay(ctx, audit)
	if err != nil {
		return out, err
	}
	wrong := func(f LogFinding) { out.Findings = append(out.Findings, f) }
	if root != v.Checkpoint.Root {
		wrong(LogFinding{ID: translog.IDMismatch, Text: fmt.Sprintf("the %d entries make the root %s, the checkpoint says %s", v.Checkpoint.Size, root, v.Checkpoint.Root)})
	}
	if err := v.reveal(ctx, audit, leaves); err != nil {
		return out, err
	}
	audit.Clock(now)
	for _, f := range audit.Findings() {
		index := f.Index
		wrong(LogFinding{ID: f.ID, Index: &index, Text: f.Text, Warning: f.Warning})
	}
	if out.Releases, err = v.compareIndex(ctx, audit, wrong); err != nil {
		return out, err
	}
	out.OK = !slices.ContainsFunc(out.Findings, func(f LogFinding) bool { return !f.Warning })
	return out, nil
}

// replay reads every entry from the log's tiles and gives their leaf hashes and the
// root that they make.
func (v *LogView) replay(ctx context.Context, audit *translog.Audit) (leaves []translog.Hash, root translog.Hash, err error) {
	if v.Checkpoint.Size > auditEntries {
		return nil, root, fetchError(hubapi.TooLarge, "fetch.too-large", "the log has %d entries, at most %d are audited here", v.Checkpoint.Size, auditEntries)
	}
	var tree translog.Tree
	for tree.Size < v.Checkpoint.Size {
		tile := translog.EntryTile(tree.Size, v.Checkpoint.Size)
		data, err := v.client.do(ctx, request{
			method: http.MethodGet, path: strings.Split(tile.Path(), "/"), top: true, accept: "application/octet-stream", limit: maxTile,
		})
		if err != nil {
			return nil, root, err
		}
		entries, err := translog.DecodeBundle(data, tile.Width)
		if err != nil {
			return nil, root, err
		}
		for _, entry := range entries {
			leaf := translog.LeafHash(entry)
			leaves = append(leaves, leaf)
			audit.Add(tree.Size, entry)
			tree, _ = tree.Append(leaf)
		}
	}
	return leaves, tree.Root(), nil
}

// reveal reads what the hub tells about its entries beside their leaves, where it
// tells this caller more: what the hidden names mean.
func (v *LogView) reveal(ctx context.Context, audit *translog.Audit, leaves []translog.Hash) error {
	for first := int64(0); first < int64(len(leaves)); {
		page, err := v.client.LogEntries(ctx, hubapi.Ref{}, first, logPage)
		if err != nil {
			return err
		}
		for i, item := range page.Items {
			if item.Index != first+int64(i) {
				return &translog.Error{ID: translog.IDFormat, Text: fmt.Sprintf("the hub lists entry %d where entry %d belongs", item.Index, first+int64(i))}
			}
			if item.Index >= int64(len(leaves)) {
				return nil
			}
			if translog.LeafHash([]byte(item.Entry)) != leaves[item.Index] {
				return &translog.Error{ID: translog.IDMismatch, Text: fmt.Sprintf("the hub lists another entry %d than its log has", item.Index)}
			}
			if item.Nonce == "" {
				continue
			}
			nonce, _ := hex.DecodeString(item.Nonce) // a wrong one reveals nothing
			audit.Reveal(item.Index, []byte(item.Entry), nonce, item.Name, item.Version)
		}
		if len(page.Items) == 0 {
			return &translog.Error{ID: translog.IDMissing, Text: fmt.Sprintf("the hub lists no entry %d", first)}
		}
		first += int64(len(page.Items))
	}
	return nil
}

// compareIndex holds the hub's index of releases against the log, both ways, and
// counts them. Releases whose entries are newer than the checkpoint are left to the
// next audit.
func (v *LogView) compareIndex(ctx context.Context, audit *translog.Audit, wrong func(LogFinding)) (n int, err error) {
	active := map[string]string{}
	newer := map[string]bool{}
	for after, pages := int64(0), 0; ; pages++ {
		if pages == maxPages {
			return n, fetchError(hubapi.Internal, "fetch.too-large", "the hub's list of releases has more than %d pages", maxPages)
		}
		var page hubapi.LogReleases
		err := v.client.call(ctx, request{method: http.MethodGet, path: []string{"log", "releases"}, query: url.Values{
			"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(logPage)},
		}, limit: maxList}, &page)
		if err != nil {
			return n, err
		}
		for _, item := range page.Items {
			name := item.Author + "/" + item.Name
			if item.LogIndex != nil && *item.LogIndex >= v.Checkpoint.Size {
				newer[name] = true
				continue
			}
			n++
			if item.Status == hubapi.Active {
				active[name] = item.Version
			}
			if f, ok := compareRelease(audit, name, item); ok {
				wrong(f)
			}
		}
		if page.Next == nil {
			break
		}
		if *page.Next <= after {
			return n, &translog.Error{ID: translog.IDFormat, Text: "the hub's list of releases does not go on"}
		}
		after = *page.Next
	}
	for _, name := range slices.Sorted(maps.Keys(audit.Active())) {
		version := audit.Active()[name]
		if active[name] == version || newer[name] {
			continue
		}
		r, _ := audit.Version(name, version)
		text := fmt.Sprintf("the log says that %s@%s is active, the hub's index does not", name, version)
		wrong(LogFinding{ID: translog.IDMismatch, Index: &r.Index, Text: text})
	}
	return n, nil
}

func compareRelease(audit *translog.Audit, name string, item hubapi.LogRelease) (LogFinding, bool) {
	ref := name + "@" + item.Version
	r, ok := audit.Version(name, item.Version)
	switch {
	case !ok:
		return LogFinding{ID: translog.IDMissing, Text: fmt.Sprintf("%s is in the hub's index, but not in its log", ref)}, true
	case r.Digest != item.Digest:
		return LogFinding{ID: translog.IDMismatch, Text: fmt.Sprintf("the log says that %s is %s, the hub's index says %s", ref, r.Digest, item.Digest)}, true
	case item.Status == hubapi.Active && (r.Index < 0 || r.Withdrawn || audit.Active()[name] != item.Version):
		return LogFinding{ID: translog.IDMismatch, Text: fmt.Sprintf("the hub's index says that %s is active, the log does not", ref)}, true
	}
	return LogFinding{}, false
}
