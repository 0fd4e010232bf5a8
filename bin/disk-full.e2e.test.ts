/** The disk under the embedded database fills up while clients start workflows, and is emptied again (issue: bad input). */
import { execFileSync } from 'node:child_process';
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AtollError } from '../kernel/errors.ts';
import { rawCalls, type RawCalls } from './testing/raw-calls.ts';
import { until } from './testing/until.ts';
import { useAtoll } from './testing/use-atoll.ts';

const atoll = useAtoll('disk-full');

const PATIENCE_MS = 15_000;
/** So much that the log of the database must grow soon. */
const INPUT = { payloads: [{ data: Buffer.alloc(500_000, 'order') }] };

/** Only root may mount a small disk of the test's own. */
let folder = '';
const small = () => join(folder, 'small');
const canMount = process.getuid?.() === 0 && mountable();

describe.runIf(canMount)('on a small disk', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atoll-disk-full-'));
    await chmod(folder, 0o755);
    await mkdir(small());
    mount(small(), '220m');
  });
  afterAll(async () => {
    execFileSync('umount', ['--lazy', small()]);
    await rm(folder, { recursive: true, force: true });
  });

  test('a full disk refuses calls, says what to do, loses nothing and goes on once there is room', async () => {
    const flags = ['dev', '--port', '0', '--log-format', 'json', '--data', join(small(), 'data')];
    const server = atoll.start(flags);
    const dev = rawCalls(await server.ready());
    const acknowledged = new Map<string, string>();
    for (let n = 0; n < 20; n += 1) await start(dev, `before-${n}`, acknowledged);

    const ballast = fill(join(small(), 'ballast'));
    const refusals = new Set<string>();
    await until(
      async () => {
        const batch = Array.from({ length: 4 }, (_, n) => `full-${acknowledged.size}-${n}`);
        const outcomes = await Promise.all(batch.map((id) => start(dev, id, acknowledged)));
        for (const code of outcomes) if (code !== 'ok') refusals.add(code);
        return refusals.has('unavailable');
      },
      { withinMs: 60_000, what: 'the refusal of starts on a full disk' },
    );
    for (const code of refusals) expect(['unavailable', 'deadline-exceeded']).toContain(code);
    expect(server.output()).toMatch(/disk of [^"]*data[^"]* is full: free some space/);
    expect(await dev.call('GetSystemInfo', {}), 'the server lives').toHaveProperty('serverVersion');

    rmSync(ballast);
    await until(async () => (await start(dev, 'after', acknowledged)) === 'ok', {
      withinMs: 60_000,
      what: 'a start once there is room',
    });
    for (const [workflowId, runId] of acknowledged) await untilFound(dev, workflowId, runId);
    expect(server.child.exitCode, 'it is the same process all the time').toBeNull();
    dev.close();
    server.kill('SIGINT');
    expect((await server.ended()).code).toBe(0);
  });

  test('a disk without room for a database ends the start with what to do', async () => {
    const tiny = join(folder, 'tiny');
    await mkdir(tiny);
    mount(tiny, '8m');
    try {
      const { code, output } = await atoll
        .start(['dev', '--port', '0', '--log-format', 'json', '--data', join(tiny, 'data')])
        .ended();
      expect(code).toBe(1);
      expect(output).toMatch(/disk of .*tiny.* has no room for a database: free some space/);
    } finally {
      execFileSync('umount', ['--lazy', tiny]);
    }
  });
});

/** Starts a workflow with a large input; notes its run id if that was acknowledged. */
async function start(
  dev: RawCalls,
  workflowId: string,
  acknowledged: Map<string, string>,
): Promise<string> {
  const request = {
    ...{ namespace: 'default', workflowId, requestId: workflowId, input: INPUT },
    ...{ workflowType: { name: 'w' }, taskQueue: { name: 'q' } },
  };
  try {
    const { runId = '' } = await dev.call('StartWorkflowExecution', request, {
      timeoutMs: PATIENCE_MS,
    });
    acknowledged.set(workflowId, runId);
    return 'ok';
  } catch (error) {
    return error instanceof AtollError ? error.code : String(error);
  }
}

/** Shards come back one after the other: what is not served yet is asked again, what is gone fails. */
async function untilFound(dev: RawCalls, workflowId: string, runId: string): Promise<void> {
  const request = { namespace: 'default', execution: { workflowId } };
  const what = `run ${runId} of ${workflowId}`;
  await until(
    async () => {
      const found = await dev
        .call('DescribeWorkflowExecution', request, { timeoutMs: PATIENCE_MS })
        .catch((error: unknown) => {
          if (error instanceof AtollError && error.code === 'unavailable') return undefined;
          throw error;
        });
      if (found === undefined) return false;
      expect({ what, runId: found.workflowExecutionInfo?.execution?.runId }).toEqual({
        what,
        runId,
      });
      return true;
    },
    { what },
  );
}

/** Writes until not one byte more fits. */
function fill(path: string): string {
  const file = openSync(path, 'w');
  let chunk = Buffer.alloc(1 << 20);
  while (chunk.length > 0) {
    try {
      writeSync(file, chunk);
    } catch {
      chunk = chunk.subarray(0, Math.floor(chunk.length / 2));
    }
  }
  fsyncSync(file);
  closeSync(file);
  return path;
}

function mount(path: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'atoll-test', path]);
}

/** Containers often take the right to mount from root. */
function mountable(): boolean {
  try {
    execFileSync('unshare', ['--mount', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
