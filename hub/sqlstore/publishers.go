package sqlstore

import (
	"database/sql"

	"github.com/kortecx/kx/hub"
)

func (t *tx) Publishers(tenant, author string, after int64, limit int) ([]hub.PublisherRow, error) {
	return all(t.session, func(rows *sql.Rows) (p hub.PublisherRow, err error) {
		var added int64
		err = rows.Scan(&p.Tenant, &p.Author, &p.Version, &p.Envelope, &added, &p.AddedBy)
		p.AddedAt = fromMicros(added)
		return p, err
	}, `SELECT tenant, author, version, envelope, added_at, added_by FROM publishers
  WHERE tenant = ? AND author = ? AND version > ? ORDER BY version LIMIT ?`, tenant, author, after, limit)
}

func (t *tx) LastPublisher(tenant, author string) (hub.PublisherRow, error) {
	return one(all(t.session, func(rows *sql.Rows) (p hub.PublisherRow, err error) {
		var added int64
		err = rows.Scan(&p.Tenant, &p.Author, &p.Version, &p.Envelope, &added, &p.AddedBy)
		p.AddedAt = fromMicros(added)
		return p, err
	}, `SELECT tenant, author, version, envelope, added_at, added_by FROM publishers
  WHERE tenant = ? AND author = ? ORDER BY version DESC LIMIT 1`, tenant, author))
}

func (t *tx) AddPublisher(p hub.PublisherRow) error {
	_, err := t.exec(`INSERT INTO publishers (tenant, author, version, envelope, added_at, added_by)
  VALUES (?, ?, ?, ?, ?, ?)`, p.Tenant, p.Author, p.Version, p.Envelope, micros(p.AddedAt), p.AddedBy)
	return err
}
