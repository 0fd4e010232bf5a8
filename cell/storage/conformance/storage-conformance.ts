/** The one suite that every storage adapter passes. It is called by the adapters' own test files. */
import { afterEach, beforeEach, describe } from 'vitest';
import { appendConformance } from './append-conformance.ts';
import { checkpointConformance } from './checkpoint-conformance.ts';
import type { Isolation, MakeHarness, StorageHarness } from './harness.ts';
import { ownershipConformance } from './ownership-conformance.ts';
import { viewsConformance } from './views-conformance.ts';

const BOTH = ['read committed', 'repeatable read'] as const;

/**
 * Declares the suite, once per isolation level; each test gets a fresh database of `makeHarness`. `name` says which
 * store it is: it opens the title of every test.
 */
export function storageConformance(
  name: string,
  makeHarness: MakeHarness,
  isolations: readonly Isolation[] = BOTH,
): void {
  for (const isolation of isolations) {
    describe(`${name} at ${isolation}`, () => {
      let current: StorageHarness | undefined;
      const harness = () => {
        if (!current) throw new Error('a conformance test runs without its database');
        return current;
      };
      beforeEach(async () => {
        current = await makeHarness(isolation);
      });
      afterEach(async () => {
        await current?.close();
        current = undefined;
      });
      describe('append', () => appendConformance(harness));
      describe('ownership', () => ownershipConformance(harness, isolation));
      describe('checkpoint', () => checkpointConformance(harness));
      describe('views', () => viewsConformance(harness));
    });
  }
}
