/**
 * Prints `N passed, N failed, N skipped`, the line that the house counts by, after all other output.
 *
 * Place: the last reporter of vitest.config.ts; tools/test.mjs and .ci/run read the line.
 *
 * Invariants
 *  1. The line is printed once a run, and is the last one.
 *  2. A run in which no test ran fails, and so does one that threw outside a test.
 */
import type { Reporter, TestModule } from 'vitest/node';

export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandled.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      let own = 0;
      for (const test of module.children.allTests()) {
        count[test.result().state] += 1;
        own += 1;
      }
      // A file that could not be loaded, or a hook that threw, is an error without a failed test.
      if (module.state() === 'failed' && (own === 0 || module.errors().length > 0))
        count.failed += 1;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
    }
    if (count.passed + count.failed === 0) process.exitCode = 1;
    // A test that never ended did not pass.
    const failed = count.failed + count.pending;
    const line = `${count.passed} passed, ${failed} failed, ${count.skipped} skipped\n`;
    process.once('exit', () => process.stdout.write(line));
  }
}
