-- Whose signatures authors stand for: every version that there was, as it was signed.
CREATE TABLE publishers (
  tenant   TEXT NOT NULL REFERENCES tenants (id),
  author   TEXT NOT NULL,
  version  INTEGER NOT NULL,
  envelope BLOB NOT NULL,
  added_at INTEGER NOT NULL,
  added_by TEXT NOT NULL,
  PRIMARY KEY (tenant, author, version)
) STRICT, WITHOUT ROWID;
