-- Which cell this database belongs to, and an id that no other database has. The fleet map names that id, too: a cell that
-- is started on another database by mistake would call everything lost. One row.

CREATE TABLE IF NOT EXISTS cell_identity (
  only_row bool NOT NULL PRIMARY KEY DEFAULT true CHECK (only_row),
  cell_id text NOT NULL,
  database_id text NOT NULL,
  claimed_at timestamptz NOT NULL DEFAULT now()
);
