import { expect, test } from 'vitest';
import { kindOf } from './statements.ts';

test.each([
  ['read', 'SELECT now()'],
  ['read', 'WITH a AS (SELECT 1) SELECT * FROM a'],
  ['read', 'select updated_at from t where deleted'],
  ['read', '-- insert into is only said here\nSELECT 1'],
  ['write', 'INSERT INTO log (shard) VALUES ($1) ON CONFLICT DO NOTHING'],
  ['write', 'WITH gone AS (DELETE FROM log WHERE seq < $1 RETURNING 1) SELECT count(*) FROM gone'],
  ['write', 'WITH a AS (SELECT $1) UPDATE shard AS s SET range = s.range FROM a'],
  ['write', 'UPDATE shard SET range = range + $1'],
  ['write', 'SELECT 1 FROM shard FOR UPDATE'],
  ['write', 'COPY log FROM STDIN'],
  ['control', 'BEGIN ISOLATION LEVEL READ COMMITTED'],
  ['control', '  /* at the end */ COMMIT'],
  ['control', 'SET enable_seqscan = off'],
])('%s: %s', (kind, statement) => {
  expect(kindOf(statement)).toBe(kind);
});
