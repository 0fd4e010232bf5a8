/** A fleet map in memory and one cell on a database, for end-to-end tests of a cell without a router. */
import { CachedFleetMap } from '../../fleet/cached-map.ts';
import { MemoryFleetMap } from '../../fleet/memory/fleet-map.ts';
import { registerNamespace } from '../../fleet/table.ts';
import { systemClock } from '../../kernel/clock.ts';
import { silentLog } from '../../kernel/log.ts';
import { systemRng } from '../../kernel/rng.ts';
import type { CellStorageOptions } from '../cell-storage.ts';
import { startCell, type CellOptions } from '../start-cell.ts';
import { throwawayKeyRing } from '../token-keys.ts';
import { rawCalls, type RawCalls } from './raw-calls.ts';

export type ThrowawayCell = Omit<RawCalls, 'close'> & {
  /** Registers a further namespace in this cell. */
  register(namespace: string): Promise<void>;
  close(): Promise<void>;
};

/** Starts a cell with namespace `default`. */
export async function startThrowawayCell(
  storage: CellStorageOptions,
  overrides: Partial<CellOptions> = {},
): Promise<ThrowawayCell> {
  const map = await CachedFleetMap.open({
    store: new MemoryFleetMap(),
    log: silentLog,
    clock: systemClock,
  });
  const cell = await startCell(
    {
      id: 'a',
      region: 'test',
      listen: { host: '127.0.0.1', port: 0 },
      shards: 4,
      storage,
      onShardStopped: () => {},
      ...overrides,
    },
    {
      clock: systemClock,
      rng: systemRng,
      log: silentLog,
      map,
      tokens: throwawayKeyRing(systemRng),
    },
  );
  const register = async (name: string) => {
    const namespace = {
      id: systemRng.uuid(),
      name,
      description: '',
      ownerEmail: '',
      data: {},
      retentionMs: 86_400_000,
      registeredAt: systemClock.now(),
      cell: 'a',
    };
    await map.update((known) => registerNamespace(known, namespace), new AbortController().signal);
  };
  await register('default');
  const raw = rawCalls(cell.address);
  return {
    ...raw,
    register,
    async close() {
      raw.close();
      await cell.close();
      await map.close();
    },
  };
}
