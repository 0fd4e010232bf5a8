-- What replication could not bring to another cell, per lane, until the run was repaired; and what forced failovers cost
-- here, per execution whose branch lost. Both are written by replication/, rarely, and read by people.

CREATE TABLE IF NOT EXISTS dead_letter (
  namespace_id text COLLATE "C" NOT NULL,
  target       text COLLATE "C" NOT NULL,
  run_id       text COLLATE "C" NOT NULL,
  transition   int8 NOT NULL,
  workflow_id  text COLLATE "C" NOT NULL,
  at           int8 NOT NULL,
  reason       text NOT NULL,
  step         bytea NOT NULL,
  repaired_at  int8,
  PRIMARY KEY (namespace_id, target, run_id, transition)
);

CREATE TABLE IF NOT EXISTS loss (
  namespace_id text COLLATE "C" NOT NULL,
  epoch        int8 NOT NULL,
  workflow_id  text COLLATE "C" NOT NULL,
  run_id       text COLLATE "C" NOT NULL,
  execution    bytea NOT NULL,
  PRIMARY KEY (namespace_id, epoch, workflow_id, run_id)
);
