-- Settings of tenants: a number of 0 means the default that the program has.
ALTER TABLE tenants ADD COLUMN opted_out            INTEGER NOT NULL DEFAULT 0 CHECK (opted_out IN (0, 1));
ALTER TABLE tenants ADD COLUMN auto_promote_clean   INTEGER NOT NULL DEFAULT 0 CHECK (auto_promote_clean IN (0, 1));
ALTER TABLE tenants ADD COLUMN public_log           INTEGER NOT NULL DEFAULT 0 CHECK (public_log IN (0, 1));
ALTER TABLE tenants ADD COLUMN inbox_muted          INTEGER NOT NULL DEFAULT 0 CHECK (inbox_muted IN (0, 1));
ALTER TABLE tenants ADD COLUMN inbox_max_pending    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN cooloff_days         INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN stale_days           INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN min_cluster_size     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN min_distinct_agents  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN freshness_days       INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN description_max_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN body_max_bytes       INTEGER NOT NULL DEFAULT 0;

-- What a proposal remembers. base is the digest that was active when it was made.
ALTER TABLE releases ADD COLUMN base         TEXT NOT NULL DEFAULT '';
ALTER TABLE releases ADD COLUMN fingerprint  TEXT NOT NULL DEFAULT '';
ALTER TABLE releases ADD COLUMN reason       TEXT NOT NULL DEFAULT '';
ALTER TABLE releases ADD COLUMN deferred_at  INTEGER;
ALTER TABLE releases ADD COLUMN defer_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE releases ADD COLUMN edited_from  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE releases ADD COLUMN origin       TEXT NOT NULL DEFAULT ''; -- JSON object, or empty
ALTER TABLE releases ADD COLUMN scan         TEXT NOT NULL DEFAULT ''; -- JSON object, or empty
ALTER TABLE releases ADD COLUMN scan_rules   TEXT NOT NULL DEFAULT '';

-- Keys are kept as SHA-256 only.
CREATE TABLE keys (
  id         TEXT    NOT NULL PRIMARY KEY,
  sha256     BLOB    NOT NULL UNIQUE CHECK (length(sha256) = 32),
  prefix     TEXT    NOT NULL,
  tenant     TEXT    NOT NULL REFERENCES tenants (id),
  role       TEXT    NOT NULL CHECK (role IN ('admin', 'reviewer', 'publisher', 'agent', 'node')),
  authors    TEXT    NOT NULL, -- JSON array of strings
  name       TEXT    NOT NULL,
  rate       INTEGER NOT NULL, -- requests per minute, 0 for the default of the role
  created_at INTEGER NOT NULL,
  created_by TEXT    NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  revoked_by TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_tenant ON keys (tenant, id);

-- One row for each rejection: until then the same content is not taken again.
CREATE TABLE cooloffs (
  id          INTEGER PRIMARY KEY,
  tenant      TEXT    NOT NULL REFERENCES tenants (id),
  fingerprint TEXT    NOT NULL,
  release     INTEGER NOT NULL REFERENCES releases (seq),
  rejected_by TEXT    NOT NULL,
  rejected_at INTEGER NOT NULL,
  until       INTEGER NOT NULL,
  reason      TEXT    NOT NULL
) STRICT;

CREATE INDEX cooloffs_fingerprint ON cooloffs (tenant, fingerprint, until);
CREATE INDEX cooloffs_release ON cooloffs (release);
