-- Times are microseconds since 1970, UTC. Order is by sequence, never by time.

CREATE TABLE tenants (
  id           TEXT    NOT NULL PRIMARY KEY,
  self_approve INTEGER NOT NULL DEFAULT 0 CHECK (self_approve IN (0, 1))
) STRICT, WITHOUT ROWID;

INSERT INTO tenants (id, self_approve) VALUES ('local', 1);

-- File contents, signature files and catalog instructions, each stored once.
CREATE TABLE contents (
  id     INTEGER PRIMARY KEY,
  sha256 BLOB    NOT NULL UNIQUE CHECK (length(sha256) = 32),
  data   BLOB    NOT NULL
) STRICT;

CREATE TABLE skills (
  id           INTEGER PRIMARY KEY,
  tenant       TEXT    NOT NULL REFERENCES tenants (id),
  name         TEXT    NOT NULL,
  author       TEXT    NOT NULL,
  next_integer INTEGER NOT NULL,
  UNIQUE (tenant, name)
) STRICT;

CREATE TABLE releases (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  skill        INTEGER NOT NULL REFERENCES skills (id),
  tenant       TEXT    NOT NULL REFERENCES tenants (id),
  version      TEXT    NOT NULL,
  status       TEXT    NOT NULL CHECK (status IN
    ('candidate', 'staged', 'active', 'rejected', 'quarantined', 'deprecated', 'stale')),
  digest       TEXT    NOT NULL,
  format       TEXT    NOT NULL,
  summary      TEXT    NOT NULL,
  description  TEXT    NOT NULL,
  tags         TEXT    NOT NULL, -- JSON array of strings
  tools        TEXT    NOT NULL, -- JSON object, tool id to version
  source       TEXT    NOT NULL,
  published_by TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  approved_at  INTEGER,
  approved_by  TEXT    NOT NULL DEFAULT '',
  signature    BLOB    REFERENCES contents (sha256),
  UNIQUE (skill, version)
) STRICT;

CREATE UNIQUE INDEX releases_one_active ON releases (skill) WHERE status = 'active';
CREATE INDEX releases_status ON releases (tenant, status, seq);
CREATE INDEX releases_digest ON releases (skill, digest);

CREATE TABLE release_files (
  release    INTEGER NOT NULL REFERENCES releases (seq),
  path       TEXT    NOT NULL,
  size       INTEGER NOT NULL,
  sha256     BLOB    NOT NULL REFERENCES contents (sha256),
  executable INTEGER NOT NULL CHECK (executable IN (0, 1)),
  PRIMARY KEY (release, path)
) STRICT, WITHOUT ROWID;

-- Words of active releases.
CREATE TABLE search_words (
  tenant  TEXT    NOT NULL,
  word    TEXT    NOT NULL,
  release INTEGER NOT NULL REFERENCES releases (seq),
  fields  INTEGER NOT NULL,
  PRIMARY KEY (tenant, word, release)
) STRICT, WITHOUT ROWID;

CREATE INDEX search_words_release ON search_words (release);

CREATE TABLE catalog (
  tenant           TEXT    NOT NULL REFERENCES tenants (id),
  principal        TEXT    NOT NULL,
  name             TEXT    NOT NULL,
  version          TEXT    NOT NULL,
  description      TEXT    NOT NULL,
  tags             TEXT    NOT NULL,
  tools            TEXT    NOT NULL,
  skill_ref        TEXT    NOT NULL,
  instructions_ref TEXT    NOT NULL,
  manifest         BLOB    NOT NULL,
  instructions     BLOB    REFERENCES contents (sha256),
  updated_at       INTEGER NOT NULL,
  PRIMARY KEY (tenant, principal, name)
) STRICT;

CREATE TABLE audit (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant    TEXT    NOT NULL,
  at        INTEGER NOT NULL,
  principal TEXT    NOT NULL,
  action    TEXT    NOT NULL,
  author    TEXT    NOT NULL,
  name      TEXT    NOT NULL,
  version   TEXT    NOT NULL,
  digest    TEXT    NOT NULL,
  note      TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_tenant ON audit (tenant, seq);
