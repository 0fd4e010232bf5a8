import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url).pathname;
const DEMO = join(ROOT, 'examples/order-fulfilment/demo.ts');
const ENGINE = `${process.execPath} --import tsx ${join(ROOT, 'bin/atoll.ts')} dev --port 0 --log-format json`;

test('Ctrl-C ends the demo with all its processes, and removes its folder', async () => {
  const temporary = await mkdtemp(join(tmpdir(), 'demo-test-'));
  await chmod(temporary, 0o755);
  try {
    const args = ['--import', 'tsx', DEMO, '--orders', '300', '--engine', ENGINE];
    // A process group of its own, as a terminal makes one: all of it gets the signal.
    const demo = spawn(process.execPath, args, {
      detached: true,
      cwd: ROOT,
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const gone = once(demo, 'exit');
    const pid = demo.pid ?? 0;
    await firstProgress(createInterface({ input: demo.stdout }));
    expect(await processesNaming(temporary)).not.toEqual([]);
    process.kill(-pid, 'SIGINT');
    expect((await gone)[0]).toBe(130);
    const left = (await readdir(temporary)).filter((name) => name.startsWith('atoll-'));
    expect(left).toEqual([]);
    expect(await processesNaming(temporary)).toEqual([]);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}, 120_000);

/** Orders are on their way: some calls are in flight. */
async function firstProgress(lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) if (/orders [1-9]/.test(line)) return;
  throw new Error('the demo ended before its first order');
}

/** Command lines that name this folder. */
async function processesNaming(folder: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.filter((line) => line.includes(folder));
}
