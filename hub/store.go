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
	// Write runs fn alone and makes its changes durable before it returns nil;
	// an error of fn takes all of its changes back. fn may be run more than
	// once and must not do anything but set its own results. A context that
	// ends while fn waits for its turn ends the wait; once fn has begun, the
	// answer is what became of it.
	Write(ctx context.Context, fn func(Writer) error) error
	// Ready says why writes cannot be expected to work now, or nil.
	Ready(ctx context.Context) error
	Close() error
}

// Reader is one view of a store. Single rows that are absent are ErrNoRow. Text
// is compared and ordered by its bytes.
type Reader interface {
	Tenant(id string) (TenantRow, error)

	Skill(tenant, name string) (SkillRow, error)
	Release(skill int64, version string) (ReleaseRow, error)
	// ReleaseWithDigest is the first release of a skill with that digest.
	ReleaseWithDigest(skill int64, digest string) (ReleaseRow, error)
	// Releases are those of a skill with that status, newest first.
	Releases(skill int64, status hubapi.Status, limit int) ([]ReleaseRow, error)
	// TenantReleases are those of a tenant with that status, newest first.
	TenantReleases(tenant string, status hubapi.Status, limit int) ([]ReleaseRow, error)
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

	// Postings are the search words of a tenant that start with prefix.
	Postings(tenant, prefix string) ([]Posting, error)

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

	// PutWords adds the search words of a release that becomes active.
	PutWords(tenant string, release int64, words []Word) error
	// DropWords removes all search words of a release.
	DropWords(release int64) error

	PutCatalogSkill(CatalogRow) error
	// DropCatalogSkill says whether the row was there.
	DropCatalogSkill(tenant, principal, name string) (bool, error)

	AddAudit(AuditRow) error
}

// TenantRow is a tenant and its settings.
type TenantRow struct {
	ID          string
	SelfApprove bool // an author may approve a release of their own
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
}

// FileRow is one file of a release.
type FileRow struct {
	Path       string
	Size       int64
	Sum        Sum
	Executable bool
}

// Field says where in a release a word stands; fields add up.
type Field int

// The fields that are searched.
const (
	InName Field = 1 << iota
	InSummary
	InTags
	InTools
	InAuthor
)

// Word is one search word of a release, with every field that it stands in.
type Word struct {
	Text   string
	Fields Field
}

// Posting is one search word of one release.
type Posting struct {
	Word
	Release int64
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
