package sqlstore

import (
	"database/sql"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

const badgeColumns = `b.release, b.tenant, b.digest, b.level, b.met, b.issued_at, b.expires_at, b.issued_by,
  b.revoked_at, b.revoked_by, b.revoke_reason`

// scanBadge reads badgeColumns and then more.
func scanBadge(rows *sql.Rows, more ...any) (hub.BadgeRow, error) {
	var (
		b               hub.BadgeRow
		level, met      string
		issued, expires int64
		revoked         sql.NullInt64
	)
	to := append([]any{
		&b.Release, &b.Tenant, &b.Digest, &level, &met, &issued, &expires, &b.IssuedBy,
		&revoked, &b.RevokedBy, &b.RevokeReason,
	}, more...)
	if err := rows.Scan(to...); err != nil {
		return b, err
	}
	b.Level, b.IssuedAt, b.ExpiresAt = hubapi.BadgeLevel(level), fromMicros(issued), fromMicros(expires)
	b.RevokedAt = fromMicrosOrNull(revoked)
	return b, fromJSON(met, &b.Met)
}

func plainBadge(rows *sql.Rows) (hub.BadgeRow, error) { return scanBadge(rows) }

func (t *tx) Badge(release int64) (hub.BadgeRow, error) {
	return one(all(t.session, plainBadge, "SELECT "+badgeColumns+" FROM badges b WHERE b.release = ?", release))
}

func (t *tx) RevokedDigest(tenant, digest string) (hub.BadgeRow, error) {
	return one(all(t.session, plainBadge, "SELECT "+badgeColumns+
		" FROM badges b WHERE b.tenant = ? AND b.digest = ? AND b.revoked_at IS NOT NULL ORDER BY b.release LIMIT 1", tenant, digest))
}

func (t *tx) Badges(tenant string, level hubapi.BadgeLevel, after string, limit int) ([]hub.BadgeOn, error) {
	query := "SELECT " + badgeColumns + `, s.author, s.name, r.version, r.digest
  FROM badges b JOIN releases r ON r.seq = b.release JOIN skills s ON s.id = r.skill
  WHERE b.tenant = ? AND r.status = 'active' AND s.name > ?`
	args := []any{tenant, after}
	if level != "" {
		query += " AND b.level = ?"
		args = append(args, string(level))
	}
	return all(t.session, func(rows *sql.Rows) (on hub.BadgeOn, err error) {
		on.BadgeRow, err = scanBadge(rows, &on.Author, &on.Name, &on.Version, &on.ReleaseDigest)
		return on, err
	}, query+" ORDER BY s.name LIMIT ?", append(args, limit)...)
}

func (t *tx) CountBadges(tenant string, since time.Time) ([]hub.BadgeCount, error) {
	return all(t.session, func(rows *sql.Rows) (c hub.BadgeCount, err error) {
		var level string
		var revoked int
		err = rows.Scan(&level, &revoked, &c.Badges, &c.Recent)
		c.Level, c.Revoked = hubapi.BadgeLevel(level), revoked == 1
		return c, err
	}, `SELECT level, CASE WHEN revoked_at IS NULL THEN 0 ELSE 1 END AS revoked, count(*),
  sum(CASE WHEN issued_at >= ? THEN 1 ELSE 0 END)
  FROM badges WHERE tenant = ?
  GROUP BY level, CASE WHEN revoked_at IS NULL THEN 0 ELSE 1 END ORDER BY level, revoked`, micros(since), tenant)
}

func (t *tx) Attestations(release int64) ([]hub.AttestationRow, error) {
	return all(t.session, func(rows *sql.Rows) (a hub.AttestationRow, err error) {
		var at int64
		err = rows.Scan(&a.Release, &a.Requirement, &a.Met, &at, &a.By, &a.Reason)
		a.At = fromMicros(at)
		return a, err
	}, "SELECT release, requirement, met, at, attested_by, reason FROM attestations WHERE release = ? ORDER BY requirement", release)
}

const selectSubmission = `SELECT id, tenant, author, name, version, manifest, source_url, submitter_id, submitted_by,
  submitted_at FROM submissions `

func scanSubmission(rows *sql.Rows) (s hub.SubmissionRow, err error) {
	var at int64
	err = rows.Scan(&s.ID, &s.Tenant, &s.Author, &s.Name, &s.Version, &s.Manifest, &s.SourceURL, &s.SubmitterID, &s.By, &at)
	s.At = fromMicros(at)
	return s, err
}

func (t *tx) Submission(tenant, id string) (hub.SubmissionRow, error) {
	return one(all(t.session, scanSubmission, selectSubmission+"WHERE tenant = ? AND id = ?", tenant, id))
}

func (t *tx) SameSubmission(s hub.SubmissionRow) (hub.SubmissionRow, error) {
	return one(all(t.session, scanSubmission, selectSubmission+`WHERE tenant = ? AND author = ? AND name = ? AND version = ?
  AND manifest = ? AND source_url = ? AND submitter_id = ? AND submitted_by = ? ORDER BY submitted_at, id LIMIT 1`,
		s.Tenant, s.Author, s.Name, s.Version, s.Manifest, s.SourceURL, s.SubmitterID, s.By))
}

func (t *tx) Category(release int64) (string, error) {
	return one(all(t.session, func(rows *sql.Rows) (category string, err error) {
		return category, rows.Scan(&category)
	}, "SELECT category FROM categories WHERE release = ?", release))
}

func (t *tx) PutBadge(b hub.BadgeRow) error {
	if _, err := t.exec(`INSERT INTO badges (release, tenant, digest, level, met, issued_at, expires_at, issued_by,
  revoked_at, revoked_by, revoke_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (release) DO UPDATE SET digest = excluded.digest, level = excluded.level, met = excluded.met,
  issued_at = excluded.issued_at, expires_at = excluded.expires_at, issued_by = excluded.issued_by,
  revoked_at = excluded.revoked_at, revoked_by = excluded.revoked_by, revoke_reason = excluded.revoke_reason`,
		b.Release, b.Tenant, b.Digest, string(b.Level), asJSON(b.Met), micros(b.IssuedAt), micros(b.ExpiresAt), b.IssuedBy,
		microsOrNull(b.RevokedAt), b.RevokedBy, b.RevokeReason); err != nil {
		return err
	}
	found, err := one(all(t.session, scanInt, "SELECT count(*) FROM search_docs WHERE release = ? AND data IS NOT NULL", b.Release))
	if err != nil || found == 0 {
		return err
	}
	change, err := t.nextChange(b.Tenant)
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE search_docs SET change = ? WHERE release = ?", change, b.Release)
	return err
}

func (t *tx) PutAttestation(a hub.AttestationRow) error {
	_, err := t.exec(`INSERT INTO attestations (release, requirement, met, at, attested_by, reason) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (release, requirement) DO UPDATE SET met = excluded.met, at = excluded.at,
  attested_by = excluded.attested_by, reason = excluded.reason`,
		a.Release, a.Requirement, a.Met, micros(a.At), a.By, a.Reason)
	return err
}

func (t *tx) AddSubmission(s hub.SubmissionRow) error {
	_, err := t.exec(`INSERT INTO submissions (id, tenant, author, name, version, manifest, source_url, submitter_id,
  submitted_by, submitted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Tenant, s.Author, s.Name, s.Version, s.Manifest, s.SourceURL, s.SubmitterID, s.By, micros(s.At))
	return err
}

func (t *tx) SetCategory(release int64, category string) error {
	_, err := t.exec("INSERT INTO categories (release, category) VALUES (?, ?)", release, category)
	return err
}
