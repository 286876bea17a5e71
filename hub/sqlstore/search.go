package sqlstore

import (
	"database/sql"

	"github.com/kortecx/kx/hub"
)

func (t *tx) SearchChange(tenant string) (int64, error) {
	change, err := one(all(t.session, func(rows *sql.Rows) (n int64, err error) {
		return n, rows.Scan(&n)
	}, "SELECT change FROM search_changes WHERE tenant = ?", tenant))
	if err == hub.ErrNoRow {
		return 0, nil
	}
	return change, err
}

func (t *tx) SearchDocs(tenant string, after int64, fn func(hub.SearchDoc) error) error {
	which := ""
	if after == 0 {
		which = "AND d.data IS NOT NULL "
	}
	return t.query(func(rows *sql.Rows) error {
		d := hub.SearchDoc{Tenant: tenant}
		there := false
		var until int64
		if err := rows.Scan(&d.Release, &d.Change, &there, &d.Data, &d.Version, &d.Author, &d.Description, &d.Tags, &d.Category, &until); err != nil {
			return err
		}
		if until != 0 {
			d.CertifiedUntil = fromMicros(until)
		}
		if there && d.Data == nil {
			d.Data = []byte{}
		}
		return fn(d)
	}, `SELECT d.release, d.change, d.data IS NOT NULL, d.data, r.version, s.author, r.description, r.tags, coalesce(c.category, ''),
  CASE WHEN b.release IS NOT NULL AND b.revoked_at IS NULL AND b.digest = r.digest THEN b.expires_at ELSE 0 END
  FROM search_docs d JOIN releases r ON r.seq = d.release JOIN skills s ON s.id = r.skill
  LEFT JOIN categories c ON c.release = d.release LEFT JOIN badges b ON b.release = d.release
  WHERE d.tenant = ? AND d.change > ? `+which+"ORDER BY d.change",
		tenant, after)
}

func (t *tx) SearchTenants() ([]string, error) {
	return all(t.session, func(rows *sql.Rows) (tenant string, err error) {
		return tenant, rows.Scan(&tenant)
	}, "SELECT tenant FROM search_changes ORDER BY tenant")
}

func (t *tx) PutSearchDoc(d hub.SearchDoc) error {
	change, err := t.nextChange(d.Tenant)
	if err != nil {
		return err
	}
	var data any // a nil []byte in an interface is not NULL to every driver
	if d.Data != nil {
		data = d.Data
	}
	_, err = t.exec(`INSERT INTO search_docs (release, tenant, change, data) VALUES (?, ?, ?, ?)
  ON CONFLICT (release) DO UPDATE SET change = excluded.change, data = excluded.data`, d.Release, d.Tenant, change, data)
	return err
}

func (t *tx) nextChange(tenant string) (int64, error) {
	return t.insert(`INSERT INTO search_changes (tenant, change) VALUES (?, 1)
  ON CONFLICT (tenant) DO UPDATE SET change = search_changes.change + 1 RETURNING change`, tenant)
}
