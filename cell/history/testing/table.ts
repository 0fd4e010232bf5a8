/** Text tables of scripts: `steps | history (or answer) | because`, one row a sentence. */
import { expect, test } from 'vitest';
import { Script } from './script.ts';
import { say } from './worker.ts';

/**
 * One test a row. The second cell is the history of the newest run in few words, from the first event on, or, if it
 * begins with "=", what the last step was answered. "…" at its beginning leaves out what came before.
 */
export function testTable(table: string): void {
  for (const row of table.trim().split('\n')) {
    const [steps = '', expected = '', because = ''] = row.split('|').map((cell) => cell.trim());
    test(because, () => {
      const script = new Script().run(steps);
      if (expected.startsWith('=')) expect(script.last).toBe(expected.slice(1).trim());
      else if (expected.startsWith('…'))
        expect(`… ${say(script.lab)}`).toMatch(ending(expected.slice(1).trim()));
      else expect(say(script.lab)).toBe(expected);
    });
  }
}

function ending(text: string): RegExp {
  return new RegExp(` ${text.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`)}$`, 'u');
}
