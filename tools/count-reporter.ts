/**
 * Prints `N passed, N failed, N skipped`, the line that the house counts by, after all other output.
 *
 * Place: the last reporter of vitest.config.ts; tools/test.mjs and .ci/run read the line.
 *
 * Invariants
 *  1. The line is printed once a run, and is the last one.
 *  2. A run in which no test ran fails, and so does one that threw outside a test.
 *  3. Before it, a line `✗ file > test: error` names each failure, so that the end of a log tells what broke.
 */
import type { Reporter, TestModule } from 'vitest/node';

const SHOWN_CHARS = 300;

export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const named = unhandled.map((error) => `✗ outside a test: ${firstLine(error)}\n`);
    const count = { passed: 0, failed: unhandled.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      let own = 0;
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        count[state] += 1;
        if (state === 'failed' || state === 'pending')
          named.push(
            `✗ ${module.relativeModuleId} > ${test.fullName}: ${firstLine(errors?.[0])}\n`,
          );
        own += 1;
      }
      // A file that could not be loaded, or a hook that threw, is an error without a failed test.
      const outside = [...module.children.allSuites()].flatMap((suite) => suite.errors());
      count.failed += outside.length;
      if (module.state() === 'failed' && (own === 0 || module.errors().length > 0)) {
        count.failed += 1;
        outside.push(...module.errors().slice(0, 1));
      }
      for (const error of outside)
        named.push(`✗ ${module.relativeModuleId}: ${firstLine(error)}\n`);
    }
    if (count.passed + count.failed === 0) process.exitCode = 1;
    // A test that never ended did not pass.
    const failed = count.failed + count.pending;
    const line = `${count.passed} passed, ${failed} failed, ${count.skipped} skipped\n`;
    process.once('exit', () => process.stdout.write(named.join('') + line));
  }
}

function firstLine(error: unknown): string {
  if (!(error instanceof Object && 'message' in error)) return 'it never ended, or threw no error';
  return (String(error.message).split('\n')[0] ?? '').slice(0, SHOWN_CHARS);
}
