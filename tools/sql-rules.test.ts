import { expect, test } from 'vitest';
import { breachesOf, statementsIn } from './sql-rules.ts';
import { sqlOf } from './sql-lint.ts';

test.each([
  ['SELECT pg_advisory_lock(1)', 'advisory lock'],
  ['select pg_try_advisory_xact_lock($1)', 'advisory lock'],
  ['LISTEN tasks', 'LISTEN/NOTIFY'],
  ["SELECT pg_notify('tasks', $1)", 'LISTEN/NOTIFY'],
  ['SELECT * FROM task LIMIT 1 FOR UPDATE SKIP LOCKED', 'SKIP LOCKED'],
  ['CREATE TABLE t (id bigserial PRIMARY KEY)', 'sequence'],
  ['CREATE TABLE t (id int8 GENERATED ALWAYS AS IDENTITY)', 'sequence'],
  ['CREATE SEQUENCE IF NOT EXISTS s', 'sequence'],
  ["SELECT nextval('s')", 'sequence'],
  ['SET default_transaction_isolation TO SERIALIZABLE', 'SERIALIZABLE'],
  ['CREATE TRIGGER t BEFORE INSERT ON x EXECUTE FUNCTION f()', 'trigger'],
  ['ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES c', 'foreign key'],
  ['CREATE TABLE a (b int4 REFERENCES c)', 'foreign key'],
  ['CREATE TABLE a (b int4) PARTITION BY RANGE (b)', 'partitioning'],
  ['CREATE TABLE a1 PARTITION OF a DEFAULT', 'partitioning'],
  ['SELECT seq FROM shard_log ORDER BY seq DESC OFFSET 63 LIMIT 1', 'OFFSET'],
  ['CREATE TABLE a (b int4, c int4, PRIMARY KEY (b HASH, c ASC))', 'explicit key form'],
  ['CREATE TABLE a (b int4, c int4, PRIMARY KEY ((b) HASH, c))', 'explicit key form'],
  ['CREATE INDEX i ON visibility (namespace_id, started_at DESC)', 'explicit key form'],
  ['CREATE TABLE a (b int4 PRIMARY KEY) SPLIT INTO 4 TABLETS', 'explicit key form'],
  [
    'CREATE INDEX IF NOT EXISTS i ON shard_log (shard_id, range_id)',
    'secondary index on a hot table',
  ],
  ['CREATE UNIQUE INDEX i ON run (workflow_id)', 'secondary index on a hot table'],
  [
    'CREATE TABLE IF NOT EXISTS shard_log (shard_id int4, nonce uuid UNIQUE)',
    'secondary index on a hot table',
  ],
  ['BEGIN', 'transaction that waits for its client'],
  ['START TRANSACTION', 'transaction that waits for its client'],
  ['DECLARE c CURSOR FOR SELECT 1', 'cursor'],
  ['FETCH 100 FROM c', 'cursor'],
  ['CREATE TABLE a (b int4); CREATE TABLE c (d int4)', 'DDL in a transaction'],
  ['SET lock_timeout = 1; ALTER TABLE a SET (fillfactor = 50)', 'DDL in a transaction'],
])('refused: %s', (text, rule) => {
  expect(breachesOf(statementsIn(text)).map((breach) => breach.rule)).toContain(rule);
});

test.each([
  'CREATE TABLE IF NOT EXISTS a (b int4 NOT NULL, c int8 NOT NULL, PRIMARY KEY (b, c))',
  'CREATE INDEX IF NOT EXISTS i ON visibility (namespace_id, started_at, run_id)',
  'SELECT seq FROM shard_log WHERE shard_id = $1 AND takeover ORDER BY seq DESC LIMIT 64',
  'SELECT sum(b) OVER (PARTITION BY c ORDER BY d) FROM e',
  "INSERT INTO a (b) VALUES ('OFFSET; LISTEN, a TRIGGER') ON CONFLICT DO NOTHING",
  'SELECT 1 -- never with OFFSET',
  'SELECT pg_postmaster_start_time()::text AS identity',
  'SET lock_timeout = 1; SET jit = off; SELECT 1',
  'UPDATE shard SET range_id = range_id + 1 WHERE shard_id = $1 RETURNING range_id',
  'ALTER TABLE run SET (fillfactor = 70)',
])('accepted: %s', (text) => {
  expect(breachesOf(statementsIn(text))).toEqual([]);
});

test('statements are found in files of SQL, in strings and in templates, and prose is not taken for one', () => {
  const file = { path: 'a.sql', text: '-- BEGIN;\nCREATE TABLE a (b int4);\n\nDROP TABLE c;\n' };
  expect(sqlOf(file).map(({ where, statements }) => [where, statements])).toEqual([
    ['a.sql', ['CREATE TABLE a (b int4)']],
    ['a.sql', ['DROP TABLE c']],
  ]);
  const code = {
    path: 'a.ts',
    text: [
      "import { x } from './select.ts';",
      "const prose = 'the row that holds the key, where it is';",
      "const plain = 'SELECT 1';",
      'const made = `\n  UPDATE a SET b = ${value}; SELECT 2`;',
      'const part = `${made} ORDER BY b OFFSET ${n}`;',
    ].join('\n'),
  };
  expect(sqlOf(code).map(({ where, statements }) => [where, statements.length])).toEqual([
    ['a.ts:3', 1],
    ['a.ts:4', 2],
    ['a.ts:6', 1],
  ]);
});
