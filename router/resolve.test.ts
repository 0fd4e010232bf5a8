import { describe, expect, it } from 'vitest';
import { CachedFleetMap } from '../fleet/cached-map.ts';
import { twoCells } from '../fleet/conformance/sample.ts';
import { MemoryFleetMap } from '../fleet/memory/fleet-map.ts';
import { silentLog } from '../kernel/log.ts';
import { VirtualClock } from '../kernel/testing/virtual-clock.ts';
import { resolveBody, resolveName } from './resolve.ts';
import { framed } from './testing/raw-client.ts';

describe('the namespace of a call', () => {
  it('is the one of the header’s name', async () => {
    expect(resolveName(await map(), 'orders')).toMatchObject({ namespace: { id: 'id-of-orders' } });
  });

  it('is the one of the request’s field', async () => {
    expect(await body([0x0a, 6, ...Buffer.from('orders')])).toMatchObject({
      kind: 'namespace',
      namespace: { id: 'id-of-orders' },
    });
  });

  it('is unknown by a name that is in no map, also by one that objects inherit', async () => {
    for (const name of ['moon', 'constructor', '__proto__']) {
      expect(resolveName(await map(), name)).toEqual({ kind: 'unknown', name });
    }
  });

  it('must be set: empty and absent are refused with what to set', async () => {
    for (const bytes of [[], [0x0a, 0], [0x12, 1, 0x61]]) {
      expect(await body(bytes)).toMatchObject({
        kind: 'refused',
        error: { code: 'invalid-argument', message: expect.stringContaining('temporal-namespace') },
      });
    }
  });
});

async function map(): Promise<CachedFleetMap> {
  return CachedFleetMap.open({
    store: new MemoryFleetMap(twoCells('orders')),
    log: silentLog,
    clock: new VirtualClock(),
  });
}

/** Resolves field 1 of these message bytes. */
async function body(bytes: readonly number[]) {
  const options = { field: 1, maxInflatedBytes: 1024 };
  return resolveBody(await map(), framed(Buffer.from(bytes)), options);
}
