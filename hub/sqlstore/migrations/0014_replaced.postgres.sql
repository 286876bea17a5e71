-- The version that took a release's place: such a release is still given to who names it.
-- Which of the earlier ones were replaced, and which withdrawn, is not known here.
ALTER TABLE releases ADD COLUMN replaced_by TEXT COLLATE "C" NOT NULL DEFAULT '';
