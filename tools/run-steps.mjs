/**
 * Runs named steps one after the other, as child processes, and adds up what they counted.
 *
 * Place: under tools/test.mjs (`npm test`) and tools/ci.mjs (`.ci/run`).
 *
 * Invariants
 *  1. The last line of output is `N passed, N failed, N skipped`, whatever happened before it.
 *  2. A step fails when its process fails, runs past its time, or says that it counts and counted nothing.
 *  3. No step reads standard input.
 *  4. What failed is named again at the end, where a log that was cut still shows it: each line of a step's last
 *     output that begins with ✗, at most MAX_NAMED of them.
 */
import { spawn } from 'node:child_process';

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string[]} command program and arguments
 * @property {'line' | 'one'} counts `line`: its last output line is the count; `one`: it counts as one check
 * @property {number} maxMinutes the step is killed and fails after this time
 * @property {boolean} [required] when it fails, the later steps cannot mean anything and are skipped
 */

const COUNT_LINE = /^(\d+) passed, (\d+) failed, (\d+) skipped$/;
const KEPT_TAIL_CHARS = 16_384;
const MAX_NAMED = 30;

/** Runs the steps, prints durations and the sum, and sets the exit code. @param {Step[]} steps */
export async function runSteps(steps) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const durations = [];
  const named = [];
  let stopped = false;
  for (const step of steps) {
    if (stopped) {
      total.skipped += 1;
      durations.push(`  skipped            ${step.name}`);
      continue;
    }
    console.log(`\n▶ ${step.name}: ${step.command.join(' ')}`);
    const startedMs = performance.now();
    const result = await runStep(step);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    durations.push(`  ${result.ok ? 'ok    ' : 'FAILED'} ${seconds.padStart(8)} s  ${step.name}`);
    if (!result.ok) named.push(...result.named, `✗ ${step.name}: ${result.why}`);
    total.passed += result.passed;
    total.failed += result.failed;
    total.skipped += result.skipped;
    stopped = !result.ok && step.required === true;
  }
  console.log(`\n${durations.join('\n')}`);
  for (const line of named.slice(0, MAX_NAMED)) console.log(line);
  if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
}

async function runStep(step) {
  const run = await execute(step);
  const named = run.tail.split('\n').filter((line) => line.startsWith('✗ '));
  return { named, ...countsOf(step, run) };
}

function countsOf(step, { code, tail, timedOut }) {
  const why = timedOut ? `took longer than ${step.maxMinutes} min` : `exit code ${code}`;
  const ended = code === 0 && !timedOut;
  if (step.counts === 'one') {
    return { ok: ended, why, passed: ended ? 1 : 0, failed: ended ? 0 : 1, skipped: 0 };
  }
  const match = COUNT_LINE.exec(tail.trimEnd().split('\n').at(-1) ?? '');
  if (match === null) {
    return { ok: false, why: `${why}, and no count line`, passed: 0, failed: 1, skipped: 0 };
  }
  const [passed, failed, skipped] = match.slice(1).map(Number);
  const saw = passed + failed > 0;
  const ok = ended && failed === 0 && saw;
  // A step that failed otherwise than by a counted failure still counts as one.
  const extra = !ok && failed === 0 ? 1 : 0;
  return { ok, why: saw ? why : 'it counted no test', passed, failed: failed + extra, skipped };
}

function execute(step) {
  return new Promise((resolve) => {
    const [program, ...args] = step.command;
    // A group of its own, so that a late step ends with all that it started.
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    let tail = '';
    let timedOut = false;
    // Decoded as a stream: a sign of several bytes may come in two chunks.
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      process.stdout.write(chunk);
      tail = (tail + chunk).slice(-KEPT_TAIL_CHARS);
    });
    const kill = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group is gone already.
      }
    };
    const stop = (signal) => {
      kill();
      process.exit(signal === 'SIGINT' ? 130 : 143);
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, step.maxMinutes * 60_000);
    const finish = (code) => {
      clearTimeout(timer);
      process.off('SIGINT', stop).off('SIGTERM', stop);
      resolve({ code, tail, timedOut });
    };
    child.once('error', (error) => {
      console.error(`${step.name}: ${error.message}`);
      finish(127);
    });
    child.once('close', finish);
  });
}
