-- Who is told about reviews, and the last event that each was told. The id is a
-- hash of tenant and address: an address may hold a secret.
CREATE TABLE webhooks (
  id     TEXT    NOT NULL PRIMARY KEY,
  tenant TEXT    NOT NULL REFERENCES tenants (id),
  after  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
