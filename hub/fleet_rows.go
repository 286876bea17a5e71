package hub

import "time"

// FleetReader is the part of a Reader about nodes.
type FleetReader interface {
	Node(tenant, id string) (NodeRow, error)
	// Nodes are a tenant's, the newest heartbeat first, those of the same moment by
	// name.
	Nodes(NodeQuery) ([]NodeRow, error)
	CountNodes(tenant string) (int, error)
	// Fleets counts a tenant's nodes by fleet, ordered by it. Those that were heard
	// of before stale, and before offline, are counted apart.
	Fleets(tenant string, stale, offline time.Time) ([]FleetRow, error)
}

// FleetWriter is the part of a Writer about nodes.
type FleetWriter interface {
	// PutNode adds a node, or replaces all of the one with that id but CreatedAt. Its
	// snapshot is left alone while SnapshotHash is the one that is stored.
	PutNode(NodeRow) error
	// DropNode says whether the node was there.
	DropNode(tenant, id string) (bool, error)
}

// NodeRow is one machine. Texts are empty and times are zero where nothing is known.
type NodeRow struct {
	ID         string
	Tenant     string
	Name       string
	Fleet      string
	ReportedBy string // principal of the last heartbeat
	Report     string // JSON of what the last heartbeat said, without its summary
	Reconcile  string // JSON of its summary as it is shown
	// Snapshot is the last summary that told what the node has, as JSON of a
	// hubapi.ReconcileSummary, and SnapshotHash stands for the summary that it was
	// made from.
	Snapshot     string
	SnapshotHash string
	SnapshotAt   time.Time
	SuccessAt    time.Time
	Failure      string // why the last summary was none of a success
	HeartbeatAt  time.Time
	CreatedAt    time.Time
}

// NodeQuery picks nodes of a tenant.
type NodeQuery struct {
	Tenant string
	Fleet  string    // empty: any
	Name   string    // empty: any
	From   time.Time // heard of at that time or later; zero: any
	Before time.Time // heard of before; zero: any
	Limit  int
}

// FleetRow counts the nodes of one fleet, or of none.
type FleetRow struct {
	Fleet       string
	Nodes       int
	Stale       int // the offline ones too
	Offline     int
	HeartbeatAt time.Time // the latest
}
