-- Machines that reconcile. The report is what the last heartbeat said, the
-- summary what it said of its skills.
CREATE TABLE nodes (
  id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  tenant        TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
  name          TEXT COLLATE "C" NOT NULL,
  fleet         TEXT COLLATE "C" NOT NULL, -- empty: none
  reported_by   TEXT COLLATE "C" NOT NULL,
  report        TEXT COLLATE "C" NOT NULL, -- JSON
  reconcile     TEXT COLLATE "C" NOT NULL, -- JSON; empty when there was none
  snapshot_hash TEXT COLLATE "C" NOT NULL,
  snapshot_at   BIGINT,
  success_at    BIGINT,
  failure       TEXT COLLATE "C" NOT NULL, -- why the last summary was none of a success
  heartbeat_at  BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  UNIQUE (tenant, name)
);

CREATE INDEX nodes_heartbeat ON nodes (tenant, heartbeat_at);

-- What a node was last known to have installed. A table of its own, because a
-- heartbeat that tells nothing new then does not write it again.
CREATE TABLE node_snapshots (
  node TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES nodes (id),
  data TEXT COLLATE "C" NOT NULL -- JSON
);
