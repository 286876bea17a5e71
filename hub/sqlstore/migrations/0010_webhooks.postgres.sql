-- Who is told about reviews, and the last event that each was told. The id is a
-- hash of tenant and address: an address may hold a secret.
CREATE TABLE webhooks (
  id     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  tenant TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
  after  BIGINT NOT NULL
);
