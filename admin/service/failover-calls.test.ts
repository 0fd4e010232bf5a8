import { describe, expect, it } from 'vitest';
import type { FleetMap } from '../../fleet/map.ts';
import type { Change } from '../../fleet/table.ts';
import { silentLog } from '../../kernel/log.ts';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { VirtualClock } from '../../kernel/testing/virtual-clock.ts';
import type { CellControl, LossEstimate } from '../../replication/control/control.ts';
import { namespaceOf, StubMap } from '../../replication/testing/stub-map.ts';
import { failOverCall, whyIncomplete } from './failover-calls.ts';
import type { AdminPorts } from './ports.ts';

const NAMESPACE = namespaceOf('n');

function estimate(copy?: LossEstimate['copy'], source = 'a'): LossEstimate {
  return { source, heardMsAgo: 0, knownMissing: 0, lagMs: 0, copy };
}

/** An admin before cells that all say this of what is missing there. */
function admin(says: () => Promise<readonly LossEstimate[]>) {
  const map = new StubMap([NAMESPACE]);
  const update = async (change: (map: FleetMap) => Change) => {
    const changed = change(map.map);
    if (changed.kind === 'changed') map.set(Object.values(changed.map.namespaces));
    return map.map;
  };
  const known = { refresh: () => map.refresh(), namespaceByName: () => map.namespaceById('n') };
  const control: Pick<CellControl, 'estimateLoss'> = { estimateLoss: says };
  const ports = {
    ...{ map: { ...known, update }, cells: { control: () => control }, rights: undefined },
    ...{ clock: new VirtualClock(), rng: new SeededRng(1), log: silentLog, driverId: 'd' },
  } as unknown as AdminPorts;
  return { ports, active: () => map.namespaceById('n')?.placement.active };
}

describe('a failover to a replica', () => {
  const half = { copied: 3, total: 9, seeded: false };
  const request = { namespace: 'n', to: 'b', epoch: 1 };

  it('that never had a whole copy is refused, and says what to do', async () => {
    const { ports, active } = admin(async () => [estimate(half)]);
    await expect(failOverCall(ports, request)).rejects.toMatchObject({
      code: 'failed-precondition',
      message: expect.stringMatching(/3 of about 9 executions.* give --incomplete/),
    });
    expect(active()).toBe('a');
  });

  it('that never had a whole copy is made if the request says so', async () => {
    const { ports, active } = admin(async () => [estimate(half)]);
    await failOverCall(ports, { ...request, incomplete: true });
    expect(active()).toBe('b');
  });

  it('that does not say what is missing is made', async () => {
    const { ports, active } = admin(() => Promise.reject(new Error('no route')));
    await failOverCall(ports, request);
    expect(active()).toBe('b');
  });

  it.each<[string, readonly LossEstimate[], boolean]>([
    ['lacks nothing', [estimate()], true],
    ['copies what changed', [estimate({ ...half, seeded: true })], true],
    ['is seeded by the active cell', [estimate(undefined, 'c'), estimate(half)], false],
    ['is seeded by another one', [estimate(), estimate(half, 'c')], true],
  ])('that %s', (_, estimates, isWhole) => {
    expect(whyIncomplete(NAMESPACE, { to: 'b', estimates }) === undefined).toBe(isWhole);
  });
});
