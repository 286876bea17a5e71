package hub

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kortecx/kx/hubapi"
)

// Bounds on what nodes may leave in a hub.
const (
	maxNodes      = 10_000   // of one tenant
	maxNodeText   = 200      // bytes of a node's name, its fleet and its other texts
	maxInstallID  = 32       // bytes
	maxReport     = 64 << 10 // bytes of JSON beside the summary
	maxSummary    = 256 << 10
	maxBlocked    = 7 * 24 * time.Hour // for which a node may say that it takes no deployment
	fallbackNodes = 1000               // listed where no limit is given
)

// nodeReport is what a heartbeat says beside its summary, as it is stored.
type nodeReport struct {
	Hostname        string                     `json:"hostname,omitempty"`
	IP              string                     `json:"ip,omitempty"`
	OpenclawVersion string                     `json:"openclaw_version,omitempty"`
	PluginVersion   string                     `json:"plugin_version,omitempty"`
	PluginHash      string                     `json:"plugin_hash,omitempty"`
	InstallID       string                     `json:"install_id,omitempty"`
	OSInfo          json.RawMessage            `json:"os_info,omitempty"`
	Agents          json.RawMessage            `json:"agents,omitempty"`
	Tools           json.RawMessage            `json:"tools,omitempty"`
	Channels        json.RawMessage            `json:"channels,omitempty"`
	Metadata        map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Heartbeat takes down what a node says of itself. Whoever may see what is active may
// say what became of it on their machine; a node is known by its name in the tenant.
//
// It costs one row, and nothing in the audit trail but the first time. What is known
// of the node's skills outlives a heartbeat that says nothing of them.
func (h *Hub) Heartbeat(ctx context.Context, p Principal, in hubapi.Heartbeat) (hubapi.HeartbeatAnswer, error) {
	if err := p.check(); err != nil {
		return hubapi.HeartbeatAnswer{}, err
	}
	if in.TenantID != "" && in.TenantID != p.Tenant {
		return hubapi.HeartbeatAnswer{}, foreignTenant(in.TenantID)
	}
	now := h.now()
	row, err := heartbeatRow(p, in, now)
	if err != nil {
		return hubapi.HeartbeatAnswer{}, err
	}
	told := readSummary(in.Reconcile)
	err = h.write(ctx, func(w Writer) error {
		row := row // the function may be run again
		old, err := w.Node(p.Tenant, row.ID)
		if errors.Is(err, ErrNoRow) {
			if err := admitNode(w, p, row); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		if err := remember(w, &row, old, told, now); err != nil {
			return err
		}
		return w.PutNode(row)
	})
	if err != nil {
		return hubapi.HeartbeatAnswer{}, err
	}
	return hubapi.HeartbeatAnswer{OK: true, NodeID: row.ID, Commands: []hubapi.NodeCommand{}}, nil
}

// foreignTenant is the answer to whoever names another tenant, there or not.
func foreignTenant(id string) error {
	return hubapi.Errorf(hubapi.Forbidden, "this key is none of the tenant %.80q", id).
		WithHint("leave tenant_id out, or use a key of that tenant")
}

// admitNode lets a node in that is not known yet.
func admitNode(w Writer, p Principal, row NodeRow) error {
	n, err := w.CountNodes(p.Tenant)
	if err != nil {
		return err
	}
	if n >= maxNodes {
		return hubapi.Errorf(hubapi.Precondition, "the tenant has %d nodes, which is the most that it can have", n).
			WithHint("an admin takes machines out that are gone: kx fleet list --status offline, kx fleet remove NODE")
	}
	return w.AddAudit(AuditRow{Tenant: p.Tenant, At: row.HeartbeatAt, Principal: p.ID, Action: "node-join", Note: row.Name})
}

// remember puts what the heartbeat told of the node's skills into row, beside or in
// place of what was known.
func remember(w Writer, row *NodeRow, old NodeRow, told nodeSummary, now time.Time) error {
	row.Snapshot, row.SnapshotHash, row.SnapshotAt, row.SuccessAt, row.Failure =
		old.Snapshot, old.SnapshotHash, old.SnapshotAt, old.SuccessAt, old.Failure
	if told.silent {
		return nil
	}
	row.Failure = told.failure
	if at := told.success(now); at.After(row.SuccessAt) {
		row.SuccessAt = at
	}
	if told.failure != "" && !told.knows {
		return nil
	}
	row.SnapshotAt = now
	if told.hash == old.SnapshotHash {
		return nil
	}
	if told.is.Kx != nil && told.is.Kx.Compact != nil {
		active, err := activeSkills(w, row.Tenant)
		if err != nil {
			return err
		}
		expand(&told.is, active, old.Snapshot)
	}
	data, err := json.Marshal(told.is)
	if err != nil {
		return hubapi.AsError(err)
	}
	row.Snapshot, row.SnapshotHash = string(data), told.hash
	return nil
}

// nodeID is the same for every heartbeat of a node, whoever sends it.
func nodeID(tenant, name string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + name))
	return "n" + hex.EncodeToString(sum[:16])
}

