package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

// maxFailure is how many bytes of a node's own error are kept.
const maxFailure = 500

// nodeSummary is what a heartbeat tells of the skills on a node.
type nodeSummary struct {
	silent  bool   // it says nothing of them
	knows   bool   // is holds what the node has
	failure string // why the node got no catalogue, or did not believe it
	// incomplete: the node says that it could not do everything
	incomplete bool
	last       *time.Time
	is         hubapi.ReconcileSummary
	hash       string // of is
}

// success is when the node last reconciled without a failure, as far as this summary
// says; zero when it says nothing. A node whose clock is ahead does not succeed in the
// future, and one that could not do everything did not succeed.
func (s nodeSummary) success(now time.Time) time.Time {
	switch {
	case s.last != nil && s.last.Before(now):
		return s.last.UTC().Truncate(time.Microsecond)
	case s.last != nil, s.knows && s.failure == "" && !s.incomplete:
		return now
	}
	return time.Time{}
}

// readSummary reads what any reconciler may have sent. What does not have the form of
// a hubapi.ReconcileSummary is passed over, member by member: a heartbeat is not
// refused for what it says of skills.
func readSummary(raw json.RawMessage) nodeSummary {
	if given(raw) == nil {
		return nodeSummary{silent: true}
	}
	root, faults := strictjson.Parse(raw)
	if len(faults) > 0 || root.Kind != strictjson.Object {
		return nodeSummary{silent: true}
	}
	told := false
	for _, name := range []string{"catalogCount", "installed", "targets"} {
		told = told || root.Get(name) != nil
	}
	if !told {
		return nodeSummary{silent: true}
	}
	var out nodeSummary
	is := &out.is
	_ = asValue(root.Get("catalogCount"), raw, &is.CatalogCount)
	is.Installed, is.Skipped = texts(root.Get("installed")), texts(root.Get("skipped"))
	is.Collisions, is.Protected = texts(root.Get("collisions")), texts(root.Get("protected"))
	is.RegisteredDirs = texts(root.Get("registeredDirs"))
	is.Added, is.Removed = texts(root.Get("added")), texts(root.Get("removed"))
	for _, n := range elements(root.Get("targets")) {
		if n.Kind != strictjson.Object {
			continue
		}
		is.Targets = append(is.Targets, hubapi.ReconcileTarget{
			Dir: text(n.Get("dir")), Mode: text(n.Get("mode")), Installed: texts(n.Get("installed")),
			Collisions: texts(n.Get("collisions")), Protected: texts(n.Get("protected")),
		})
	}
	if kx := root.Get("kx"); kx != nil && kx.Kind == strictjson.Object {
		is.Kx = new(hubapi.ReconcileDetails)
		if err := asValue(kx, raw, is.Kx); err != nil {
			is.Kx = nil
		}
	}
	out.judge()
	// What changes with every run, and is shown as it came, is not remembered.
	is.Added, is.Removed = nil, nil
	if is.Kx != nil {
		is.Kx.Unchanged, is.Kx.LastSuccessAt, is.Kx.Generation, is.Kx.Error = false, nil, nil, ""
		if compact := is.Kx.Compact; compact != nil {
			delete(compact.Counts, "added")
			delete(compact.Counts, "removed")
		}
	}
	is.Normalize()
	data, err := json.Marshal(is)
	if err != nil {
		return nodeSummary{silent: true}
	}
	sum := sha256.Sum256(data)
	out.hash = hex.EncodeToString(sum[:])
	return out
}

// judge says how the run ended. The MemClaw plugin does not say so: after a failure it
// sends a summary without any target, which a run with an empty catalogue has.
func (s *nodeSummary) judge() {
	if s.is.Kx == nil {
		empty := s.is.CatalogCount == 0 && len(s.is.Targets) == 0
		for _, list := range [][]string{s.is.Installed, s.is.Added, s.is.Removed, s.is.Skipped, s.is.Collisions, s.is.Protected} {
			empty = empty && len(list) == 0
		}
		s.knows = !empty
		if empty {
			s.failure = "the node got no catalogue"
		}
		return
	}
	kx := s.is.Kx
	s.last, s.incomplete = kx.LastSuccessAt, kx.Status == hubapi.ReconcileIncomplete
	s.knows = kx.Status != hubapi.ReconcileFailed
	if kx.Status == hubapi.ReconcileFailed || kx.Status == hubapi.ReconcileRefused || kx.Status == hubapi.ReconcileUnusable {
		s.failure = kx.Error
		if s.failure == "" {
			s.failure = "the reconciliation " + string(kx.Status)
		}
		s.failure = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(s.failure[:min(len(s.failure), maxFailure)], ""))
	}
}

// asValue reads the value of one node of the document raw.
func asValue(n *strictjson.Node, raw json.RawMessage, v any) error {
	if n == nil {
		return nil
	}
	return json.Unmarshal(raw[n.Offset:n.End], v)
}

func elements(n *strictjson.Node) []*strictjson.Node {
	if n == nil || n.Kind != strictjson.Array {
		return nil
	}
	return n.Elems
}

func text(n *strictjson.Node) string {
	if n == nil || n.Kind != strictjson.String {
		return ""
	}
	return n.Text
}

func texts(n *strictjson.Node) []string {
	var out []string
	for _, e := range elements(n) {
		if s := text(e); s != "" {
			out = append(out, s)
		}
	}
	return out
}
