/** A change of the map whose file system fails around the moment in which it is made. */
import type * as FilesModule from 'node:fs/promises';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../kernel/clock.ts';
import { silentLog } from '../../kernel/log.ts';
import { systemRng } from '../../kernel/rng.ts';
import { registerCell } from '../table.ts';
import { updateMap } from '../update.ts';
import { FileFleetMap } from './fleet-map.ts';

type Faulty = 'unlink' | 'syncDirectory' | 'readdir' | 'link' | 'linkMade';

/** How often each of them fails from now on. */
const faults = vi.hoisted(() => new Map<string, number>());

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof FilesModule>();
  const failOnce = (what: Faulty) => {
    const left = faults.get(what) ?? 0;
    faults.set(what, left - 1);
    if (left > 0) throw Object.assign(new Error(`EIO: i/o error, ${what}`), { code: 'EIO' });
  };
  return {
    ...real,
    unlink: async (path: string) => {
      failOnce('unlink');
      return real.unlink(path);
    },
    readdir: async (path: string) => {
      // Only behind the link: nothing is asked before it is.
      if ((await real.readdir(path)).some((name) => name.endsWith('.json'))) failOnce('readdir');
      return real.readdir(path);
    },
    open: async (path: string, flags: string) => {
      if (flags === 'r') failOnce('syncDirectory');
      return real.open(path, flags);
    },
    link: async (from: string, to: string) => {
      failOnce('link');
      await real.link(from, to);
      failOnce('linkMade');
    },
  };
});

const parts = { clock: systemClock, rng: systemRng, log: silentLog };
const soon = () => AbortSignal.timeout(10_000);

describe('a change of the map is answered as what became of it, although', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atoll-fleet-'));
  });
  afterEach(async () => {
    faults.clear();
    await rm(directory, { recursive: true });
  });

  /** The answer to a first change, and the revision that is stored. */
  async function change(what: Faulty, times: number): Promise<string> {
    const store = await FileFleetMap.open(directory, parts);
    faults.set(what, times);
    const cell = { region: 'r', address: 'a:1', shards: 4 };
    const answer = await updateMap(store, (map) => registerCell(map, 'a', cell), soon()).then(
      () => 'made',
      (error: Error & { readonly code: string }) => `${error.code}: ${error.message}`,
    );
    faults.clear();
    return `revision ${(await store.read(soon())).revision}, ${answer}`;
  }

  it.each<[string, Faulty, number, RegExp]>([
    ['the temporary file cannot be removed', 'unlink', 9, /^revision 1, made$/],
    ['the directory is not flushed at once', 'syncDirectory', 2, /^revision 1, made$/],
    ['the directory is not listed at once', 'readdir', 2, /^revision 1, made$/],
    ['the link is made and an error is told', 'linkMade', 1, /^revision 1, made$/],
    ['the link is not made', 'link', 1, /^revision 0, unavailable: .*cannot be reached/],
    [
      'nothing can be flushed',
      'syncDirectory',
      99,
      /^revision 1, unavailable: Revision 1 .* was made/,
    ],
  ])('%s', async (_, what, times, expected) => {
    expect(await change(what, times)).toMatch(expected);
    const left = (await readdir(directory)).filter((name) => name.startsWith('.next-'));
    expect(left).toHaveLength(what === 'unlink' ? 1 : 0);
  });
});
