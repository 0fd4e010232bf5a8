/** The runner of steps and the count line, as processes: what a person and CI read at the end. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'steps-'));
  folders.push(folder);
  return folder;
}

type Said = { code: number | null; last: string; named: string[] };

/** Runs node or a tool and answers with exit code, last line of output, and the lines that name a failure. */
function run(program: string, args: string[], cwd: string): Said {
  const child = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, CI: '1' },
  });
  const lines = child.stdout.trimEnd().split('\n');
  const named = lines.filter((line) => line.startsWith('✗ '));
  return { code: child.status, last: lines.at(-1) ?? '', named };
}

function runSteps(steps: object[]): Said {
  const folder = emptyFolder();
  const script = `import { runSteps } from ${JSON.stringify(resolve('tools/run-steps.mjs'))};
await runSteps(${JSON.stringify(steps)});`;
  writeFileSync(join(folder, 'main.mjs'), script);
  return run(process.execPath, ['main.mjs'], folder);
}

function step(script: string, over: object = {}): object {
  const command = [process.execPath, '-e', script];
  return { name: 'step', command, counts: 'line', maxMinutes: 1, ...over };
}

const prints = (line: string) => `console.log('noise'); console.log(${JSON.stringify(line)})`;

describe('runSteps', () => {
  it.each([
    [
      'adds up lines and checks',
      [step(prints('3 passed, 0 failed, 2 skipped')), step('', { counts: 'one' })],
      0,
      '4 passed, 0 failed, 2 skipped',
    ],
    [
      'fails with a step that counts a failure',
      [step(prints('3 passed, 1 failed, 0 skipped'))],
      1,
      '3 passed, 1 failed, 0 skipped',
    ],
    [
      'fails a step that counted nothing',
      [step(prints('0 passed, 0 failed, 4 skipped'))],
      1,
      '0 passed, 1 failed, 4 skipped',
    ],
    [
      'fails a step without a count line',
      [step(prints('all good'))],
      1,
      '0 passed, 1 failed, 0 skipped',
    ],
    [
      'fails a step that counts well and ends badly',
      [step(`${prints('3 passed, 0 failed, 0 skipped')}; process.exit(3)`)],
      1,
      '3 passed, 1 failed, 0 skipped',
    ],
    [
      'ends a step that takes too long',
      [step('setInterval(() => {}, 1000)', { maxMinutes: 0.005 })],
      1,
      '0 passed, 1 failed, 0 skipped',
    ],
    [
      'skips what follows a required step that failed',
      [step('process.exit(1)', { counts: 'one', required: true }), step('')],
      1,
      '0 passed, 1 failed, 1 skipped',
    ],
    ['fails when there was no step', [], 1, '0 passed, 0 failed, 0 skipped'],
    [
      'fails a step whose program does not exist',
      [step('', { command: ['no-such-program'] })],
      1,
      '0 passed, 1 failed, 0 skipped',
    ],
  ])('%s', (_sentence, steps, code, last) => {
    expect(runSteps(steps)).toMatchObject({ code, last });
  });

  it('names at its end what failed, by the lines of each step that failed', () => {
    const failing = `console.log('✗ a.test.ts > a: 1 is not 2'); ${prints('3 passed, 1 failed, 0 skipped')}`;
    const { named } = runSteps([step(failing), step('process.exit(3)', { counts: 'one' })]);
    expect(named.slice(-3)).toEqual([
      '✗ a.test.ts > a: 1 is not 2',
      '✗ step: exit code 0',
      '✗ step: exit code 3',
    ]);
  });
});

describe('the count line of a test run', () => {
  const TEST = "import { beforeAll, describe, expect, it } from 'vitest';\n";

  function runTests(text: string): Said {
    const folder = emptyFolder();
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    const reporter = JSON.stringify(resolve('tools/count-reporter.ts'));
    const config = `import { CountReporter } from ${reporter};
export default { test: { reporters: ['dot', new CountReporter()] } };`;
    writeFileSync(join(folder, 'vitest.config.ts'), config);
    if (text !== '') writeFileSync(join(folder, 'a.test.ts'), TEST + text);
    return run(resolve('node_modules/.bin/vitest'), ['run', '--root', folder], folder);
  }

  it.each([
    [
      'counts what passed and what was skipped',
      "it('a', () => {}); it.runIf(false)('b', () => {});",
      0,
      '1 passed, 0 failed, 1 skipped',
    ],
    [
      'counts a failure',
      "it('a', () => expect(1).toBe(2)); it('b', () => {});",
      1,
      '1 passed, 1 failed, 0 skipped',
    ],
    [
      'counts a file that cannot be loaded',
      "import './nowhere.ts';",
      1,
      '0 passed, 1 failed, 0 skipped',
    ],
    [
      'counts a hook that throws',
      "describe('d', () => { beforeAll(() => { throw new Error('x'); }); it('a', () => {}); });",
      1,
      '0 passed, 1 failed, 1 skipped',
    ],
    [
      'counts a rejection that nobody waited for',
      "it('a', () => { void Promise.reject(new Error('x')); });",
      1,
      '1 passed, 1 failed, 0 skipped',
    ],
    [
      'names a failure with its file, its test and its error',
      "describe('d', () => { it('a', () => expect(1).toBe(2)); });",
      1,
      '0 passed, 1 failed, 0 skipped',
    ],
    ['fails without any test', '', 1, '0 passed, 0 failed, 0 skipped'],
  ])('%s', (_sentence, text, code, last) => {
    const said = runTests(text);
    expect(said).toMatchObject({ code, last });
    expect(said.named).toHaveLength(Number(/(\d+) failed/.exec(last)?.[1]));
  });
});
