/** Tells damage of what is stored from what passes by itself. Pure. */
import { toAtollError } from '../../kernel/errors.ts';

/**
 * Whether it broke on what was read. A store that is away, a shard that is not owned and a caller that left are no damage;
 * bytes that do not decode show as invalid.
 */
export function isDamage(thrown: unknown): boolean {
  const { code } = toAtollError(thrown);
  return code === 'data-loss' || code === 'internal' || code === 'invalid-argument';
}
