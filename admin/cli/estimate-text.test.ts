import { expect, it } from 'vitest';
import type { LossEstimateMessage } from '../../wire/atoll/admin.ts';
import { estimateText } from './estimate-text.ts';

const heard = { source: 'a', heardMsAgo: 60_000, knownMissing: 17, lagMs: 800 };
const copying = { ...heard, copying: true, copied: 3, total: 9 };

const rows: readonly [string, LossEstimateMessage, RegExp][] = [
  ['a lane that follows', heard, /heard 60 s ago. Known .*: 17 transitions.*\n.*last 61 s may be/],
  [
    'a copy of what changed',
    { ...copying, since: 1_700_000_000_000, lagMs: 120_000 },
    /not known: at least 17 .* since 2023-11-14T22:13:20.000Z, .* \(3 of about 9 .*\n.*last 3 min/,
  ],
  [
    'a copy, nobody knows since when',
    copying,
    /at least 17 transitions or executions, the [^\n]*\n$/,
  ],
  [
    'a replica that was never whole',
    { ...copying, unseeded: true },
    /\(3 of about 9 executions\)\.\nb never had a whole copy.*\n$/,
  ],
  ['a cell that has just started', { ...heard, unheard: true }, /not heard of a since .* 60 s ago/],
  ['a cell that answers', { ...heard, heardMsAgo: 900 }, /a planned move loses nothing/],
];
it.each(rows)('%s', (_, of, expected) => {
  const text = estimateText('orders', { active: 'a', to: 'b', epoch: 1, estimates: [of] });
  expect(text).toMatch(/^orders: a → b, epoch 1 → 2/);
  expect(text).toMatch(expected);
  if (of.heardMsAgo !== 900) expect(text).not.toContain('planned move');
});
