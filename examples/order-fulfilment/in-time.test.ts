import { describe, expect, test } from 'vitest';
import { isInTime } from './in-time.ts';

// seconds since the attempt was scheduled | its timeout | may it call?
const table = `
 0    | 15 | yes
 10   | 15 | yes
 10.1 | 15 | no
 15   | 15 | no
 60   | 15 | no
 0    | 4  | no
 -1   | 15 | yes
`;

describe('an attempt that moves money', () => {
  for (const line of table.trim().split('\n')) {
    const [age = '', timeout = '', answer = ''] = line.split('|').map((cell) => cell.trim());
    test(`${answer === 'yes' ? 'calls' : 'does not call'} ${age} s after it was scheduled with ${timeout} s`, () => {
      const attempt = { scheduledAt: 1_000_000, startToCloseTimeoutMs: Number(timeout) * 1_000 };
      expect(isInTime(attempt, 1_000_000 + Number(age) * 1_000)).toBe(answer === 'yes');
    });
  }
});
