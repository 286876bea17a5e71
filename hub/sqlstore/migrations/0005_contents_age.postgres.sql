-- When a content came: what nothing refers to is kept for a while.
ALTER TABLE contents ADD COLUMN added_at BIGINT NOT NULL DEFAULT 0;
