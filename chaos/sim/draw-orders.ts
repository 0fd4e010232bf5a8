/** The orders that the clients of a world place, drawn from its seed. */
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import type { Order } from './client.ts';
import type { Fate } from './order-process.ts';

const FATES: readonly Fate[] = ['ships', 'ships', 'never-ships', 'declined', 'no-stock'];

/**
 * @param how `mostNotes`: signals of an order beside the one that ships it; `anonymous`: some of them carry no request id
 */
export function drawOrders(
  rng: SeededRng,
  endMs: number,
  how: { readonly mostNotes: number; readonly anonymous: boolean },
): readonly Order[] {
  return Array.from({ length: rng.integer(3, 6) }, (_, index): Order => {
    const fate = rng.pick(FATES);
    return {
      workflowId: `order-${index + 1}`,
      fate,
      beginsMs: rng.fraction() * endMs * 0.7,
      shipWithinMs: rng.integer(3_000, 15_000),
      ships: fate === 'ships',
      notes: rng.integer(0, how.mostNotes),
      anonymous: how.anonymous ? [1, 2, 3, 4].filter(() => rng.chance(0.3)) : [],
      ending: rng.chance(0.75) ? 'none' : rng.pick(['cancel', 'terminate']),
      startsAgain: rng.chance(0.25),
    };
  });
}
