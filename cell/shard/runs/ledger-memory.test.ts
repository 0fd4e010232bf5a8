import { describe, expect, test } from 'vitest';
import type { LedgerEntry, LedgerKind } from '../../history/execution.ts';
import { CachedExecution } from './cached.ts';
import { LedgerMemory } from './ledger-memory.ts';
import type { Seq } from '../../storage/shard-log.ts';

const LIMITS = { ledgerStartLimit: 2, ledgerSignalLimit: 3, ledgerKeepMs: 1_000 };

function entry(requestId: string, kind: LedgerKind = 'signal', at = 0): LedgerEntry {
  return { requestId, kind, runId: 'r', at };
}

describe('LedgerMemory', () => {
  test('the oldest signals and cancels leave first, starts stay', () => {
    const ledger = new LedgerMemory(LIMITS);
    ledger.add(entry('start', 'start'));
    for (const id of ['a', 'b', 'c']) expect(ledger.add(entry(id)).evicted).toBeUndefined();
    expect(ledger.add(entry('d', 'cancel')).evicted?.entry.requestId).toBe('a');
    expect(['start', 'a', 'b', 'd'].map((id) => ledger.find(id) !== undefined)).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  test('a start is refused while the remembered ones are young, else the oldest leaves', () => {
    const ledger = new LedgerMemory(LIMITS);
    ledger.add(entry('a', 'start', 0));
    ledger.add(entry('b', 'start', 500));
    expect(() => ledger.assertRoomForStart('wf', 999)).toThrow('ledgerStartLimit');
    ledger.assertRoomForStart('wf', 1_000);
    expect(ledger.add(entry('c', 'start', 1_000)).evicted?.entry.requestId).toBe('a');
  });

  test('entries of the views come back in their order, and new ones follow them', () => {
    const stored = [4, 7, 9].map((ordinal) => ({ ordinal, entry: entry(`s${ordinal}`) }));
    const effect = new LedgerMemory(LIMITS, stored).add(entry('new'));
    expect([effect.added.ordinal, effect.evicted?.ordinal]).toEqual([10, 4]);
  });

  test('a request id is remembered once', () => {
    const ledger = new LedgerMemory(LIMITS);
    ledger.add(entry('a', 'start'));
    ledger.add(entry('a', 'signal'));
    expect([ledger.size, ledger.find('a')?.kind]).toEqual([1, 'signal']);
  });
});

describe('ledger rows of an execution', () => {
  function execution(): CachedExecution {
    const current = {
      runId: 'r',
      epoch: 1,
      firstRunId: 'r',
      status: 1,
      startRequestId: 's',
      startedAt: 0,
    } as const;
    const ids = { namespaceId: 'ns', workflowId: 'wf' };
    const ledger = new LedgerMemory(LIMITS);
    return new CachedExecution({ ...ids, current, committed: true, ledger, viewSeq: 0 as Seq });
  }
  const rows = (of: CachedExecution) => [[...of.ledgerPuts.keys()], [...of.ledgerDrops.keys()]];

  test('an entry that had to leave is dropped only once the record that made it leave is durable', () => {
    const held = execution();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => entry(id));
    for (const each of [a, b, c]) if (each) held.addEntry(each);
    for (const each of [a, b, c]) if (each) held.commitEntry(each);
    if (d) held.addEntry(d);
    expect(rows(held)).toEqual([['a', 'b', 'c'], []]);
    if (d) held.commitEntry(d);
    expect(rows(held)).toEqual([['b', 'c', 'd'], ['a']]);
  });

  test('of a request that two runs took only what is durable is told', () => {
    const held = execution();
    const [one, other] = [entry('a', 'start', 1), { ...entry('a', 'start', 2), runId: 'other' }];
    held.addEntry(one);
    held.commitEntry(one);
    held.addEntry(other);
    expect(held.ledger.find('a')).toEqual({ ...other, covered: [one] });
    expect(held.durableLedger()).toEqual([one]);
    held.commitEntry(other);
    expect(held.durableLedger()).toEqual([{ ...other, covered: [one] }]);
  });

  test('what is said of a request once more changes no row', () => {
    const held = execution();
    const [one, other] = [entry('a', 'start', 1), { ...entry('a', 'start', 2), runId: 'other' }];
    for (const each of [other, one]) {
      held.addEntry(each);
      held.commitEntry(each);
    }
    const before = held.ledgerPuts.get('a');
    held.addEntry({ ...one });
    expect([held.ledgerPuts.get('a'), held.durableLedger()]).toEqual([before, [before?.entry]]);
  });

  test('no checkpoint puts and drops one row', () => {
    const held = execution();
    for (const id of ['a', 'b', 'c', 'd', 'a', 'b']) {
      const each = entry(id);
      held.addEntry(each);
      held.commitEntry(each);
    }
    const [puts = [], drops = []] = rows(held);
    expect(puts.filter((id) => drops.includes(id))).toEqual([]);
    expect(puts.toSorted()).toEqual(['a', 'b', 'd']);
  });
});
