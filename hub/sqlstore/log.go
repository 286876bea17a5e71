package sqlstore

import (
	"database/sql"
	"errors"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/internal/translog"
)

func (t *tx) LogHub() (hub.LogHubRow, error) {
	return one(all(t.session, func(rows *sql.Rows) (r hub.LogHubRow, err error) {
		return r, rows.Scan(&r.Host, &r.Seed)
	}, "SELECT host, seed FROM log_hub WHERE one = 1"))
}

func (t *tx) PutLogHub(r hub.LogHubRow) error {
	_, err := t.exec(`INSERT INTO log_hub (one, host, seed) VALUES (1, ?, ?)
  ON CONFLICT (one) DO UPDATE SET host = excluded.host, seed = excluded.seed`, r.Host, r.Seed)
	return err
}

func (t *tx) LogTree(tenant string) (translog.Tree, error) {
	tree, err := one(all(t.session, func(rows *sql.Rows) (translog.Tree, error) {
		var size int64
		var edge []byte
		if err := rows.Scan(&size, &edge); err != nil {
			return translog.Tree{}, err
		}
		return translog.ReadTree(size, edge)
	}, "SELECT size, edge FROM log_trees WHERE tenant = ?", tenant))
	if errors.Is(err, hub.ErrNoRow) {
		return translog.Tree{}, nil
	}
	return tree, err
}

const selectLog = `SELECT idx, entry, op, name, release, nonce, principal, note FROM log_entries `

func scanLog(rows *sql.Rows) (r hub.LogRow, err error) {
	var release sql.NullInt64
	err = rows.Scan(&r.Index, &r.Entry, &r.Op, &r.Name, &release, &r.Nonce, &r.Principal, &r.Note)
	r.Release = release.Int64
	return r, err
}

func (t *tx) LogEntries(tenant string, first int64, limit int) ([]hub.LogRow, error) {
	return all(t.session, scanLog, selectLog+"WHERE tenant = ? AND idx >= ? ORDER BY idx LIMIT ?", tenant, first, limit)
}

func (t *tx) LogEntriesNamed(tenant, name string, first int64, limit int) ([]hub.LogRow, error) {
	return all(t.session, scanLog, selectLog+"WHERE tenant = ? AND name = ? AND idx >= ? ORDER BY idx LIMIT ?", tenant, name, first, limit)
}

func (t *tx) LoggedRelease(tenant, name string, release int64) (hub.LogRow, error) {
	// The tenant alone would lead SQLite through the whole log.
	return one(all(t.session, scanLog, selectLog+`WHERE release = ? AND name = ? AND tenant || '' = ?
  ORDER BY CASE op WHEN 'publish' THEN 0 ELSE 1 END, idx DESC LIMIT 1`, release, name, tenant))
}

func (t *tx) LogHashes(tenant string, indexes []int64) ([][]byte, error) {
	out := make([][]byte, len(indexes))
	for i, index := range indexes {
		var err error
		out[i], err = one(all(t.session, func(rows *sql.Rows) (data []byte, err error) {
			return data, rows.Scan(&data)
		}, "SELECT hashes FROM log_entries WHERE tenant = ? AND idx = ?", tenant, index))
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *tx) ReleasesBehind(tenant string, after int64, limit int) ([]hub.ReleaseRow, error) {
	return all(t.session, scanRelease, selectRelease+"WHERE r.tenant = ? AND r.seq > ? ORDER BY r.seq LIMIT ?", tenant, after, limit)
}

func (t *tx) AppendLog(tenant string, r hub.LogRow) (int64, error) {
	tree, err := t.LogTree(tenant)
	if err != nil {
		return 0, err
	}
	index := tree.Size
	tree, hashes := tree.Append(translog.LeafHash(r.Entry))
	if _, err := t.exec(`INSERT INTO log_trees (tenant, size, edge) VALUES (?, ?, ?)
  ON CONFLICT (tenant) DO UPDATE SET size = excluded.size, edge = excluded.edge`, tenant, tree.Size, tree.Edge()); err != nil {
		return 0, err
	}
	_, err = t.exec(`INSERT INTO log_entries (tenant, idx, entry, hashes, op, name, release, nonce, principal, note)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tenant, index, r.Entry, hashes, r.Op, r.Name, sql.NullInt64{Int64: r.Release, Valid: r.Release != 0}, r.Nonce, r.Principal, r.Note)
	return index, err
}

// log holds every tenant's log against itself and against the releases.
func (c *checker) log() error {
	const since = 3 // the migration that brought the log
	if c.report.Schema < since {
		return nil
	}
	t := &tx{c.session}
	tenants, err := t.Tenants()
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		problems, err := hub.CheckLog(t, tenant.ID)
		if err != nil {
			return err
		}
		for _, p := range problems {
			c.fault(p.ID, "log of "+tenant.ID, "%s", p.Text)
		}
	}
	return nil
}
