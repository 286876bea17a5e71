-- Plain documents. Those of the collection skills are releases and stand elsewhere.
CREATE TABLE documents (
  id         INTEGER PRIMARY KEY,
  tenant     TEXT    NOT NULL REFERENCES tenants (id),
  collection TEXT    NOT NULL,
  doc_id     TEXT    NOT NULL,
  fleet      TEXT    NOT NULL,
  data       TEXT    NOT NULL, -- a JSON object
  size       INTEGER NOT NULL, -- of data, in bytes
  created_by TEXT    NOT NULL,
  updated_by TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (tenant, collection, doc_id)
) STRICT;

CREATE INDEX documents_updated ON documents (tenant, collection, updated_at, doc_id);
CREATE INDEX documents_size ON documents (tenant, collection, size);
