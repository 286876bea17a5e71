-- The transparency log. The hub's key and the host that its logs are called after.
CREATE TABLE log_hub (
  one  BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
  host TEXT COLLATE "C" NOT NULL,
  seed BYTEA  NOT NULL CHECK (length(seed) = 32)
);

-- How long each tenant's log is, and the roots of its perfect subtrees.
CREATE TABLE log_trees (
  tenant TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tenants (id),
  size   BIGINT NOT NULL,
  edge   BYTEA  NOT NULL
);

-- entry is the exact leaf; hashes are that of the leaf and of the subtrees that it
-- completes. The rest is for those who may know what a leaf is about.
CREATE TABLE log_entries (
  tenant    TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
  idx       BIGINT NOT NULL, -- from 0, without gaps
  entry     BYTEA  NOT NULL,
  hashes    BYTEA  NOT NULL,
  op        TEXT COLLATE "C" NOT NULL,
  name      TEXT COLLATE "C" NOT NULL, -- of the skill, or the owner
  release   BIGINT REFERENCES releases (seq),
  nonce     BYTEA, -- NULL when the leaf has the name in clear
  principal TEXT COLLATE "C" NOT NULL,
  note      TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, idx)
);

CREATE INDEX log_entries_name ON log_entries (tenant, name, idx);
