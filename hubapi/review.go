package hubapi

import "time"

// Finding is one thing that a scan saw in a pack.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"` // critical, high, medium, low or info
	Message  string `json:"message"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Fix      string `json:"fix,omitempty"`
}

// The states of a scan.
const (
	ScanClean       = "clean"       // nothing critical
	ScanQuarantined = "quarantined" // something critical
	ScanFailed      = "failed"      // the scanner could not judge
	ScanNone        = "not_scanned" // no scanner has looked
)

// Scan is what a scanner said about a release.
type Scan struct {
	State     string    `json:"state"`
	Rules     string    `json:"rules,omitempty"` // version of the rule set
	ScannedAt time.Time `json:"scanned_at"`
	Critical  int       `json:"critical"`
	Warn      int       `json:"warn"` // high, medium and low
	Info      int       `json:"info"`
	Findings  []Finding `json:"findings"`
}

// Origin is where a mined candidate comes from.
type Origin struct {
	AgentID        string     `json:"agent_id,omitempty"` // always set by the hub
	RunID          string     `json:"run_id,omitempty"`
	Goal           string     `json:"goal,omitempty"`
	Domain         string     `json:"domain,omitempty"`
	Entities       []string   `json:"entities,omitempty"`
	Steps          []string   `json:"steps,omitempty"`
	ClusterSize    int        `json:"cluster_size,omitempty"`
	DistinctAgents int        `json:"distinct_agents,omitempty"`
	WindowEnd      *time.Time `json:"window_end,omitempty"`
}

// SentinelScan is the short form of a scan in an inbox card.
type SentinelScan struct {
	Status        string    `json:"status"`
	CriticalCount int       `json:"critical_count"`
	WarningCount  int       `json:"warning_count"`
	Findings      []Finding `json:"findings"` // at most 20
}

// ForgeEvidence says how much a mined candidate stands on.
type ForgeEvidence struct {
	ClusterSize    int `json:"cluster_size"`
	DistinctAgents int `json:"distinct_agents"`
}

// InboxTarget is the release that an update was made from.
type InboxTarget struct {
	Slug            string `json:"slug"`
	TargetDigest    string `json:"target_digest"`
	PreviousVersion string `json:"previous_version,omitempty"`
}

// Gate is one of the six conditions of an automatic promotion.
type Gate struct {
	Gate string `json:"gate"`
	Pass bool   `json:"pass"`
	Why  string `json:"why"`
}

// Review is the body of POST /api/v1/skills-inbox/{slug}/{action} and of a
// withdrawal. Which fields an action takes: reject takes reason and cooloff_days,
// quarantine, defer, withdraw and deprecate take reason, edit takes content,
// description and summary, approve takes force.
type Review struct {
	Reason      string  `json:"reason,omitempty"`
	CooloffDays int     `json:"cooloff_days,omitempty"`
	Content     *string `json:"content,omitempty"`
	Description *string `json:"description,omitempty"`
	Summary     *string `json:"summary,omitempty"`
	Force       bool    `json:"force,omitempty"`
}

// InboxDetail answers GET /api/v1/skills-inbox/{slug}: one release with all that a
// reviewer wants to know.
type InboxDetail struct {
	Item    InboxItem `json:"item"`
	Release Release   `json:"release"`
	Scan    *Scan     `json:"scan"` // null when nothing has scanned it
	Gates   []Gate    `json:"gates"`
	Reason  string    `json:"reason,omitempty"`
	Base    string    `json:"base,omitempty"` // digest that was active when it was proposed
	// Actions are what the caller may do with it now.
	Actions []string `json:"actions"`
}

// FileDiff is what a file's change looks like.
type FileDiff struct {
	Path string `json:"path"`
	// Change is added, removed, changed, or mode (only the execute bit differs).
	Change string `json:"change"`
	// Binary files and texts over the limit have no lines.
	Binary bool `json:"binary,omitempty"`
	// WhitespaceOnly says that nothing but white space differs.
	WhitespaceOnly bool   `json:"whitespace_only,omitempty"`
	Text           string `json:"text,omitempty"` // unified
}

// Diff answers the difference between two releases of a skill.
type Diff struct {
	From *Release `json:"from"` // null when there is nothing to compare with
	To   Release  `json:"to"`
	// WhitespaceOnly says that no file differs in more than white space.
	WhitespaceOnly bool       `json:"whitespace_only"`
	Files          []FileDiff `json:"files"`
}

// Event is one row of a tenant's audit trail.
type Event struct {
	Seq       int64     `json:"seq"`
	At        time.Time `json:"at"`
	Principal string    `json:"principal"`
	Action    string    `json:"action"`
	Author    string    `json:"author,omitempty"`
	Name      string    `json:"name,omitempty"`
	Version   string    `json:"version,omitempty"`
	Digest    string    `json:"digest,omitempty"`
	Note      string    `json:"note,omitempty"`
}

// Events answers GET /api/v1/events. Next is what after has to be for what
// follows.
type Events struct {
	Events []Event `json:"events"`
	Next   int64   `json:"next"`
}

// Promotion answers one promotion tick.
type Promotion struct {
	Scanned      int            `json:"scanned"`
	Promoted     int            `json:"promoted"`
	Held         int            `json:"held"`
	AutoApproved int            `json:"auto_approved"`
	Stale        int            `json:"stale"`
	Candidates   []GatedRelease `json:"candidates"`
}

// GatedRelease is one candidate of a promotion tick.
type GatedRelease struct {
	Ref    string `json:"ref"`
	Status Status `json:"status"` // after the tick
	Gates  []Gate `json:"gates"`
}
