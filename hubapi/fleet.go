package hubapi

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Heartbeat is what a node says of itself, about once a minute: the body of POST
// /api/v1/fleet/heartbeat. The keys are those of the MemClaw plugin. Members that are
// not known here are passed over, because the plugin's body grows; null is as good as
// absent. Values of any shape are kept as they came.
type Heartbeat struct {
	TenantID        string `json:"tenant_id,omitempty"` // empty: the tenant of the key
	NodeName        string `json:"node_name"`
	FleetID         string `json:"fleet_id,omitempty"`
	Hostname        string `json:"hostname,omitempty"`
	IP              string `json:"ip,omitempty"`
	OpenclawVersion string `json:"openclaw_version,omitempty"`
	PluginVersion   string `json:"plugin_version,omitempty"`
	PluginHash      string `json:"plugin_hash,omitempty"`
	InstallID       string `json:"install_id,omitempty"`

	OSInfo   json.RawMessage `json:"os_info,omitempty"`
	Agents   json.RawMessage `json:"agents,omitempty"`
	Tools    json.RawMessage `json:"tools,omitempty"`
	Channels json.RawMessage `json:"channels,omitempty"`

	Metadata           json.RawMessage `json:"metadata,omitempty"` // an object
	RecallMetrics      json.RawMessage `json:"recall_metrics,omitempty"`
	DeployBlockedUntil json.RawMessage `json:"deploy_blocked_until,omitempty"`
	// Reconcile is a ReconcileSummary, or what another reconciler has in its place.
	Reconcile json.RawMessage `json:"reconcile,omitempty"`
}

// UnmarshalJSON reads the members that it knows and takes null for absent.
func (h *Heartbeat) UnmarshalJSON(data []byte) error {
	type plain Heartbeat
	return json.Unmarshal(data, (*plain)(h))
}

// HeartbeatAnswer answers a heartbeat. There are never commands: a hub does not tell
// machines to run anything.
type HeartbeatAnswer struct {
	OK       bool          `json:"ok"`
	NodeID   string        `json:"node_id"`
	Commands []NodeCommand `json:"commands"`
}

