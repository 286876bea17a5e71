package sqlstore

import (
	"database/sql"
	"time"

	"github.com/kortecx/kx/hub"
)

const selectNode = `SELECT n.id, n.tenant, n.name, n.fleet, n.reported_by, n.report, n.reconcile,
  coalesce(s.data, ''), n.snapshot_hash, n.snapshot_at, n.success_at, n.failure, n.heartbeat_at, n.created_at
  FROM nodes n LEFT JOIN node_snapshots s ON s.node = n.id `

func scanNode(rows *sql.Rows) (hub.NodeRow, error) {
	var (
		n                  hub.NodeRow
		snapshot, success  sql.NullInt64
		heartbeat, created int64
	)
	err := rows.Scan(&n.ID, &n.Tenant, &n.Name, &n.Fleet, &n.ReportedBy, &n.Report, &n.Reconcile,
		&n.Snapshot, &n.SnapshotHash, &snapshot, &success, &n.Failure, &heartbeat, &created)
	n.SnapshotAt, n.SuccessAt = fromMicrosOrNull(snapshot), fromMicrosOrNull(success)
	n.HeartbeatAt, n.CreatedAt = fromMicros(heartbeat), fromMicros(created)
	return n, err
}

func (t *tx) Node(tenant, id string) (hub.NodeRow, error) {
	return one(all(t.session, scanNode, selectNode+"WHERE n.id = ? AND n.tenant = ?", id, tenant))
}

func (t *tx) Nodes(q hub.NodeQuery) ([]hub.NodeRow, error) {
	where, args := "WHERE n.tenant = ?", []any{q.Tenant}
	and := func(condition string, arg any) {
		where += " AND " + condition
		args = append(args, arg)
	}
	if q.Fleet != "" {
		and("n.fleet = ?", q.Fleet)
	}
	if q.Name != "" {
		and("n.name = ?", q.Name)
	}
	if !q.From.IsZero() {
		and("n.heartbeat_at >= ?", micros(q.From))
	}
	if !q.Before.IsZero() {
		and("n.heartbeat_at < ?", micros(q.Before))
	}
	return all(t.session, scanNode, selectNode+where+" ORDER BY n.heartbeat_at DESC, n.name LIMIT ?", append(args, q.Limit)...)
}

func (t *tx) CountNodes(tenant string) (int, error) {
	n, err := one(all(t.session, scanInt, "SELECT count(*) FROM nodes WHERE tenant = ?", tenant))
	return int(n), err
}

func (t *tx) Fleets(tenant string, stale, offline time.Time) ([]hub.FleetRow, error) {
	return all(t.session, func(rows *sql.Rows) (f hub.FleetRow, err error) {
		var last int64
		err = rows.Scan(&f.Fleet, &f.Nodes, &f.Stale, &f.Offline, &last)
		f.HeartbeatAt = fromMicros(last)
		return f, err
	}, `SELECT fleet, count(*), sum(CASE WHEN heartbeat_at < ? THEN 1 ELSE 0 END),
  sum(CASE WHEN heartbeat_at < ? THEN 1 ELSE 0 END), max(heartbeat_at)
  FROM nodes WHERE tenant = ? GROUP BY fleet ORDER BY fleet`, micros(stale), micros(offline), tenant)
}

func (t *tx) PutNode(n hub.NodeRow) error {
	hash, err := all(t.session, func(rows *sql.Rows) (hash string, err error) {
		return hash, rows.Scan(&hash)
	}, "SELECT snapshot_hash FROM nodes WHERE id = ?", n.ID)
	if err != nil {
		return err
	}
	if _, err := t.exec(`INSERT INTO nodes (id, tenant, name, fleet, reported_by, report, reconcile,
  snapshot_hash, snapshot_at, success_at, failure, heartbeat_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, name = excluded.name, fleet = excluded.fleet,
  reported_by = excluded.reported_by, report = excluded.report, reconcile = excluded.reconcile,
  snapshot_hash = excluded.snapshot_hash, snapshot_at = excluded.snapshot_at, success_at = excluded.success_at,
  failure = excluded.failure,  heartbeat_at = excluded.heartbeat_at`,
		n.ID, n.Tenant, n.Name, n.Fleet, n.ReportedBy, n.Report, n.Reconcile,
		n.SnapshotHash, microsOrNull(n.SnapshotAt), microsOrNull(n.SuccessAt), n.Failure, micros(n.HeartbeatAt), micros(n.CreatedAt)); err != nil {
		return err
	}
	if len(hash) == 1 && hash[0] == n.SnapshotHash || len(hash) == 0 && n.Snapshot == "" {
		return nil
	}
	_, err = t.exec("INSERT INTO node_snapshots (node, data) VALUES (?, ?) ON CONFLICT (node) DO UPDATE SET data = excluded.data", n.ID, n.Snapshot)
	return err
}

func (t *tx) DropNode(tenant, id string) (bool, error) {
	if _, err := t.exec(`DELETE FROM node_snapshots
  WHERE node IN (SELECT id FROM nodes WHERE id = ? AND tenant = ?)`, id, tenant); err != nil {
		return false, err
	}
	return t.changed("DELETE FROM nodes WHERE id = ? AND tenant = ?", id, tenant)
}
