-- A release is shown with its place in the log.
CREATE INDEX log_entries_release ON log_entries (release);

-- A tenant's releases page by page, and those of a skill that has many.
CREATE INDEX releases_tenant ON releases (tenant, seq);
CREATE INDEX releases_skill ON releases (skill, status, seq);
