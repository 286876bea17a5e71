-- What a release says it is about; releases that say nothing have no row.
CREATE TABLE categories (
  release  BIGINT NOT NULL PRIMARY KEY REFERENCES releases (seq),
  category TEXT COLLATE "C" NOT NULL
);

-- A badge belongs to one release, whose author, name, version and digest never
-- change; the digest is what was looked at when it was issued.
CREATE TABLE badges (
  release       BIGINT NOT NULL PRIMARY KEY REFERENCES releases (seq),
  tenant        TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
  digest        TEXT COLLATE "C" NOT NULL,
  level         TEXT COLLATE "C" NOT NULL CHECK (level IN ('basic', 'standard', 'premium')),
  met           TEXT COLLATE "C" NOT NULL, -- JSON array of requirement ids
  issued_at     BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  issued_by     TEXT COLLATE "C" NOT NULL,
  revoked_at    BIGINT,
  revoked_by    TEXT COLLATE "C" NOT NULL DEFAULT '',
  revoke_reason TEXT COLLATE "C" NOT NULL DEFAULT ''
);

CREATE INDEX badges_digest ON badges (tenant, digest);

-- The last word of a reviewer on one requirement; earlier ones are in the audit.
CREATE TABLE attestations (
  release     BIGINT NOT NULL REFERENCES releases (seq),
  requirement TEXT COLLATE "C" NOT NULL,
  met         BOOLEAN NOT NULL,
  at          BIGINT NOT NULL,
  attested_by TEXT COLLATE "C" NOT NULL,
  reason      TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (release, requirement)
);

-- Manifests that came without code. What became of one is found by its author,
-- name and version.
CREATE TABLE submissions (
  id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  tenant       TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
  author       TEXT COLLATE "C" NOT NULL,
  name         TEXT COLLATE "C" NOT NULL,
  version      TEXT COLLATE "C" NOT NULL,
  manifest     TEXT COLLATE "C" NOT NULL, -- JSON, keys sorted
  source_url   TEXT COLLATE "C" NOT NULL,
  submitter_id TEXT COLLATE "C" NOT NULL,
  submitted_by TEXT COLLATE "C" NOT NULL,
  submitted_at BIGINT NOT NULL
);

CREATE INDEX submissions_skill ON submissions (tenant, name, version, author);
