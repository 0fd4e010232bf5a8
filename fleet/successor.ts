/** What every store checks before it writes: a map that must not follow the stored one is a bug of the caller. */
import { invariant } from '../kernel/invariant.ts';
import type { FleetMap } from './map.ts';
import { goesBack } from './table.ts';

/** Asserts that `next` may follow `current`: one revision on, and nothing falls or vanishes (D8). */
export function assertSuccessor(current: FleetMap, next: FleetMap): void {
  invariant(
    next.revision === current.revision + 1,
    `fleet map: revision ${next.revision} does not follow ${current.revision}`,
  );
  const why = goesBack(current, next);
  invariant(why === undefined, `fleet map: ${why}`);
}
