-- Visibility: one row a run, converging to its newest version. Two secondary indexes on columns that never change, so that
-- an update of a row stays in place and touches neither: by start time for lists, by workflow id for look-ups.
-- workflow_key is the first half of the id's SHA-256: ids may be longer than an index row can be.

CREATE TABLE IF NOT EXISTS visibility (
  namespace_id      uuid NOT NULL,
  run_id            uuid NOT NULL,
  version           int8 NOT NULL,
  workflow_key      uuid NOT NULL,
  workflow_id       text COLLATE "C" NOT NULL,
  workflow_type     text COLLATE "C" NOT NULL,
  task_queue        text COLLATE "C" NOT NULL,
  status            int4 NOT NULL,
  started_at        int8 NOT NULL,
  execution_at      int8 NOT NULL,
  closed_at         int8,
  history_length    int8 NOT NULL,
  history_bytes     int8 NOT NULL,
  first_run_id      uuid NOT NULL,
  memo              bytea,
  search_attributes bytea,
  PRIMARY KEY (namespace_id, run_id)
);

CREATE INDEX IF NOT EXISTS visibility_by_start ON visibility (namespace_id, started_at, run_id);

CREATE INDEX IF NOT EXISTS visibility_by_workflow ON visibility (namespace_id, workflow_key, started_at);
