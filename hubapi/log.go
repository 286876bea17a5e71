package hubapi

import "time"

// Log answers GET /api/v1/log: the transparency log that the caller reads.
type Log struct {
	Origin string `json:"origin"` // host/tenant
	VKey   string `json:"vkey"`   // verifier key of its checkpoints
	Size   int64  `json:"size"`   // entries
	Root   string `json:"root"`   // base64
	Public bool   `json:"public"` // readable without a key
}

// LogProof answers GET /api/v1/log/proof. With Index it proves that the entry is in
// the tree of that size, with From that the tree of size From is its beginning.
type LogProof struct {
	Index  *int64   `json:"index,omitempty"`
	From   *int64   `json:"from,omitempty"`
	Size   int64    `json:"size"`
	Hashes []string `json:"hashes"` // base64, as c2sp.org/tlog-proof orders them
}

// LogEntry is one entry with what the hub knows about it beside the leaf.
type LogEntry struct {
	Index  int64     `json:"index"`
	Entry  string    `json:"entry"` // the exact leaf
	Op     string    `json:"op"`
	Time   time.Time `json:"time"`
	Digest string    `json:"digest"`
	KeyID  string    `json:"key_id"` // "-" for unsigned; what the signature file says
	// Name and Version are empty where the leaf hides the name and the caller may
	// not know it.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// Nonce, 64 hex digits, shows that Name and Version are what the leaf hides.
	Nonce     string `json:"nonce,omitempty"`
	Principal string `json:"principal,omitempty"` // who did it; for reviewers
	Note      string `json:"note,omitempty"`
}

// LogEntries answers GET /api/v1/log/entries.
type LogEntries struct {
	Items []LogEntry `json:"items"`
	// Next is where the following entries begin; absent at the end.
	Next *int64 `json:"next,omitempty"`
}

// LogRelease is what the hub's own index says about one release.
type LogRelease struct {
	Name     string `json:"name"`
	Author   string `json:"author"`
	Version  string `json:"version"`
	Status   Status `json:"status"`
	Digest   string `json:"digest"`
	LogIndex *int64 `json:"log_index,omitempty"`
}

// LogReleases answers GET /api/v1/log/releases.
type LogReleases struct {
	Items []LogRelease `json:"items"`
	Next  *int64       `json:"next,omitempty"`
}
