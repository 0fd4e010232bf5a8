/** One cell of two is stopped, then killed: its namespace hears so at once, the other one notices nothing (P10, D11). */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import { AtollError } from '../kernel/errors.ts';
import { rawCalls, type RawCalls } from './testing/raw-calls.ts';
import { until } from './testing/until.ts';
import { useAtoll, type AtollProcess } from './testing/use-atoll.ts';

const database = useTestServer();
const atoll = useAtoll('cell-away');

/** What a client of a stopped cell allows. Longer than the router takes to notice. */
const PATIENCE_MS = 10_000;
/** From the last sign of a cell until the router refuses its calls: a ping, its timeout, and attempts to connect. */
const NOTICED_MS = 30_000;
/** Longer than any call takes that does not wait for something; the machine may be busy. */
const AT_ONCE_MS = 1_000;
const PAUSE_MS = 20;

type Sample = { readonly tookMs: number; readonly code: string };

describe('of two cells behind a router', () => {
  let folder = '';
  let cell: AtollProcess;
  let router: RawCalls;

  const startCell = (id: string) =>
    atoll.start([
      ...['cell', '--cell-id', id, '--fleet', folder, '--shards', '4', '--log-format', 'json'],
      ...['--postgres-url', database.url(`cell_${id}`)],
    ]);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atoll-cell-away-'));
    const other = startCell('b');
    cell = startCell('a');
    await Promise.all([cell.ready(), other.ready()]);
    const flags = ['router', '--port', '0', '--fleet', folder, '--log-format', 'json'];
    router = rawCalls(await atoll.start(flags).ready());
    await register('away', 'a');
    await register('there', 'b');
    for (const namespace of ['away', 'there'])
      await until(async () => (await start(namespace)).code === 'ok');
  }, 120_000);
  afterAll(async () => {
    router?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test.each([
    ['stopped', 'SIGSTOP'],
    ['killed', 'SIGKILL'],
  ] as const)(
    'one is %s: its calls fail at once until it is back, the other serves on',
    async (what, signal) => {
      const before = await load(['there'], async () => {
        for (let turn = 0; turn < 50; turn += 1) await start('away');
      });
      const during = await load(['there'], async () => {
        cell.kill(signal);
        await until(async () => refusedAtOnce(await start('away')), {
          withinMs: NOTICED_MS,
          what: 'the refusal of calls to the cell that is away',
        });
        for (let turn = 0; turn < 20; turn += 1) {
          expect(await start('away')).toMatchObject({ code: 'unavailable' });
        }
      });
      const back = await load(['there'], async () => {
        if (signal === 'SIGSTOP') cell.kill('SIGCONT');
        else cell = startCell('a');
        await until(async () => (await start('away')).code === 'ok', { what: 'the recovery' });
      });
      console.log(
        `p99 of the namespace on the other cell: ${p99(before)} ms before, ${p99(during)} ms with one cell ${what}, ` +
          `${p99(back)} ms while it came back (${during.length} calls meanwhile)`,
      );
      for (const samples of [before, during, back]) {
        expect(samples.filter(({ code }) => code !== 'ok')).toEqual([]);
        expect(Math.max(...samples.map(({ tookMs }) => tookMs))).toBeLessThan(
          AT_ONCE_MS + longest(before),
        );
      }
    },
  );

  /** Starts workflows of these namespaces, one after the other, while something else happens. */
  async function load(
    namespaces: readonly string[],
    meanwhile: () => Promise<void>,
  ): Promise<readonly Sample[]> {
    const samples: Sample[] = [];
    let over = false;
    const loops = namespaces.map(async (namespace) => {
      while (!over) {
        samples.push(await start(namespace));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    });
    try {
      await meanwhile();
    } finally {
      over = true;
      await Promise.all(loops);
    }
    return samples;
  }

  async function start(namespace: string): Promise<Sample> {
    const begun = performance.now();
    const took = (code: string) => ({ tookMs: performance.now() - begun, code });
    const request = {
      ...{ namespace, workflowId: crypto.randomUUID(), requestId: crypto.randomUUID() },
      ...{ workflowType: { name: 'w' }, taskQueue: { name: 'q' } },
    };
    try {
      await router.call('StartWorkflowExecution', request, { timeoutMs: PATIENCE_MS });
      return took('ok');
    } catch (error) {
      return took(error instanceof AtollError ? error.code : String(error));
    }
  }

  function register(namespace: string, activeClusterName: string) {
    const workflowExecutionRetentionPeriod = { seconds: 86_400 };
    const request = { namespace, activeClusterName, workflowExecutionRetentionPeriod };
    return router.call('RegisterNamespace', request);
  }
});

function refusedAtOnce({ tookMs, code }: Sample): boolean {
  return code === 'unavailable' && tookMs < AT_ONCE_MS;
}

function longest(samples: readonly Sample[]): number {
  return Math.max(...samples.map(({ tookMs }) => tookMs));
}

function p99(samples: readonly Sample[]): number {
  const sorted = samples.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN);
}
