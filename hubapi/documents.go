package hubapi

import (
	"encoding/json"
	"time"
)

// SkillsCollection is the collection whose documents are the hub's releases. Every
// other one holds plain documents.
const SkillsCollection = "skills"

// DocTime is a time in a document: RFC 3339 in UTC, to the second in a skill's
// data, to the microsecond beside it.
type DocTime = time.Time

// Document answers a read: GET /api/v1/documents/{id} and op=read.
type Document struct {
	Collection string          `json:"collection"`
	DocID      string          `json:"doc_id"`
	Data       json.RawMessage `json:"data"` // a JSON object
	UpdatedAt  DocTime         `json:"updated_at"`
}

// SkillData is the data of a document in the collection skills.
type SkillData struct {
	Name        string       `json:"name"`
	Slug        string       `json:"slug"`
	Description string       `json:"description"`
	Summary     string       `json:"summary"`
	Domain      string       `json:"domain"`
	Kind        string       `json:"kind"`   // create
	Source      string       `json:"source"` // manual, agent, imported or forge
	Status      Status       `json:"status"`
	Tags        []string     `json:"tags"`
	Content     string       `json:"content,omitempty"`      // SKILL.md; absent when the pack has none
	ContentHash string       `json:"content_hash,omitempty"` // "sha256:" + 64 hex digits of Content
	Origin      Origin       `json:"origin"`
	CreatedAt   DocTime      `json:"created_at"`
	UpdatedAt   DocTime      `json:"updated_at"`
	Scan        *SkillScan   `json:"scan,omitempty"` // absent when nothing has scanned it
	KX          SkillRelease `json:"kx"`
}

// SkillScan is what a scan said, in a document.
type SkillScan struct {
	State     string    `json:"state"`
	ScannedAt DocTime   `json:"scanned_at"`
	Critical  int       `json:"critical"`
	Warn      int       `json:"warn"`
	Info      int       `json:"info"`
	Findings  []Finding `json:"findings"`
}

// SkillRelease says which release a document of the collection skills is.
type SkillRelease struct {
	Author  string `json:"author"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	// Archive is the path, below the hub's address, of all its files as tar.gz.
	Archive string `json:"archive"`
	Signed  bool   `json:"signed"`
	// Unreviewed says, in the catalogue of nodes, that nobody approved the release and
	// nobody is going to: its tenant opted out of review, and nodes get it all the same.
	Unreviewed bool `json:"unreviewed,omitempty"`
}

// DocumentQuery is the body of POST /api/v1/documents/query and asks for documents
// of one collection.
type DocumentQuery struct {
	Collection string `json:"collection"`
	// Where compares members of the data: text, numbers and booleans by their
	// value. Every one must hold.
	Where    map[string]any `json:"where,omitempty"`
	OrderBy  string         `json:"order_by,omitempty"` // a member of the data; empty: newest change first
	Order    string         `json:"order,omitempty"`    // asc (also when empty) or desc, with OrderBy
	Limit    *int           `json:"limit,omitempty"`    // nil: 20; more than 100 is 100
	Offset   int            `json:"offset,omitempty"`
	FleetID  string         `json:"fleet_id,omitempty"`  // documents of that fleet and those of none
	TenantID string         `json:"tenant_id,omitempty"` // the key's own tenant, or empty
}

// DocumentItem is one document of a query's answer.
type DocumentItem struct {
	DocID string          `json:"doc_id"`
	Data  json.RawMessage `json:"data"`
}

// DocumentList answers a query.
type DocumentList struct {
	Collection string         `json:"collection"`
	Count      int            `json:"count"`
	Results    []DocumentItem `json:"results"`
}

// DocumentSearch is the body of POST /api/v1/documents/search.
type DocumentSearch struct {
	Collection string `json:"collection,omitempty"` // empty: all of them
	Query      string `json:"query"`
	TopK       *int   `json:"top_k,omitempty"` // nil: 5; 1 to 50, others become the nearest of these
	FleetID    string `json:"fleet_id,omitempty"`
	TenantID   string `json:"tenant_id,omitempty"` // the key's own tenant, or empty
}

// DocumentHit is one document of a search's answer.
type DocumentHit struct {
	Collection string          `json:"collection"`
	DocID      string          `json:"doc_id"`
	Data       json.RawMessage `json:"data"`
	// Similarity falls with the rank, from 1 to above 0, four digits: the hit's
	// share of the best score. It is comparable within one answer only.
	Similarity float64 `json:"similarity"`
}

// DocumentHits answers a search; Collection is null when all were searched.
type DocumentHits struct {
	Collection *string       `json:"collection"`
	Count      int           `json:"count"`
	Results    []DocumentHit `json:"results"`
}

// DocumentWrite is the body of POST /api/v1/documents.
type DocumentWrite struct {
	Collection string          `json:"collection"`
	DocID      string          `json:"doc_id"`
	Data       json.RawMessage `json:"data"` // a JSON object
	FleetID    string          `json:"fleet_id,omitempty"`
	TenantID   string          `json:"tenant_id,omitempty"` // the key's own tenant, or empty
}

// DocumentWritten answers a write. Of a plain document the members behind Indexed
// are absent.
type DocumentWritten struct {
	OK         bool   `json:"ok"`
	Collection string `json:"collection"`
	DocID      string `json:"doc_id"`
	Action     string `json:"action"` // created or updated
	// Indexed says that search finds it: at once for plain documents, when it is
	// active for skills.
	Indexed bool `json:"indexed"`
	// Of skills: what was written, and what a scan found in it.
	Status   Status    `json:"status,omitempty"`
	Author   string    `json:"author,omitempty"`
	Version  string    `json:"version,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Ignored are members of the data that a release does not keep.
	Ignored []string `json:"ignored,omitempty"`
}

