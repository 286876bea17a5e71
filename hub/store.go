package hub

import (
	"context"
	"errors"
	"time"

	"github.com/kortecx/kx/hubapi"
)

// ErrNoRow says that a store has no such row.
var ErrNoRow = errors.New("no such row")

// Sum is the SHA-256 of a content.
type Sum [32]byte

// Store keeps what a hub knows. It holds no rule: the rules run inside the
// functions that Read and Write are given, so that every store decides alike.
// Package storetest is the suite that a store must pass.
//
// Errors of a store are *hubapi.Error (NoSpace, Unavailable, Internal) or what
// the function returned.
type Store interface {
	// Read runs fn on one unchanging view of everything that was acknowledged
	// before.
	Read(ctx context.Context, fn func(Reader) error) error
	// Look is Read for an fn that asks one thing, which costs less. Fn may be run more
	// than once.
	Look(ctx context.Context, fn func(Reader) error) error
	// Write runs fn alone and makes its changes durable before it returns nil;
	// an error of fn takes all of its changes back. fn may be run more than
	// once and must not do anything but set its own results. A context that
	// ends while fn waits for its turn ends the wait; once fn has begun, the
	// answer is what became of it.
	Write(ctx context.Context, fn func(Writer) error) error
	// Mark is another number after every write that was acknowledged. Alone says that
	// nobody else writes to the store: while the mark stays, everything that was read
	// from it holds, and no look is needed.
	Mark() (mark int64, alone bool)
	// Ready says why writes cannot be expected to work now, or nil.
	Ready(ctx context.Context) error
	Close() error
}

// Reader is one view of a store. Single rows that are absent are ErrNoRow. Text
// is compared and ordered by its bytes.
type Reader interface {
	CertifyReader
	DocumentReader
	FleetReader

	LogReader

	WebhookReader

	EmbeddingReader

	PublisherReader

	Tenant(id string) (TenantRow, error)
	// Tenants are all of them, ordered by id.
	Tenants() ([]TenantRow, error)

	Key(id string) (KeyRow, error)
	KeyWithSum(sum Sum) (KeyRow, error)
	// Keys are those of a tenant, oldest first.
	Keys(tenant string) ([]KeyRow, error)
	// Cooloff is the one of that fingerprint that lasts longest.
	Cooloff(tenant, fingerprint string) (CooloffRow, error)

	Skill(tenant, name string) (SkillRow, error)
	Release(skill int64, version string) (ReleaseRow, error)
	// ReleaseWithDigest is the first release of a skill with that digest.
	ReleaseWithDigest(skill int64, digest string) (ReleaseRow, error)
	// Releases are those of a skill with that status, newest first; an empty status
	// means any.
	Releases(skill int64, status hubapi.Status, limit int) ([]ReleaseRow, error)
	// TenantReleases are those of a tenant with that status, newest first.
	TenantReleases(tenant string, status hubapi.Status, limit int) ([]ReleaseRow, error)
	// Waiting are those of a tenant with that status: the ones that were not
	// deferred first, each part newest first.
	Waiting(tenant string, status hubapi.Status, limit int) ([]ReleaseRow, error)
	// OldestReleases are those of a tenant with that status and a sequence number
	// above after, oldest first.
	OldestReleases(tenant string, status hubapi.Status, after int64, limit int) ([]ReleaseRow, error)
	// Evidence is what a release was proposed with and what a scan found.
	Evidence(release int64) (EvidenceRow, error)
	// ActiveReleases are a tenant's, ordered by name, behind the name after.
	ActiveReleases(tenant, after string, limit int) ([]ReleaseRow, error)
	CountReleases(tenant string, status hubapi.Status) (int, error)
	// ReleasesBySeq are the releases with these sequence numbers, in their
	// order; numbers that are not there are passed over.
	ReleasesBySeq(seqs []int64) ([]ReleaseRow, error)
	// Files are the files of a release, ordered by path.
	Files(release int64) ([]FileRow, error)
	File(release int64, path string) (FileRow, error)
	// Content gives bytes as they are stored; the caller compares their sum.
	Content(sum Sum) ([]byte, error)

	SearchReader

	CatalogSkill(tenant, principal, name string) (CatalogRow, error)
	// CatalogSkills are ordered by name, behind the name after.
	CatalogSkills(tenant, principal, after string, limit int) ([]CatalogRow, error)

	// Audit is a tenant's audit trail behind the sequence number after, oldest
	// first.
	Audit(tenant string, after int64, limit int) ([]AuditRow, error)
}

