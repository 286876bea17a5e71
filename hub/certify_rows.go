package hub

import (
	"time"

	"github.com/kortecx/kx/hub/search"
	"github.com/kortecx/kx/hubapi"
)

// CertifyReader is the part of Reader about badges, submissions and categories.
type CertifyReader interface {
	Badge(release int64) (BadgeRow, error)
	// Badges are those on a tenant's active releases, ordered by name, behind the
	// name after. An empty level means any.
	Badges(tenant string, level hubapi.BadgeLevel, after string, limit int) ([]BadgeOn, error)
	// RevokedDigest is a revoked badge on any release of a tenant with that digest.
	RevokedDigest(tenant, digest string) (BadgeRow, error)
	// CountBadges counts a tenant's by level and revocation; Recent are those
	// that were issued at since or later.
	CountBadges(tenant string, since time.Time) ([]BadgeCount, error)
	// Attestations are those on a release, ordered by requirement.
	Attestations(release int64) ([]AttestationRow, error)

	Submission(tenant, id string) (SubmissionRow, error)
	// SameSubmission is an earlier one that differs in id and time only.
	SameSubmission(SubmissionRow) (SubmissionRow, error)

	Category(release int64) (string, error)
}

// CertifyWriter is the part of Writer about badges and submissions.
type CertifyWriter interface {
	// PutBadge sets the badge of a release in place of the one that it has. It is a
	// change of the release's search document too, if there is one.
	PutBadge(BadgeRow) error
	// PutAttestation sets a reviewer's word in place of the last one.
	PutAttestation(AttestationRow) error
	AddSubmission(SubmissionRow) error
	// SetCategory is for a release that has none.
	SetCategory(release int64, category string) error
}

// BadgeRow is the badge of a release.
type BadgeRow struct {
	Release      int64
	Tenant       string
	Digest       string
	Level        hubapi.BadgeLevel
	Met          []string // requirement ids
	IssuedAt     time.Time
	ExpiresAt    time.Time
	IssuedBy     string
	RevokedAt    time.Time // zero unless revoked
	RevokedBy    string
	RevokeReason string
}

// valid tells whether a badge can be relied on for a release with that digest; why
// says why not.
func (b BadgeRow) valid(digest string, now time.Time) (ok bool, why string) {
	switch {
	case !b.RevokedAt.IsZero():
		return false, "revoked: " + b.RevokeReason
	case b.Digest != digest:
		return false, "the badge was issued for other content"
	case now.After(b.ExpiresAt):
		return false, "expired"
	}
	return true, ""
}

// BadgeOn is a badge with the release that carries it.
type BadgeOn struct {
	BadgeRow
	Author, Name, Version string
	ReleaseDigest         string
}

// BadgeCount is one group of CountBadges.
type BadgeCount struct {
	Level   hubapi.BadgeLevel
	Revoked bool
	Badges  int
	Recent  int
}

// AttestationRow is what a reviewer says of one requirement of one release.
type AttestationRow struct {
	Release     int64
	Requirement string
	Met         bool
	At          time.Time
	By          string
	Reason      string
}

// SubmissionRow is a manifest that came without code.
type SubmissionRow struct {
	ID          string
	Tenant      string
	Author      string
	Name        string
	Version     string
	Manifest    string // JSON
	SourceURL   string
	SubmitterID string
	By          string // principal
	At          time.Time
}

// Sort is an order of a list.
type Sort = search.Sort

// The orders.
const (
	ByPublication = search.ByPublication
	ByName        = search.ByName
	ByVersion     = search.ByVersion
)
