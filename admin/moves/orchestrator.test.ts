import { describe, expect, it } from 'vitest';
import { CachedFleetMap } from '../../fleet/cached-map.ts';
import { must, twoCells } from '../../fleet/conformance/sample.ts';
import { beginHandover } from '../../fleet/handover.ts';
import type { FleetMap } from '../../fleet/map.ts';
import { MemoryFleetMap } from '../../fleet/memory/fleet-map.ts';
import { advanceMove, beatMove, claimMove, startMove } from '../../fleet/move-changes.ts';
import { silentLog } from '../../kernel/log.ts';
import { VirtualClock } from '../../kernel/testing/virtual-clock.ts';
import type { CellControl } from '../../replication/control/control.ts';
import { Orchestrator, ORCHESTRATOR_CONFIG } from './orchestrator.ts';

const ref = { namespaceId: 'id-of-a', moveId: 'm' };
const driver = 'first';
const at = 0;
const STEP_MS = 100;
const LONG_MS = 10_000;

/** A move in that phase, driven by `first`. */
function inPhase(phase: 'seed' | 'handover'): FleetMap {
  const start = { ...ref, to: 'west', at, maxPauseMs: 9_000, autoConfirm: true };
  const claimed = must(
    claimMove(must(startMove(twoCells('a'), start)), { ...ref, driver, seen: undefined }),
  );
  if (phase === 'seed') return claimed;
  const proven = (['tail', 'verify', 'reverse'] as const).reduce(
    (map, to) => must(advanceMove(map, { ...ref, driver, to, at })),
    claimed,
  );
  return must(beginHandover(proven, { ...ref, driver, at }));
}

/** Virtual ms until another orchestrator drives the move; `beatMs`: the first beats so often, else it is dead. */
async function untilFollowed(map: FleetMap, beatMs?: number): Promise<number | undefined> {
  const clock = new VirtualClock();
  const store = new MemoryFleetMap(map);
  const opening = CachedFleetMap.open({ store, log: silentLog, clock });
  await clock.advanceSettled(STEP_MS);
  const seen = await opening;
  // Cells that never answer: the move stays where it is.
  const control = new Proxy({} as CellControl, { get: () => () => new Promise(() => {}) });
  const ports = { map: seen, cells: { control: () => control }, clock, log: silentLog };
  const second = new Orchestrator({ ...ports, driverId: 'second' });
  second.start();
  const never = new AbortController().signal;
  try {
    for (let ms = STEP_MS; ms <= LONG_MS; ms += STEP_MS) {
      await clock.advanceSettled(STEP_MS);
      const move = seen.map.namespaces[ref.namespaceId]?.moves?.[0];
      if (move?.driver?.id === 'second') return ms;
      if (beatMs === undefined || ms % beatMs !== 0) continue;
      await seen.update((now) => beatMove(now, { ...ref, driver, note: undefined }), never);
    }
    return undefined;
  } finally {
    second.kill();
  }
}

describe('the driver of a move that falls silent', () => {
  const { leaseMs, heldLeaseMs, heldBeatMs, beatMs, lookMs } = ORCHESTRATOR_CONFIG;

  it.each([
    ['seed', leaseMs],
    ['handover', heldLeaseMs],
  ] as const)('in %s is followed after %i ms, within a look', async (phase, lease) => {
    const ms = await untilFollowed(inPhase(phase));
    expect(ms).toBeGreaterThanOrEqual(lease);
    expect(ms).toBeLessThanOrEqual(lease + lookMs + STEP_MS);
  });

  it.each([
    ['seed', beatMs],
    ['handover', heldBeatMs],
    // As it does when the handover begins right behind a beat of the slower kind.
    ['handover', beatMs],
  ] as const)('in %s is not followed while it beats every %i ms', async (phase, beats) => {
    expect(await untilFollowed(inPhase(phase), beats)).toBeUndefined();
  });
});
