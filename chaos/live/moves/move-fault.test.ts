import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { MovePorts } from '../../../admin/moves/ports.ts';
import { twoCells } from '../../../fleet/conformance/sample.ts';
import type { FleetMap } from '../../../fleet/map.ts';
import { advanceMove, beatMove, claimMove, startMove } from '../../../fleet/move-changes.ts';
import { registerNamespace, type Change } from '../../../fleet/table.ts';
import type { CellControl } from '../../../replication/control/control.ts';
import { MoveFault } from './move-fault.ts';
import type { MoveStep } from './move-step.ts';

const never = new AbortController().signal;
const ref = { namespaceId: 'n', moveId: 'm' };
const at = 1_000;

function changed(map: FleetMap, change: (map: FleetMap) => Change): FleetMap {
  const next = change(map);
  if (next.kind !== 'changed') throw new Error(`not changed: ${JSON.stringify(next)}`);
  return next.map;
}

/** A map with a move in `seed`, driven by `d`, and cells that answer on the next turn. */
function scene() {
  const registration = {
    ...{ id: 'n', name: 'orders', description: '', ownerEmail: '', data: {} },
    ...{ retentionMs: 86_400_000, registeredAt: 0, cell: 'east', replicas: ['west'] },
  };
  const changes = [
    (map: FleetMap) => registerNamespace(map, registration),
    (map: FleetMap) =>
      startMove(map, { ...ref, to: 'west', at, maxPauseMs: 5_000, autoConfirm: true }),
    (map: FleetMap) => claimMove(map, { ...ref, driver: 'd', seen: undefined }),
  ];
  let map = changes.reduce(changed, twoCells());
  const asked: string[] = [];
  const control = (cell: string): CellControl => ({
    ...({} as CellControl),
    lane: async () => {
      asked.push(`lane of ${cell}`);
      return {} as Awaited<ReturnType<CellControl['lane']>>;
    },
  });
  const inner: Pick<MovePorts, 'map' | 'cells'> = {
    map: {
      get map() {
        return map;
      },
      update: async (change) => (map = changed(map, change)),
      refresh: async () => {},
      onChange: () => () => {},
    },
    cells: { control },
  };
  const reported: MoveStep[] = [];
  const fault = new MoveFault((step) => reported.push(step));
  return { fault, reported, asked, seen: fault.wrap(inner) };
}

describe('a fault round an orchestrator', () => {
  test('lets everything through while nothing is armed', async () => {
    const { reported, asked, seen } = scene();
    await seen.cells.control('east').lane({ ...ref, target: 'west' }, never);
    expect([reported, asked]).toEqual([[], ['lane of east']]);
  });

  test.each([
    ['seed: lane', []],
    ['seed: lane in flight' as MoveStep, ['lane of east']],
  ] as const)('waits at "%s" until it is let go', async (step, before) => {
    const { fault, reported, asked, seen } = scene();
    fault.arm(step);
    let answered = false;
    const call = seen.cells.control('east').lane({ ...ref, target: 'west' }, never);
    void call.then(() => (answered = true));
    await nextTurn();
    await nextTurn();
    expect([reported, asked, answered]).toEqual([[step], before, false]);
    fault.arm(undefined);
    await call;
    expect(asked).toEqual(['lane of east']);
  });

  test('tells the lane back from the lane there, and a phase from a sign of life', async () => {
    const { fault, reported, seen } = scene();
    fault.arm('seed to tail');
    await seen.cells.control('west').lane({ ...ref, target: 'east' }, never);
    await seen.map.update((map) => beatMove(map, { ...ref, driver: 'd', note: undefined }), never);
    expect(reported).toEqual([]);
    const to = 'tail';
    const step = seen.map.update((map) => advanceMove(map, { ...ref, driver: 'd', to, at }), never);
    await nextTurn();
    expect(reported).toEqual(['seed to tail']);
    fault.arm(undefined);
    await step;
    expect(seen.map.map.namespaces['n']?.moves?.[0]?.phase).toBe('tail');
  });
});
