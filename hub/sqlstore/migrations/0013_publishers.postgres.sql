-- Whose signatures authors stand for: every version that there was, as it was signed.
CREATE TABLE publishers (
  tenant   TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
  author   TEXT COLLATE "C" NOT NULL,
  version  BIGINT NOT NULL,
  envelope BYTEA NOT NULL,
  added_at BIGINT NOT NULL,
  added_by TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, author, version)
);