// Writer is a Reader that sees its own changes and can make them.
type Writer interface {
	Reader
	CertifyWriter
	DocumentWriter
	FleetWriter
	LogWriter
	WebhookWriter
	EmbeddingWriter
	PublisherWriter

	// PutTenant adds a tenant, or changes the settings of the one with that id.
	PutTenant(TenantRow) error

	// AddSkill gives the new skill's id. The name must be free in the tenant.
	AddSkill(SkillRow) (int64, error)
	SetNextInteger(skill, next int64) error
	// AddRelease gives the new release's sequence number. The version must be
	// free in the skill.
	AddRelease(ReleaseRow) (int64, error)
	AddFiles(release int64, files []FileRow) error
	// PutContent stores data under its sum, once.
	PutContent(sum Sum, data []byte) error
	SetSignature(release int64, sum Sum) error
	// Move changes a release's status if it is from, and says whether it was.
	// A move to Active records who approved and when.
	Move(release int64, from, to hubapi.Status, at time.Time, by string) (bool, error)

	// Annotate replaces what a release's review has noted.
	Annotate(release int64, note ReviewNote) error
	// SetEvidence replaces the evidence of a release.
	SetEvidence(release int64, e EvidenceRow) error

	// AddKey adds a key. Its id and its sum must be free.
	AddKey(KeyRow) error
	// RevokeKey says whether the key was there and not revoked before.
	RevokeKey(id string, at time.Time, by string) (bool, error)
	AddCooloff(CooloffRow) error
	// DropCooloffs ends those of a fingerprint and says whether there were any.
	DropCooloffs(tenant, fingerprint string) (bool, error)

	SearchWriter

	PutCatalogSkill(CatalogRow) error
	// DropCatalogSkill says whether the row was there.
	DropCatalogSkill(tenant, principal, name string) (bool, error)

	AddAudit(AuditRow) error
}

// TenantRow is a tenant and its settings. A number of 0 means the default of
// Settings.
type TenantRow struct {
	ID               string
	SelfApprove      bool // an author may approve a release of their own
	OptedOut         bool // documents are not gated, and there is no inbox
	AutoPromoteClean bool // a candidate that passes all gates becomes active
	PublicLog        bool // the transparency log may be read without a key
	PublicCatalog    bool // what is active may be read without a key, as a site
	InboxMuted       bool // the inbox lists nothing
	InboxMaxPending  int
	CooloffDays      int
	StaleDays        int // 0 means that nothing grows stale
	MinClusterSize   int
	MinAgents        int
	FreshnessDays    int
	DescriptionBytes int
	BodyBytes        int
}

// KeyRow is one key. The key itself is not kept, only its SHA-256.
type KeyRow struct {
	ID        string
	Sum       Sum
	Prefix    string // its first characters, to tell keys apart
	Tenant    string
	Role      Role
	Authors   []string
	Name      string
	Rate      int // requests a minute; 0 means the role's default
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not
	RevokedBy string
}

// CooloffRow says until when content with that fingerprint is not taken again.
type CooloffRow struct {
	Tenant      string
	Fingerprint string
	Release     int64
	RejectedBy  string
	RejectedAt  time.Time
	Until       time.Time
	Reason      string
}

// EvidenceRow are two JSON objects, either of them empty where there is none.
type EvidenceRow struct {
	Origin string // hubapi.Origin
	Scan   string // hubapi.Scan
	Rules  string // version of the rules that Scan was made with
}

// ReviewNote is what the review of a release keeps beside its status.
type ReviewNote struct {
	Base        string // digest that was active when it was proposed; empty: none was
	Reason      string // of the last rejection, quarantine or withdrawal
	DeferredAt  time.Time
	DeferReason string
	ReplacedBy  string // version that took its place; empty unless it is deprecated for that
}

// SkillRow is a name that an author owns in a tenant.
type SkillRow struct {
	ID          int64
	Tenant      string
	Name        string
	Author      string
	NextInteger int64 // the version that a release without one gets; starts at 1
}

// ReleaseRow is one release. Tenant, Name and Author are those of its skill; a
// new row needs Skill and Tenant of the three.
type ReleaseRow struct {
	Seq         int64
	Skill       int64
	Tenant      string
	Name        string
	Author      string
	Version     string
	Status      hubapi.Status
	Digest      string
	Format      string
	Summary     string
	Description string
	Tags        []string
	Tools       map[string]string
	Source      string // manual or agent: the kind of principal that published
	PublishedBy string
	CreatedAt   time.Time // microseconds, UTC, as all times here
	UpdatedAt   time.Time
	ApprovedAt  time.Time // zero before
	ApprovedBy  string
	Signature   *Sum // content of the signature file; nil when unsigned
	Fingerprint string
	EditedFrom  int64 // sequence number of the release that it was edited from, or 0
	Note        ReviewNote
}

// FileRow is one file of a release.
type FileRow struct {
	Path       string
	Size       int64
	Sum        Sum
	Executable bool
}

// CatalogRow is one skill of one principal's own catalog.
type CatalogRow struct {
	Tenant          string
	Principal       string
	Name            string
	Version         string
	Description     string
	Tags            []string
	Tools           map[string]string
	SkillRef        string // 32 hex digits
	InstructionsRef string // 64 hex digits
	Manifest        []byte // canonical stored form
	Instructions    *Sum   // content; nil while only their ref is known
	UpdatedAt       time.Time
}

// AuditRow is one thing that somebody did.
type AuditRow struct {
	Seq       int64
	Tenant    string
	At        time.Time
	Principal string
	Action    string
	Author    string
	Name      string
	Version   string
	Digest    string
	Note      string
}
