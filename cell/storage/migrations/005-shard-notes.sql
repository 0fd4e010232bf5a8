-- What a shard must remember of namespaces and lanes beside its views (marks, positions): opaque here, written with the
-- checkpoint, and read with the tail.

ALTER TABLE shard ADD COLUMN IF NOT EXISTS notes bytea;