// heartbeatRow is the row of a heartbeat but for what it tells of skills.
func heartbeatRow(p Principal, in hubapi.Heartbeat, now time.Time) (NodeRow, error) {
	row := NodeRow{
		ID: nodeID(p.Tenant, in.NodeName), Tenant: p.Tenant, Name: in.NodeName, Fleet: in.FleetID,
		ReportedBy: p.ID, HeartbeatAt: now, CreatedAt: now,
	}
	if strings.TrimSpace(in.NodeName) == "" {
		return row, hubapi.Errorf(hubapi.Invalid, "the heartbeat has no node_name").WithHint("a node is known by its name")
	}
	for _, text := range []struct {
		key, value string
		most       int
	}{
		{"node_name", in.NodeName, maxNodeText},
		{"fleet_id", in.FleetID, maxNodeText},
		{"hostname", in.Hostname, maxNodeText},
		{"ip", in.IP, maxNodeText},
		{"openclaw_version", in.OpenclawVersion, maxNodeText},
		{"plugin_version", in.PluginVersion, maxNodeText},
		{"plugin_hash", in.PluginHash, maxNodeText},
		{"install_id", in.InstallID, maxInstallID},
	} {
		if len(text.value) > text.most {
			return row, hubapi.Errorf(hubapi.Invalid, "%s has %d bytes, the most is %d", text.key, len(text.value), text.most)
		}
		if !utf8.ValidString(text.value) || strings.ContainsFunc(text.value, unicode.IsControl) {
			return row, hubapi.Errorf(hubapi.Invalid, "%s holds control characters", text.key)
		}
	}
	report := nodeReport{
		Hostname: in.Hostname, IP: in.IP, OpenclawVersion: in.OpenclawVersion, PluginVersion: in.PluginVersion,
		PluginHash: in.PluginHash, InstallID: in.InstallID,
		OSInfo: given(in.OSInfo), Agents: given(in.Agents), Tools: given(in.Tools), Channels: given(in.Channels),
		Metadata: map[string]json.RawMessage{},
	}
	if given(in.Metadata) != nil {
		if err := json.Unmarshal(in.Metadata, &report.Metadata); err != nil {
			return row, hubapi.Errorf(hubapi.Invalid, "metadata is an object")
		}
	}
	delete(report.Metadata, "reconcile")
	delete(report.Metadata, "kx")
	if metrics := given(in.RecallMetrics); metrics != nil {
		report.Metadata["recall_metrics"] = metrics
	}
	if until := blockedUntil(in.DeployBlockedUntil, now); until != nil {
		report.Metadata["deploy_blocked_until"] = until
	}
	data, err := json.Marshal(report)
	if err != nil {
		return row, hubapi.Errorf(hubapi.Invalid, "the heartbeat cannot be kept: %v", err)
	}
	if len(data) > maxReport {
		return row, hubapi.Errorf(hubapi.TooLarge, "the heartbeat has %d KiB beside its summary, the most is %d", len(data)>>10, maxReport>>10)
	}
	row.Report = keptText(data)
	row.Reconcile, err = shownSummary(in.Reconcile)
	return row, err
}

