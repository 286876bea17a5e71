package hubapi

import "time"

// Status is where a release stands in review.
type Status string

// The statuses of a release.
const (
	Candidate   Status = "candidate"
	Staged      Status = "staged"
	Active      Status = "active"
	Rejected    Status = "rejected"
	Quarantined Status = "quarantined"
	Deprecated  Status = "deprecated"
	Stale       Status = "stale"
)

// Release is one immutable version of a skill.
type Release struct {
	Name        string            `json:"name"`
	Author      string            `json:"author"`
	Version     string            `json:"version"`
	Status      Status            `json:"status"`
	Digest      string            `json:"digest"` // "sp1:" + 64 hex digits
	Format      string            `json:"format"`
	Description string            `json:"description"`
	Tags        []string          `json:"tags"`
	Tools       map[string]string `json:"tools,omitempty"`
	Files       []ReleaseFile     `json:"files,omitempty"` // in detail answers only
	Signed      bool              `json:"signed"`
	PublishedBy string            `json:"published_by,omitempty"`
	CreatedAt   time.Time         `json:"created_at"`
	ApprovedAt  *time.Time        `json:"approved_at,omitempty"`
	ApprovedBy  string            `json:"approved_by,omitempty"`
	ReplacedBy  string            `json:"replaced_by,omitempty"` // version that took the place of a deprecated one; else it was withdrawn
	// LogIndex, in detail answers, is the log's entry about the release: the one
	// that made it active, else the last. LogNonce, 64 hex digits, opens the name
	// in it where that is hidden.
	LogIndex *int64 `json:"log_index,omitempty"`
	LogNonce string `json:"log_nonce,omitempty"`
	// Versions, in detail answers, are those of the skill that the caller may see, the
	// newest first and 100 at most.
	Versions []ReleaseVersion `json:"versions,omitempty"`
}

// ReleaseVersion is one version of a skill.
type ReleaseVersion struct {
	Version   string    `json:"version"`
	Status    Status    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
}

// Ref is the release's full reference, author/name@version.
func (r Release) Ref() string { return r.Author + "/" + r.Name + "@" + r.Version }

// ReleaseFile is one file of a release.
type ReleaseFile struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
}

// PushResult answers a publish.
type PushResult struct {
	Release
	// Unchanged is true when this very digest was there already.
	Unchanged bool `json:"unchanged"`
	// Similar are other active skills of nearly the same name; people may take one
	// for the other. It is a warning, in answer to the first push of a name.
	Similar []string `json:"similar,omitempty"`
	// ScanState and Findings are what the hub's scan says of the release; of the
	// findings the first 100. The state is empty when the hub did not say.
	ScanState string    `json:"scan_state,omitempty"`
	Findings  []Finding `json:"findings,omitempty"`
	// Reason is why it was rejected, quarantined or taken back.
	Reason string `json:"reason,omitempty"`
	// Actions are what the caller may do with it now.
	Actions []string `json:"actions,omitempty"`
}

// SearchItem is one hit. Summary is what search ranks highest.
type SearchItem struct {
	Name    string   `json:"name"`
	Author  string   `json:"author"`
	Version string   `json:"version"`
	Status  Status   `json:"status"`
	Digest  string   `json:"digest"`
	Summary string   `json:"summary"`
	Format  string   `json:"format"`
	Tags    []string `json:"tags"`
	Score   float64  `json:"score"`
	// Matches says how Score came about: it is their sum.
	Matches []SearchMatch `json:"matches,omitempty"`
}

// MatchKind says how a word of a query met a word of a release.
type MatchKind string

// The kinds of matches, the strongest first.
const (
	MatchName   MatchKind = "name"   // the whole query is the skill's name
	MatchExact  MatchKind = "exact"  // the word itself
	MatchStem   MatchKind = "stem"   // another form of it
	MatchPrefix MatchKind = "prefix" // a word that begins with it
	MatchTypo   MatchKind = "typo"   // a word that is one or two edits away

	// MatchMeaning is the whole query meaning nearly what the release says of itself;
	// only where the hub has an embeddings endpoint.
	MatchMeaning MatchKind = "meaning"
)

// SearchMatch is one reason for a hit's score.
type SearchMatch struct {
	Word   string    `json:"word"`  // word of the query; empty for a match of the whole
	Field  string    `json:"field"` // the heaviest one: summary, description, name, tags, tools, author or body
	Points float64   `json:"points"`
	Kind   MatchKind `json:"kind,omitempty"`
	Term   string    `json:"term,omitempty"` // what stands there
	// Likeness, of a meaning, is the cosine of query and release.
	Likeness float64 `json:"likeness,omitempty"`
}

