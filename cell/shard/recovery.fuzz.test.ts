import { expect, test } from 'vitest';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { settlePromises } from '../../kernel/testing/virtual-clock.ts';
import type { StatementFate, StoreStatement } from '../storage/memory/store-faults.ts';
import { calling, ShardLab, wf, type Host } from './testing/shard-lab.ts';

/**
 * Signals under request ids while the store fails, owners give up, crash and are replaced: every acknowledged signal is
 * there once, whatever happened, and a repeated id changes nothing (P1, P4).
 */
test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
  'seed %i: what was acknowledged is there once',
  async (seed) => {
    const rng = new SeededRng(seed);
    const lab = new ShardLab({
      cachedRunLimit: rng.integer(1, 6),
      tailRecordLimit: rng.integer(3, 40),
      checkpointIntervalMs: 200,
      recentHistoryBytes: 1,
      timerWindow: 4,
    });
    const fate = faults(rng);
    let host = await opened(lab, fate);
    const acked = new Map<string, Set<string>>();
    let sent = 0;
    for (let step = 0; step < 60; step += 1) {
      for (let i = rng.integer(1, 4); i > 0; i -= 1) {
        const id = `wf-${rng.integer(0, 7)}`;
        // An id is used again now and then: a client that heard nothing and asks again.
        const requestId = `s${rng.chance(0.2) ? rng.integer(0, sent) : (sent += 1)}`;
        void signalWithStart(host, id, requestId).then(
          () => acked.set(id, (acked.get(id) ?? new Set()).add(requestId)),
          () => {},
        );
      }
      await lab.clock.advanceSettled(rng.integer(0, 400));
      if (rng.chance(0.1)) host = await opened(lab, fate); // The old one lives on and does not know.
    }
    await lab.clock.advanceSettled(60_000);
    const last = await opened(lab, () => undefined);
    await lab.clock.advanceSettled(20_000);
    expect(last.stops).toEqual([]);
    for (const [id, requests] of acked) {
      const view = await last.shards.read(wf(id), calling());
      const known = [...requests].filter((each) => view.execution.ledger.find(`${id}/${each}`));
      expect(known.length).toBe(requests.size);
      await last.signal(id, `${id}/${[...requests][0]}`); // Known: changes nothing.
      const { state } = await last.shards.read(wf(id), calling());
      expect(state.transition).toBe(view.state.transition);
      expect(state.signalCount).toBeGreaterThanOrEqual(requests.size);
      const range = { fromEventId: 1, toEventId: 9_999, maxBytes: 1 << 20 };
      const page = await last.shards.history({ ...wf(id), runId: state.runId }, range, calling());
      expect(page.toEventId).toBe(state.nextEventId - 1);
    }
    expect(acked.size).toBeGreaterThan(0);
  },
);

async function opened(lab: ShardLab, fate: Host['fate']): Promise<Host> {
  const opening = lab.host();
  await lab.clock.advanceSettled(0);
  const host = await opening;
  host.fate = fate;
  await settlePromises();
  return host;
}

/** Starts the run if need be, then signals it. */
async function signalWithStart(host: Host, id: string, requestId: string): Promise<void> {
  await host.start(id, { requestId: `start/${id}`, conflictPolicy: 2 });
  await host.signal(id, `${id}/${requestId}`);
}

function faults(rng: SeededRng): (statement: StoreStatement) => StatementFate | undefined {
  return ({ kind }) => {
    if (!rng.chance(0.25)) return undefined;
    const failMs = rng.integer(1, 50);
    const landMs = rng.integer(1, 600);
    if (kind === 'append' || kind === 'checkpoint') {
      return rng.pick<StatementFate>([
        { kind: 'lost', failMs },
        { kind: 'lost-reply', failMs },
        { kind: 'late', failMs, landMs, times: 2 },
        { kind: 'ok', answerMs: landMs },
        { kind: 'ok', echoMs: landMs },
        { kind: 'rejected' },
      ]);
    }
    return rng.pick<StatementFate>([
      { kind: 'ok', answerMs: landMs },
      { kind: 'lost', failMs },
    ]);
  };
}