// given is nil for what is absent or null.
func given(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// blockedUntil bounds how far ahead a node may say that it takes no deployment; what
// is no time is dropped.
func blockedUntil(raw json.RawMessage, now time.Time) json.RawMessage {
	var until time.Time
	if given(raw) == nil || json.Unmarshal(raw, &until) != nil {
		return nil
	}
	if latest := now.Add(maxBlocked); until.After(latest) {
		raw, _ = json.Marshal(latest)
	}
	return raw
}

// shownSummary is a summary as metadata.reconcile has it: as it came, but for one that
// is too large.
func shownSummary(raw json.RawMessage) (string, error) {
	if given(raw) == nil {
		return "", nil
	}
	if len(raw) > maxSummary {
		return "", hubapi.Errorf(hubapi.TooLarge, "the summary has %d KiB, the most is %d", len(raw)>>10, maxSummary>>10)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "", hubapi.Errorf(hubapi.Invalid, "reconcile is no JSON: %v", err)
	}
	if n := b.Len(); n > hubapi.MaxReconcile {
		return fmt.Sprintf(`{"_truncated":true,"_original_bytes":%d}`, n), nil
	}
	return keptText(b.Bytes()), nil
}

// keptText is JSON as a database can hold it: the encoding packages pass bytes through
// that are not UTF-8.
func keptText(data []byte) string {
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

// watching refuses who may not see the nodes of a tenant. A node or an agent sees
// none, its own either: it knows that itself.
func (p Principal) watching() error {
	if err := p.check(); err != nil {
		return err
	}
	if !p.reviews() {
		return hubapi.Errorf(hubapi.Forbidden, "%s may not see the fleet", p.Role.WithArticle())
	}
	return nil
}

// FleetNodes lists nodes, the newest heartbeat first, each with how its skills differ
// from what is active; for reviewers.
func (h *Hub) FleetNodes(ctx context.Context, p Principal, q hubapi.FleetQuery) ([]hubapi.FleetNode, error) {
	if err := p.watching(); err != nil {
		return nil, err
	}
	limit, err := clamp(q.Limit, fallbackNodes, maxNodes)
	if err != nil {
		return nil, err
	}
	now := h.now()
	query := NodeQuery{Tenant: p.Tenant, Fleet: q.Fleet, Name: q.Name, Limit: limit}
	switch q.Status {
	case "":
	case hubapi.NodeOnline:
		query.From = now.Add(-hubapi.StaleAfter)
	case hubapi.NodeStale:
		query.From, query.Before = now.Add(-hubapi.OfflineAfter), now.Add(-hubapi.StaleAfter)
	case hubapi.NodeOffline:
		query.Before = now.Add(-hubapi.OfflineAfter)
	default:
		return nil, hubapi.Errorf(hubapi.Invalid, "%.80q is no status of a node", q.Status).WithHint("a node is online, stale or offline")
	}
	var out []hubapi.FleetNode
	err = h.read(ctx, func(r Reader) error {
		out = []hubapi.FleetNode{}
		rows, err := r.Nodes(query)
		if err != nil || len(rows) == 0 {
			return err
		}
		active, err := activeSkills(r, p.Tenant)
		if err != nil {
			return err
		}
		for _, row := range rows {
			node, err := fleetNode(row, active, now, false)
			if err != nil {
				return err
			}
			out = append(out, node)
		}
		return nil
	})
	return out, err
}

// FleetNode shows one node with all of its skills; for reviewers.
func (h *Hub) FleetNode(ctx context.Context, p Principal, id string) (hubapi.FleetNode, error) {
	if err := p.watching(); err != nil {
		return hubapi.FleetNode{}, err
	}
	var out hubapi.FleetNode
	err := h.read(ctx, func(r Reader) error {
		row, err := r.Node(p.Tenant, id)
		if errors.Is(err, ErrNoRow) {
			return noNode(id)
		}
		if err != nil {
			return err
		}
		active, err := activeSkills(r, p.Tenant)
		if err != nil {
			return err
		}
		out, err = fleetNode(row, active, h.now(), true)
		return err
	})
	return out, err
}

func noNode(id string) error {
	return hubapi.Errorf(hubapi.NotFound, "the hub has no node %.80q", id)
}

// Fleets counts the nodes of each fleet; for reviewers.
func (h *Hub) Fleets(ctx context.Context, p Principal) (hubapi.FleetList, error) {
	if err := p.watching(); err != nil {
		return hubapi.FleetList{}, err
	}
	now := h.now()
	var out hubapi.FleetList
	err := h.read(ctx, func(r Reader) error {
		out = hubapi.FleetList{TenantID: p.Tenant, Fleets: []hubapi.Fleet{}}
		rows, err := r.Fleets(p.Tenant, now.Add(-hubapi.StaleAfter), now.Add(-hubapi.OfflineAfter))
		for _, row := range rows {
			out.Nodes += row.Nodes
			out.Fleets = append(out.Fleets, hubapi.Fleet{
				FleetID: said(row.Fleet), Nodes: row.Nodes, Online: row.Nodes - row.Stale, Stale: row.Stale - row.Offline,
				Offline: row.Offline, LastHeartbeat: row.HeartbeatAt,
			})
		}
		return err
	})
	return out, err
}

// RemoveNode forgets a machine; for admins. One that is still there comes back with
// its next heartbeat.
func (h *Hub) RemoveNode(ctx context.Context, p Principal, id string) (hubapi.NodeRemoved, error) {
	if err := p.check(); err != nil {
		return hubapi.NodeRemoved{}, err
	}
	if p.Role != Admin {
		return hubapi.NodeRemoved{}, hubapi.Errorf(hubapi.Forbidden, "%s may not remove nodes", p.Role.WithArticle())
	}
	var name string
	err := h.write(ctx, func(w Writer) error {
		row, err := w.Node(p.Tenant, id)
		if errors.Is(err, ErrNoRow) {
			return noNode(id)
		}
		if err != nil {
			return err
		}
		name = row.Name
		if _, err := w.DropNode(p.Tenant, id); err != nil {
			return err
		}
		return h.auditTenant(w, p, p.Tenant, "node-remove", row.Name)
	})
	if err != nil {
		return hubapi.NodeRemoved{}, err
	}
	return hubapi.NodeRemoved{NodeID: id, NodeName: name, Removed: true}, nil
}

// said is nil for an empty text.
func said(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func saidAt(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// fleetNode is a node as it is shown.
func fleetNode(row NodeRow, active *activeSet, now time.Time, detail bool) (hubapi.FleetNode, error) {
	var report nodeReport
	if err := json.Unmarshal([]byte(row.Report), &report); err != nil {
		return hubapi.FleetNode{}, hubapi.Errorf(hubapi.Internal, "what the node %s reported cannot be read: %v", row.Name, err)
	}
	list := func(raw json.RawMessage) json.RawMessage {
		if raw == nil {
			return json.RawMessage("[]")
		}
		return raw
	}
	state, err := nodeState(row, active, now, detail)
	if err != nil {
		return hubapi.FleetNode{}, err
	}
	state.InstallID = report.InstallID
	return hubapi.FleetNode{
		NodeID: row.ID, NodeName: row.Name, FleetID: said(row.Fleet), Hostname: said(report.Hostname), IP: said(report.IP),
		OpenclawVersion: said(report.OpenclawVersion), PluginVersion: said(report.PluginVersion), PluginHash: said(report.PluginHash),
		OSInfo: report.OSInfo, Status: nodeStatus(row.HeartbeatAt, now),
		Agents: list(report.Agents), Tools: list(report.Tools), Channels: list(report.Channels),
		Metadata:      hubapi.NodeMetadata{Reconcile: json.RawMessage(cmp.Or(row.Reconcile, "null")), Kx: state, More: report.Metadata},
		LastHeartbeat: row.HeartbeatAt, CreatedAt: row.CreatedAt,
	}, nil
}

func nodeStatus(heartbeat, now time.Time) hubapi.NodeStatus {
	switch age := now.Sub(heartbeat); {
	case age > hubapi.OfflineAfter:
		return hubapi.NodeOffline
	case age > hubapi.StaleAfter:
		return hubapi.NodeStale
	}
	return hubapi.NodeOnline
}
