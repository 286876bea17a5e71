-- What releases mean, as a model sees it. A row is made after the release went
-- active, by whichever server comes to it; releases never change.
CREATE TABLE embeddings (
  release INTEGER NOT NULL PRIMARY KEY REFERENCES releases (seq),
  model   TEXT    NOT NULL,
  vector  BLOB    NOT NULL
) STRICT;
