-- The shard log (D2, D3) and its views. Plain PostgreSQL 15: each first key column is the shard, which YugabyteDB
-- hashes by default; no secondary index, trigger, sequence or foreign key. Every statement is idempotent and runs alone.
-- Keys never hold a workflow id, request id or work key itself: those may be longer than an index row can be, so the
-- key is the first half of their SHA-256, and the text stands beside it.

CREATE TABLE IF NOT EXISTS shard (
  shard_id       int4   NOT NULL PRIMARY KEY,
  range_id       int8   NOT NULL DEFAULT 0,
  checkpoint_seq int8   NOT NULL DEFAULT 0,
  deleted_seq    int8   NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS shard_log (
  shard_id  int4        NOT NULL,
  seq       int8        NOT NULL,
  range_id  int8        NOT NULL,
  stored_at timestamptz NOT NULL DEFAULT now(),
  nonce     uuid        NOT NULL,
  takeover  bool        NOT NULL,
  record    bytea       NOT NULL,
  PRIMARY KEY (shard_id, seq)
);

CREATE TABLE IF NOT EXISTS run (
  shard_id     int4 NOT NULL,
  namespace_id uuid NOT NULL,
  run_id       uuid NOT NULL,
  seq          int8 NOT NULL,
  open         bool NOT NULL,
  workflow_id  text COLLATE "C" NOT NULL,
  state        bytea NOT NULL,
  PRIMARY KEY (shard_id, namespace_id, run_id)
);

CREATE TABLE IF NOT EXISTS execution (
  shard_id     int4 NOT NULL,
  namespace_id uuid NOT NULL,
  workflow_key uuid NOT NULL,
  seq          int8 NOT NULL,
  workflow_id  text COLLATE "C" NOT NULL,
  pointer      bytea NOT NULL,
  PRIMARY KEY (shard_id, namespace_id, workflow_key)
);

CREATE TABLE IF NOT EXISTS ledger (
  shard_id     int4 NOT NULL,
  namespace_id uuid NOT NULL,
  workflow_key uuid NOT NULL,
  request_key  uuid NOT NULL,
  ordinal      int8 NOT NULL,
  request_id   text COLLATE "C" NOT NULL,
  entry        bytea NOT NULL,
  PRIMARY KEY (shard_id, namespace_id, workflow_key, request_key)
);

CREATE TABLE IF NOT EXISTS history (
  shard_id       int4 NOT NULL,
  namespace_id   uuid NOT NULL,
  run_id         uuid NOT NULL,
  first_event_id int8 NOT NULL,
  last_event_id  int8 NOT NULL,
  events         bytea NOT NULL,
  PRIMARY KEY (shard_id, namespace_id, run_id, first_event_id)
);

CREATE TABLE IF NOT EXISTS timer (
  shard_id     int4 NOT NULL,
  due_at       int8 NOT NULL,
  namespace_id uuid NOT NULL,
  run_id       uuid NOT NULL,
  work_key     uuid NOT NULL,
  workflow_id  text COLLATE "C" NOT NULL,
  work         text COLLATE "C" NOT NULL,
  PRIMARY KEY (shard_id, due_at, namespace_id, run_id, work_key)
);

CREATE TABLE IF NOT EXISTS task (
  shard_id     int4 NOT NULL,
  namespace_id uuid NOT NULL,
  run_id       uuid NOT NULL,
  work_key     uuid NOT NULL,
  workflow_id  text COLLATE "C" NOT NULL,
  work         text COLLATE "C" NOT NULL,
  PRIMARY KEY (shard_id, namespace_id, run_id, work_key)
);