// SearchResult answers GET /api/v1/search.
type SearchResult struct {
	Query string       `json:"query"`
	Total int          `json:"total"` // of all pages
	Items []SearchItem `json:"items"`
	// NextCursor asks for the next page of the same search; empty on the last.
	NextCursor string `json:"next_cursor,omitempty"`
	// DidYouMean are queries near to one that found nothing.
	DidYouMean []string `json:"did_you_mean,omitempty"`
	// Note says what the answer does not cover.
	Note string `json:"note,omitempty"`
}

// InboxItem is one release that waits for review; the keys are the MemClaw card's.
type InboxItem struct {
	Slug        string    `json:"slug"`
	DocID       string    `json:"doc_id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Summary     string    `json:"summary"`
	Content     *string   `json:"content"`
	Domain      string    `json:"domain"`
	Tags        []string  `json:"tags"`
	Source      string    `json:"source"`
	Status      Status    `json:"status"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	ContentHash string    `json:"content_hash"`
	Kind        string    `json:"kind"` // create, or update with a target

	Fingerprint   string         `json:"fingerprint"`
	ScanState     string         `json:"scan_state"`
	ScanCritical  int            `json:"scan_critical"`
	ScanWarn      int            `json:"scan_warn"`
	SentinelScan  SentinelScan   `json:"sentinel_scan"`
	ForgeEvidence *ForgeEvidence `json:"forge_evidence"` // of mined candidates only
	Origin        Origin         `json:"origin"`
	Evidence      struct{}       `json:"evidence"`
	Cites         []string       `json:"cites"`
	Target        *InboxTarget   `json:"target"`
	DeferredAt    *time.Time     `json:"deferred_at"`

	// What the card lacks and a reviewer of packs needs.
	Author  string `json:"author"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Format  string `json:"format"`
}

// Inbox answers GET /api/v1/skills-inbox.
type Inbox struct {
	TenantID  string      `json:"tenant_id"`
	FleetID   *string     `json:"fleet_id"`
	Count     int         `json:"count"`
	Truncated bool        `json:"truncated"`
	Items     []InboxItem `json:"items"`
}

// InboxMove answers POST /api/v1/skills-inbox/{slug}/{action}.
type InboxMove struct {
	Slug           string `json:"slug"`
	PreviousStatus Status `json:"previous_status"`
	NewStatus      Status `json:"new_status"`
	// Detail is null when there is nothing to add.
	Detail *string `json:"detail"`
	// Release is what was moved.
	Release Release `json:"release"`
}

// CatalogAdd is the body of PUT /api/v1/catalog[/{name}]. Without instructions the
// manifest must be in stored form (it carries instructions_ref). A name in the path
// must be the manifest's.
type CatalogAdd struct {
	Manifest     string  `json:"manifest"`
	Instructions *string `json:"instructions,omitempty"`
}

// CatalogAdded answers a catalog add; keys as the kortecx client prints them.
type CatalogAdded struct {
	Deduplicated    bool   `json:"deduplicated"`
	InstructionsRef string `json:"instructions_ref"`
	Name            string `json:"name"`
	SkillRef        string `json:"skill_ref"`
}

// CatalogSkill is one row of a catalog listing.
type CatalogSkill struct {
	Description     string            `json:"description"`
	InstructionsRef string            `json:"instructions_ref"`
	Name            string            `json:"name"`
	SkillRef        string            `json:"skill_ref"`
	Tags            []string          `json:"tags"`
	Tools           map[string]string `json:"tools"`
	Version         string            `json:"version"`
}

// CatalogList answers GET /api/v1/catalog.
type CatalogList struct {
	HasMore bool           `json:"has_more"`
	Skills  []CatalogSkill `json:"skills"`
}

// CatalogSummary is the head of a catalog form: a CatalogSkill without its tools.
type CatalogSummary struct {
	Description     string   `json:"description"`
	InstructionsRef string   `json:"instructions_ref"`
	Name            string   `json:"name"`
	SkillRef        string   `json:"skill_ref"`
	Tags            []string `json:"tags"`
	Version         string   `json:"version"`
}

// Wish is one wished tool, and whether this server could call it now.
type Wish struct {
	Registered  bool   `json:"registered"`
	ToolID      string `json:"tool_id"`
	ToolVersion string `json:"tool_version"`
}

// CatalogForm answers GET /api/v1/catalog/{name}.
type CatalogForm struct {
	Found               bool            `json:"found"`
	Summary             *CatalogSummary `json:"summary"`
	Wishes              []Wish          `json:"wishes"`
	InstructionsPreview string          `json:"instructions_preview"`
	PreviewTruncated    bool            `json:"preview_truncated"`
}

// CatalogRemoved answers DELETE /api/v1/catalog/{name}.
type CatalogRemoved struct {
	Removed bool `json:"removed"`
}
