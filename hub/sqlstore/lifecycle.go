package sqlstore

import (
	"database/sql"
	"time"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
)

// microsOrNull keeps the zero time as NULL.
func microsOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return micros(t)
}

func fromMicrosOrNull(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return fromMicros(n.Int64)
}

const selectTenant = `SELECT id, self_approve, opted_out, auto_promote_clean, public_log, inbox_muted,
  inbox_max_pending, cooloff_days, stale_days, min_cluster_size, min_distinct_agents, freshness_days,
  description_max_bytes, body_max_bytes, public_catalog FROM tenants `

func scanTenant(rows *sql.Rows) (r hub.TenantRow, err error) {
	return r, rows.Scan(&r.ID, &r.SelfApprove, &r.OptedOut, &r.AutoPromoteClean, &r.PublicLog, &r.InboxMuted,
		&r.InboxMaxPending, &r.CooloffDays, &r.StaleDays, &r.MinClusterSize, &r.MinAgents, &r.FreshnessDays,
		&r.DescriptionBytes, &r.BodyBytes, &r.PublicCatalog)
}

func (t *tx) Tenant(id string) (hub.TenantRow, error) {
	return one(all(t.session, scanTenant, selectTenant+"WHERE id = ?", id))
}

func (t *tx) Tenants() ([]hub.TenantRow, error) {
	return all(t.session, scanTenant, selectTenant+"ORDER BY id")
}

func (t *tx) PutTenant(r hub.TenantRow) error {
	_, err := t.exec(`INSERT INTO tenants (id, self_approve, opted_out, auto_promote_clean, public_log, inbox_muted,
  inbox_max_pending, cooloff_days, stale_days, min_cluster_size, min_distinct_agents, freshness_days,
  description_max_bytes, body_max_bytes, public_catalog) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET self_approve = excluded.self_approve, opted_out = excluded.opted_out,
  auto_promote_clean = excluded.auto_promote_clean, public_log = excluded.public_log,
  inbox_muted = excluded.inbox_muted, inbox_max_pending = excluded.inbox_max_pending,
  cooloff_days = excluded.cooloff_days, stale_days = excluded.stale_days,
  min_cluster_size = excluded.min_cluster_size, min_distinct_agents = excluded.min_distinct_agents,
  freshness_days = excluded.freshness_days, description_max_bytes = excluded.description_max_bytes,
  body_max_bytes = excluded.body_max_bytes, public_catalog = excluded.public_catalog`,
		r.ID, r.SelfApprove, r.OptedOut, r.AutoPromoteClean, r.PublicLog, r.InboxMuted,
		r.InboxMaxPending, r.CooloffDays, r.StaleDays, r.MinClusterSize, r.MinAgents, r.FreshnessDays,
		r.DescriptionBytes, r.BodyBytes, r.PublicCatalog)
	return err
}

func (t *tx) Waiting(tenant string, status hubapi.Status, limit int) ([]hub.ReleaseRow, error) {
	return all(t.session, scanRelease, selectRelease+`WHERE r.tenant = ? AND r.status = ?
  ORDER BY CASE WHEN r.deferred_at IS NULL THEN 0 ELSE 1 END, r.seq DESC LIMIT ?`, tenant, string(status), limit)
}

func (t *tx) OldestReleases(tenant string, status hubapi.Status, after int64, limit int) ([]hub.ReleaseRow, error) {
	return all(t.session, scanRelease, selectRelease+`WHERE r.tenant = ? AND r.status = ? AND r.seq > ?
  ORDER BY r.seq LIMIT ?`, tenant, string(status), after, limit)
}

func (t *tx) Evidence(release int64) (hub.EvidenceRow, error) {
	return one(all(t.session, func(rows *sql.Rows) (e hub.EvidenceRow, err error) {
		return e, rows.Scan(&e.Origin, &e.Scan, &e.Rules)
	}, "SELECT origin, scan, scan_rules FROM releases WHERE seq = ?", release))
}

func (t *tx) SetEvidence(release int64, e hub.EvidenceRow) error {
	_, err := t.exec("UPDATE releases SET origin = ?, scan = ?, scan_rules = ? WHERE seq = ?", e.Origin, e.Scan, e.Rules, release)
	return err
}

func (t *tx) Annotate(release int64, n hub.ReviewNote) error {
	_, err := t.exec("UPDATE releases SET base = ?, reason = ?, deferred_at = ?, defer_reason = ?, replaced_by = ? WHERE seq = ?",
		n.Base, n.Reason, microsOrNull(n.DeferredAt), n.DeferReason, n.ReplacedBy, release)
	return err
}

func (t *tx) Cooloff(tenant, fingerprint string) (hub.CooloffRow, error) {
	return one(all(t.session, func(rows *sql.Rows) (c hub.CooloffRow, err error) {
		var at, until int64
		err = rows.Scan(&c.Tenant, &c.Fingerprint, &c.Release, &c.RejectedBy, &at, &until, &c.Reason)
		c.RejectedAt, c.Until = fromMicros(at), fromMicros(until)
		return c, err
	}, `SELECT tenant, fingerprint, release, rejected_by, rejected_at, until, reason FROM cooloffs
  WHERE tenant = ? AND fingerprint = ? ORDER BY until DESC LIMIT 1`, tenant, fingerprint))
}

func (t *tx) AddCooloff(c hub.CooloffRow) error {
	_, err := t.exec(`INSERT INTO cooloffs (tenant, fingerprint, release, rejected_by, rejected_at, until, reason)
  VALUES (?, ?, ?, ?, ?, ?, ?)`, c.Tenant, c.Fingerprint, c.Release, c.RejectedBy, micros(c.RejectedAt), micros(c.Until), c.Reason)
	return err
}

func (t *tx) DropCooloffs(tenant, fingerprint string) (bool, error) {
	return t.changed("DELETE FROM cooloffs WHERE tenant = ? AND fingerprint = ?", tenant, fingerprint)
}
