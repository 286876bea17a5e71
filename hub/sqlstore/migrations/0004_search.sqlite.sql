-- What search knows of active releases. change numbers the changes of a tenant's
-- rows; data is NULL once the release is not active any more, and empty where the
-- program has yet to make it.
CREATE TABLE search_docs (
  release INTEGER NOT NULL PRIMARY KEY REFERENCES releases (seq),
  tenant  TEXT    NOT NULL REFERENCES tenants (id),
  change  INTEGER NOT NULL,
  data    BLOB
) STRICT;

INSERT INTO search_docs (release, tenant, change, data)
SELECT seq, tenant, row_number() OVER (PARTITION BY tenant ORDER BY seq), x''
FROM releases WHERE status = 'active';

CREATE UNIQUE INDEX search_docs_change ON search_docs (tenant, change);

CREATE TABLE search_changes (
  tenant TEXT    NOT NULL PRIMARY KEY REFERENCES tenants (id),
  change INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO search_changes (tenant, change)
SELECT tenant, max(change) FROM search_docs GROUP BY tenant;

-- A row for every word of every release, which nothing reads any more.
DROP TABLE search_words;
