import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../kernel/clock.ts';
import { silentLog } from '../../kernel/log.ts';
import { systemRng } from '../../kernel/rng.ts';
import { fleetMapConformance } from '../conformance/fleet-map.ts';
import { registration, twoCells } from '../conformance/sample.ts';
import { encodeFleetMap } from '../codec.ts';
import type { FleetMap } from '../map.ts';
import { registerNamespace } from '../table.ts';
import { updateMap } from '../update.ts';
import { FileFleetMap } from './fleet-map.ts';
import { fileLastKnownMap } from './last-known-map.ts';

const directories: string[] = [];
const parts = { clock: systemClock, rng: systemRng, log: silentLog };

afterAll(async () => {
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
});

fleetMapConformance('the fleet map in a directory', async () =>
  FileFleetMap.open(await newDirectory(), parts),
);

describe('the fleet map in a directory', () => {
  it('is there again for the next process', async () => {
    const directory = await newDirectory();
    const map = await store(directory, twoCells('default'));
    const reopened = await FileFleetMap.open(directory, parts);
    expect(await reopened.read(soon())).toEqual(map);
  });

  it('gives each revision to exactly one of four processes that race', async () => {
    const directory = await newDirectory();
    const start = await store(directory, twoCells());
    const runs = await Promise.all(
      ['a', 'b', 'c', 'd'].map((prefix) =>
        promisify(execFile)(process.execPath, ['--import', 'tsx', racer, directory, prefix, '20']),
      ),
    );
    const lines = runs.flatMap((run) => run.stdout.trim().split('\n'));
    const revisions = lines.map((line) => Number(line.split(' ')[0])).sort((a, b) => a - b);
    expect(revisions).toEqual(Array.from({ length: 80 }, (_, i) => start.revision + 1 + i));
    const map = await (await FileFleetMap.open(directory, parts)).read(soon());
    expect(Object.keys(map.namespaces)).toHaveLength(80);
    expect((await readdir(directory)).length).toBeLessThanOrEqual(64);
  }, 60_000);

  it('names a corrupt file, refuses every change and overwrites nothing', async () => {
    const directory = await newDirectory();
    const map = await store(directory, twoCells('default'));
    const path = join(directory, `${String(map.revision).padStart(12, '0')}.json`);
    const text = await readFile(path, 'utf8');
    for (const bad of ['', text.slice(0, 100), text.replace('"format": 2', '"format": 3')]) {
      await writeFile(path, bad);
      const reopened = await FileFleetMap.open(directory, parts);
      const change = updateMap(
        reopened,
        (now) => registerNamespace(now, registration('x')),
        soon(),
      );
      await expect(change).rejects.toMatchObject({
        code: 'data-loss',
        message: expect.stringContaining(path),
      });
      expect(await readFile(path, 'utf8')).toBe(bad);
    }
  });

  it('shows a listener a map that could not be read for a while, at the same revision', async () => {
    const directory = await newDirectory();
    const map = await store(directory, twoCells('default'));
    const path = join(directory, `${String(map.revision).padStart(12, '0')}.json`);
    await writeFile(path, '{');
    let unread = () => {};
    const heardOf = new Promise<void>((resolve) => (unread = resolve));
    const log = { ...silentLog, error: unread };
    const opened = await FileFleetMap.open(directory, { ...parts, log });
    const seen = new Promise<FleetMap>((resolve) => {
      const unwatch = opened.watch((newest) => {
        unwatch();
        resolve(newest);
      });
    });
    await heardOf;
    await store(directory, map);
    expect(await seen).toEqual(map);
  });

  it('says what to do when the directory cannot be made', async () => {
    const file = join(await newDirectory(), 'a-file');
    await writeFile(file, '');
    await expect(FileFleetMap.open(join(file, 'map'), parts)).rejects.toMatchObject({
      code: 'failed-precondition',
      message: expect.stringContaining('read and write access'),
    });
  });

  it('is unavailable, not empty, when its directory has gone', async () => {
    const directory = await newDirectory();
    const opened = await FileFleetMap.open(directory, parts);
    await rm(directory, { recursive: true });
    await expect(opened.read(soon())).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('the last known map in a file', () => {
  it('is the map saved last, none at first, and says so when it is corrupt', async () => {
    const path = join(await newDirectory(), 'deeper', 'last.json');
    const file = fileLastKnownMap(path, systemRng);
    expect(await file.load()).toBeUndefined();
    await file.save(twoCells());
    await file.save(twoCells('default'));
    expect(await file.load()).toEqual(twoCells('default'));
    await writeFile(path, '{');
    await expect(file.load()).rejects.toMatchObject({ code: 'data-loss' });
  });
});

const racer = fileURLToPath(new URL('./testing/racer.ts', import.meta.url));

/** Puts a map in place of nothing, as an older process would have left it. */
async function store(directory: string, map: FleetMap): Promise<FleetMap> {
  await writeFile(
    join(directory, `${String(map.revision).padStart(12, '0')}.json`),
    encodeFleetMap(map),
  );
  return map;
}

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'atoll-fleet-'));
  directories.push(directory);
  return directory;
}

function soon(): AbortSignal {
  return AbortSignal.timeout(10_000);
}
