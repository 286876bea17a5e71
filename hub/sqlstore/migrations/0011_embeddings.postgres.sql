-- What releases mean, as a model sees it. A row is made after the release went
-- active, by whichever server comes to it; releases never change.
CREATE TABLE embeddings (
  release BIGINT NOT NULL PRIMARY KEY REFERENCES releases (seq),
  model   TEXT COLLATE "C" NOT NULL,
  vector  BYTEA NOT NULL
);
