-- What a release says it is about; releases that say nothing have no row.
CREATE TABLE categories (
  release  INTEGER NOT NULL PRIMARY KEY REFERENCES releases (seq),
  category TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- A badge belongs to one release, whose author, name, version and digest never
-- change; the digest is what was looked at when it was issued.
CREATE TABLE badges (
  release       INTEGER NOT NULL PRIMARY KEY REFERENCES releases (seq),
  tenant        TEXT    NOT NULL REFERENCES tenants (id),
  digest        TEXT    NOT NULL,
  level         TEXT    NOT NULL CHECK (level IN ('basic', 'standard', 'premium')),
  met           TEXT    NOT NULL, -- JSON array of requirement ids
  issued_at     INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL,
  issued_by     TEXT    NOT NULL,
  revoked_at    INTEGER,
  revoked_by    TEXT    NOT NULL DEFAULT '',
  revoke_reason TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX badges_digest ON badges (tenant, digest);

-- The last word of a reviewer on one requirement; earlier ones are in the audit.
CREATE TABLE attestations (
  release     INTEGER NOT NULL REFERENCES releases (seq),
  requirement TEXT    NOT NULL,
  met         INTEGER NOT NULL CHECK (met IN (0, 1)),
  at          INTEGER NOT NULL,
  attested_by TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  PRIMARY KEY (release, requirement)
) STRICT, WITHOUT ROWID;

-- Manifests that came without code. What became of one is found by its author,
-- name and version.
CREATE TABLE submissions (
  id           TEXT    NOT NULL PRIMARY KEY,
  tenant       TEXT    NOT NULL REFERENCES tenants (id),
  author       TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  version      TEXT    NOT NULL,
  manifest     TEXT    NOT NULL, -- JSON, keys sorted
  source_url   TEXT    NOT NULL,
  submitter_id TEXT    NOT NULL,
  submitted_by TEXT    NOT NULL,
  submitted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX submissions_skill ON submissions (tenant, name, version, author);