// NodeCommand is there for the shape of HeartbeatAnswer.
type NodeCommand struct {
	ID      string          `json:"id"`
	Command string          `json:"command"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// NodeStatus says how long ago a node was heard of.
type NodeStatus string

// The statuses of a node.
const (
	NodeOnline  NodeStatus = "online"
	NodeStale   NodeStatus = "stale"   // no heartbeat for more than StaleAfter
	NodeOffline NodeStatus = "offline" // none for more than OfflineAfter
)

// After that long without a heartbeat a node is stale, and offline.
const (
	StaleAfter   = 90 * time.Second
	OfflineAfter = 300 * time.Second
)

// FleetNode is one machine as GET /api/v1/fleet/nodes shows it. The keys are those of
// the MemClaw API, which says null where a node said nothing.
type FleetNode struct {
	NodeID          string          `json:"node_id"`
	NodeName        string          `json:"node_name"`
	FleetID         *string         `json:"fleet_id"`
	Hostname        *string         `json:"hostname"`
	IP              *string         `json:"ip"`
	OpenclawVersion *string         `json:"openclaw_version"`
	PluginVersion   *string         `json:"plugin_version"`
	PluginHash      *string         `json:"plugin_hash"`
	OSInfo          json.RawMessage `json:"os_info"`
	Status          NodeStatus      `json:"status"`
	Agents          json.RawMessage `json:"agents"`
	Tools           json.RawMessage `json:"tools"`
	Channels        json.RawMessage `json:"channels"`
	Metadata        NodeMetadata    `json:"metadata"`
	LastHeartbeat   time.Time       `json:"last_heartbeat"`
	CreatedAt       time.Time       `json:"created_at"`
}

// NodeBrief is what a list for people shows of a FleetNode.
type NodeBrief struct {
	NodeID        string     `json:"node_id"`
	NodeName      string     `json:"node_name"`
	FleetID       *string    `json:"fleet_id"`
	Hostname      *string    `json:"hostname"`
	PluginVersion *string    `json:"plugin_version"`
	Status        NodeStatus `json:"status"`
	Metadata      struct {
		Kx NodeState `json:"kx"`
	} `json:"metadata"`
	LastHeartbeat time.Time `json:"last_heartbeat"`
	CreatedAt     time.Time `json:"created_at"`
}

// NodeMetadata is an object of what the node said beside the fields of FleetNode.
type NodeMetadata struct {
	// Reconcile is the summary of the last heartbeat, as it came; null when there was
	// none in it. One of more than MaxReconcile bytes is an object with the members
	// _truncated and _original_bytes.
	Reconcile json.RawMessage `json:"reconcile"`
	// Kx is what the hub makes of it.
	Kx NodeState `json:"kx"`
	// More are the other members.
	More map[string]json.RawMessage `json:"-"`
}

// MarshalJSON writes all members into one object.
func (m NodeMetadata) MarshalJSON() ([]byte, error) {
	all := make(map[string]any, len(m.More)+2)
	for name, value := range m.More {
		all[name] = value
	}
	all["reconcile"], all["kx"] = m.Reconcile, m.Kx
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *NodeMetadata) UnmarshalJSON(data []byte) error {
	type plain NodeMetadata
	if err := json.Unmarshal(data, (*plain)(m)); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &m.More); err != nil {
		return err
	}
	delete(m.More, "reconcile")
	delete(m.More, "kx")
	return nil
}

// Drift says how what a node has differs from what is active.
type Drift string

// The kinds of drift.
const (
	DriftNone    Drift = "in_sync" // the node has what is active and nothing else
	DriftSome    Drift = "drifted" // something is missing, outdated or not active any more
	DriftFailing Drift = "failing" // the last reconciliation got no catalogue
	DriftUnknown Drift = "unknown" // the node never told
)

// NodeState is what a hub knows of the skills on one node. It stays when a heartbeat
// brings no summary, or one that was cut.
type NodeState struct {
	Drift Drift `json:"drift"`
	// Active is how many skills are active for the node; the others count what the
	// lists of Skills hold.
	Active     int `json:"active"`
	Installed  int `json:"installed"`
	Missing    int `json:"missing"`
	Outdated   int `json:"outdated"`
	Extra      int `json:"extra"`
	Collisions int `json:"collisions"`
	Skipped    int `json:"skipped"`
	Failed     int `json:"failed"`
	Protected  int `json:"protected"`
	// Partial says that the node told counts and a digest only, which are not those
	// of what is active: which skills differ is not known.
	Partial bool `json:"partial,omitempty"`

	// SnapshotAt is when the node last told what it has, LastSuccessAt when it last
	// reconciled without a failure, SuccessAge how many seconds that was ago.
	SnapshotAt    *time.Time `json:"snapshot_at"`
	LastSuccessAt *time.Time `json:"last_success_at"`
	SuccessAge    *int64     `json:"last_success_age_seconds"`
	// Error is why the last reconciliation failed.
	Error string `json:"error,omitempty"`
	// ReportedBy is the key or user that sent the last heartbeat.
	ReportedBy string `json:"reported_by"`
	InstallID  string `json:"install_id,omitempty"`

	// Skills are in the answer about one node only.
	Skills *NodeSkills `json:"skills,omitempty"`
}

// Summary says in a few words how the node stands.
func (s NodeState) Summary() string {
	counts := s.Counts()
	switch {
	case counts == "":
		return s.Word()
	case s.Drift == DriftSome:
		return counts
	}
	return s.Word() + ", " + counts
}

// Word is the drift for people.
func (s NodeState) Word() string { return strings.ReplaceAll(string(s.Drift), "_", " ") }

// Counts says what differs, or is empty.
func (s NodeState) Counts() string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{s.Missing, "missing"}, {s.Outdated, "outdated"}, {s.Extra, "not active"}, {s.Collisions, "in the way"}, {s.Failed, "failed"}} {
		if c.n > 0 {
			parts = append(parts, strconv.Itoa(c.n)+" "+c.what)
		}
	}
	if s.Partial && s.Missing+s.Outdated+s.Extra == 0 {
		parts = append(parts, "other content")
	}
	return strings.Join(parts, ", ")
}

// Present is how many of the active skills the node has, in whatever release.
func (s NodeState) Present() int { return s.Installed - s.Extra }

// NodeSkills are the skills of one node, each list ascending by slug.
type NodeSkills struct {
	Installed  []NodeSkill       `json:"installed"` // all that it has
	Missing    []NodeSkill       `json:"missing"`   // active, and not installed
	Outdated   []NodeSkill       `json:"outdated"`  // installed, and another release is active
	Extra      []NodeSkill       `json:"extra"`     // installed, and not active any more
	Collisions []string          `json:"collisions"`
	Protected  []string          `json:"protected"`
	Skipped    []ReconcileNote   `json:"skipped"`
	Failed     []ReconcileNote   `json:"failed"`
	Kept       []ReconcileNote   `json:"kept"`
	Held       []ReconcileNote   `json:"held"`
	Targets    []ReconcileTarget `json:"targets"`
	Registered []string          `json:"registered_dirs"`
}

// NodeSkill is one skill on a node, or one that should be there.
type NodeSkill struct {
	Slug    string `json:"slug"`
	Version string `json:"version,omitempty"` // installed; of a missing one, what is active
	Digest  string `json:"digest,omitempty"`
	// Active is what should be there; absent where the node has it, or where nothing
	// is active.
	Active *ActiveSkill `json:"active,omitempty"`
	// Why says what is known of the reason.
	Why string `json:"why,omitempty"`
}

// ActiveSkill is a release that is active.
type ActiveSkill struct {
	Author  string `json:"author"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// FleetQuery picks nodes.
type FleetQuery struct {
	Fleet  string     // empty: any
	Name   string     // empty: any
	Status NodeStatus // empty: any
	Limit  int        // 0 means 1,000; at most 10,000
}

// FleetList answers GET /api/v1/fleet.
type FleetList struct {
	TenantID string  `json:"tenant_id"`
	Nodes    int     `json:"nodes"` // of all fleets
	Fleets   []Fleet `json:"fleets"`
}

// Fleet is a named set of nodes, or, with a null fleet_id, the nodes that are in none.
type Fleet struct {
	FleetID       *string   `json:"fleet_id"`
	Nodes         int       `json:"nodes"`
	Online        int       `json:"online"`
	Stale         int       `json:"stale"`
	Offline       int       `json:"offline"`
	LastHeartbeat time.Time `json:"last_heartbeat"`
}

// NodeRemoved answers DELETE /api/v1/fleet/nodes/{node_id}.
type NodeRemoved struct {
	NodeID   string `json:"node_id"`
	NodeName string `json:"node_name"`
	Removed  bool   `json:"removed"`
}
