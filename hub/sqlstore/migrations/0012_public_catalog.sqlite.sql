ALTER TABLE tenants ADD COLUMN public_catalog INTEGER NOT NULL DEFAULT 0 CHECK (public_catalog IN (0, 1));
