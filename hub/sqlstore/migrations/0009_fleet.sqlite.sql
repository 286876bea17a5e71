-- Machines that reconcile. The report is what the last heartbeat said, the
-- summary what it said of its skills.
CREATE TABLE nodes (
  id            TEXT    NOT NULL PRIMARY KEY,
  tenant        TEXT    NOT NULL REFERENCES tenants (id),
  name          TEXT    NOT NULL,
  fleet         TEXT    NOT NULL, -- empty: none
  reported_by   TEXT    NOT NULL,
  report        TEXT    NOT NULL, -- JSON
  reconcile     TEXT    NOT NULL, -- JSON; empty when there was none
  snapshot_hash TEXT    NOT NULL,
  snapshot_at   INTEGER,
  success_at    INTEGER,
  failure       TEXT    NOT NULL, -- why the last summary was none of a success
  heartbeat_at  INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  UNIQUE (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX nodes_heartbeat ON nodes (tenant, heartbeat_at);

-- What a node was last known to have installed. A table of its own, because a
-- heartbeat that tells nothing new then does not write it again.
CREATE TABLE node_snapshots (
  node TEXT NOT NULL PRIMARY KEY REFERENCES nodes (id),
  data TEXT NOT NULL -- JSON
) STRICT;
