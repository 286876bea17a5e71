package sqlstore

import (
	"database/sql"

	"github.com/kortecx/kx/hub"
)

const selectDocument = `SELECT tenant, collection, doc_id, fleet, data, created_by, updated_by, created_at, updated_at
  FROM documents `

func scanDocument(rows *sql.Rows) (d hub.DocumentRow, err error) {
	var created, updated int64
	err = rows.Scan(&d.Tenant, &d.Collection, &d.ID, &d.Fleet, &d.Data, &d.CreatedBy, &d.UpdatedBy, &created, &updated)
	d.CreatedAt, d.UpdatedAt = fromMicros(created), fromMicros(updated)
	return d, err
}

func (t *tx) PlainDocument(tenant, collection, id string) (hub.DocumentRow, error) {
	return one(all(t.session, scanDocument, selectDocument+"WHERE tenant = ? AND collection = ? AND doc_id = ?", tenant, collection, id))
}

func (t *tx) PlainDocuments(tenant, collection string, fn func(hub.DocumentRow) error) error {
	query, args := selectDocument+"WHERE tenant = ? ", []any{tenant}
	if collection != "" {
		query += "AND collection = ? "
		args = append(args, collection)
	}
	return t.query(func(rows *sql.Rows) error {
		d, err := scanDocument(rows)
		if err != nil {
			return err
		}
		return fn(d)
	}, query+"ORDER BY updated_at DESC, collection, doc_id", args...)
}

func (t *tx) CountPlain(tenant string) ([]hub.CollectionCount, error) {
	return all(t.session, func(rows *sql.Rows) (c hub.CollectionCount, err error) {
		return c, rows.Scan(&c.Name, &c.Count, &c.Bytes)
	}, "SELECT collection, count(*), CAST(sum(size) AS BIGINT) FROM documents WHERE tenant = ? GROUP BY collection ORDER BY collection", tenant)
}

func (t *tx) AuditSeq(tenant string) (int64, error) {
	return one(all(t.session, scanInt, "SELECT coalesce(max(seq), 0) FROM audit WHERE tenant = ?", tenant))
}

func (t *tx) PutPlainDocument(d hub.DocumentRow) error {
	_, err := t.exec(`INSERT INTO documents (tenant, collection, doc_id, fleet, data, size, created_by, updated_by, created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, collection, doc_id) DO UPDATE SET fleet = excluded.fleet, data = excluded.data, size = excluded.size,
  updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
		d.Tenant, d.Collection, d.ID, d.Fleet, d.Data, len(d.Data), d.CreatedBy, d.UpdatedBy, micros(d.CreatedAt), micros(d.UpdatedAt))
	return err
}

func (t *tx) DropPlainDocument(tenant, collection, id string) (bool, error) {
	return t.changed("DELETE FROM documents WHERE tenant = ? AND collection = ? AND doc_id = ?", tenant, collection, id)
}
