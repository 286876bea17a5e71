-- The transparency log. The hub's key and the host that its logs are called after.
CREATE TABLE log_hub (
  one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  host TEXT    NOT NULL,
  seed BLOB    NOT NULL CHECK (length(seed) = 32)
) STRICT;

-- How long each tenant's log is, and the roots of its perfect subtrees.
CREATE TABLE log_trees (
  tenant TEXT    NOT NULL PRIMARY KEY REFERENCES tenants (id),
  size   INTEGER NOT NULL,
  edge   BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- entry is the exact leaf; hashes are that of the leaf and of the subtrees that it
-- completes. The rest is for those who may know what a leaf is about.
CREATE TABLE log_entries (
  tenant    TEXT    NOT NULL REFERENCES tenants (id),
  idx       INTEGER NOT NULL, -- from 0, without gaps
  entry     BLOB    NOT NULL,
  hashes    BLOB    NOT NULL,
  op        TEXT    NOT NULL,
  name      TEXT    NOT NULL, -- of the skill, or the owner
  release   INTEGER REFERENCES releases (seq),
  nonce     BLOB, -- NULL when the leaf has the name in clear
  principal TEXT    NOT NULL,
  note      TEXT    NOT NULL,
  PRIMARY KEY (tenant, idx)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_entries_name ON log_entries (tenant, name, idx);
