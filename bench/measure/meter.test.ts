import { expect, test } from 'vitest';
import { difference, type Snapshot } from './meter.ts';

function snapshot(over: Partial<Snapshot> = {}): Snapshot {
  return {
    atMs: 1_000,
    cpuSeconds: { cell: 1, postgres: 2 },
    machine: { busySeconds: 100, stealSeconds: 1 },
    memoryKb: { cell: 100 },
    database: {
      writes: 10,
      walBytes: 1_000,
      fullPageImages: 0,
      walSyncs: 5,
      statements: { read: 1, write: 2, control: 3 },
    },
    ...over,
  };
}

const later = snapshot({
  atMs: 11_000,
  cpuSeconds: { cell: 4, postgres: 3 },
  machine: { busySeconds: 106, stealSeconds: 1.5 },
  memoryKb: { cell: 150 },
  database: {
    writes: 30,
    walBytes: 5_000,
    fullPageImages: 1,
    walSyncs: 9,
    statements: { read: 11, write: 22, control: 33 },
  },
});

test('a cost is what grew between two snapshots', () => {
  expect(difference(snapshot(), later)).toEqual({
    seconds: 10,
    cpuSeconds: { cell: 3, postgres: 1 },
    outsideCores: 0.2,
    stealCores: 0.05,
    memoryKb: { cell: 150 },
    statements: { read: 10, write: 20 },
    writeTransactions: 20,
    walBytes: 4_000,
    fullPageImages: 1,
    walSyncs: 4,
  });
});

test('rounding of clock ticks never makes the use of others negative', () => {
  const quiet = snapshot({ ...later, machine: { busySeconds: 103, stealSeconds: 1 } });
  expect(difference(snapshot(), quiet).outsideCores).toBe(0);
});

test('a process that was not there at the begin has no known CPU', () => {
  const restarted = difference(snapshot({ cpuSeconds: { postgres: 2 } }), later);
  expect(restarted.cpuSeconds.cell).toBeNaN();
  expect(restarted.cpuSeconds.postgres).toBe(1);
});

test('without pg_stat_statements the statements are unknown', () => {
  const { database } = snapshot();
  const blind = snapshot({ database: { ...database, statements: undefined } });
  expect(difference(blind, later).statements).toBeUndefined();
});