// DocumentDeleted answers a delete.
type DocumentDeleted struct {
	OK         bool   `json:"ok"`
	Collection string `json:"collection"`
	DocID      string `json:"doc_id"`
	Deleted    bool   `json:"deleted"`
}

// Collection is one collection of a tenant.
type Collection struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// CollectionList answers GET /api/v1/documents/collections, ordered by name.
type CollectionList struct {
	Collections []Collection `json:"collections"`
	Count       int          `json:"count"`
}

// MaxInstallable is the most skills that one catalogue of a node holds.
const MaxInstallable = 1000

// InstallableQuery is the body of POST /api/v1/skills/installable; members that it
// does not have are passed over.
type InstallableQuery struct {
	TenantID string `json:"tenant_id"`          // empty: that of the key
	FleetID  string `json:"fleet_id,omitempty"` // releases belong to no fleet: every fleet gets them
	Limit    *int   `json:"limit,omitempty"`    // 1 to MaxInstallable; never a cut: more skills than that are refused
}

// InstallableRow is one skill of the catalogue that nodes reconcile.
type InstallableRow struct {
	ID         string    `json:"id"`
	TenantID   string    `json:"tenant_id"`
	FleetID    *string   `json:"fleet_id"`
	Collection string    `json:"collection"`
	DocID      string    `json:"doc_id"`
	Data       SkillData `json:"data"`
	CreatedAt  DocTime   `json:"created_at"`
	UpdatedAt  DocTime   `json:"updated_at"`
}

// Installable is the catalogue of a tenant. Its Body is never changed: callers
// share it.
type Installable struct {
	Body []byte // a JSON array of InstallableRow, ordered by doc_id
	ETag string // strong, in quotes; of Body
	// Generation grows with every change of what is active in the tenant.
	Generation int64
	Total      int
	// Withheld are skills that are active and not in Body, with the reason.
	Withheld []WithheldSkill
}

// WithheldSkill is a skill that nodes cannot be given.
type WithheldSkill struct {
	Ref string `json:"ref"`
	Why string `json:"why"`
}

// The headers of POST /api/v1/skills/installable.
const (
	HeaderGeneration = "X-KX-Generation"
	HeaderTotal      = "X-KX-Total"
	HeaderWithheld   = "X-KX-Withheld" // how many; absent for none
)

// KeyVerify is the body of POST /api/v1/auth/verify.
type KeyVerify struct {
	Key string `json:"key"`
}

// KeyVerified says whose a key is.
type KeyVerified struct {
	TenantID string `json:"tenant_id"`
}

// SkillSubmit is a skill that somebody proposes as text.
type SkillSubmit struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Content     string       `json:"content"` // SKILL.md, or its text without frontmatter
	Files       []SubmitFile `json:"files,omitempty"`
}

// SubmitFile is a text file beside SKILL.md.
type SubmitFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// SkillSubmitted answers a proposal: staged, or quarantined with what a scan found.
type SkillSubmitted struct {
	Release   Release   `json:"release"`
	Unchanged bool      `json:"unchanged"` // this very content was there already
	Findings  []Finding `json:"findings,omitempty"`
}
