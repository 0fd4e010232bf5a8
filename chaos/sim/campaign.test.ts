import { describe, expect, it } from 'vitest';
import { runCampaign, type CampaignOptions } from './campaign.ts';
import type { WorldKind } from './world-kind.ts';

/** A kind of world whose seeds break what `breaches` says, and count a fault once each. */
function worlds(breaches: Readonly<Record<number, string>> = {}): WorldKind {
  return {
    name: 'one-cell',
    flags: ['--odd'],
    tables: [{ title: 'faults', names: ['crash'] }],
    catches: 'promise',
    known: () => [183],
    run: (seed) =>
      Promise.resolve({
        seed,
        breaches: breaches[seed] === undefined ? [] : [breaches[seed]],
        excerpt: [],
        traceHash: '',
        events: 0,
        counts: [new Map([['crash', seed === 183 ? 0 : 1]])],
      }),
  };
}

async function campaign(kind: WorldKind, options: Partial<CampaignOptions> = {}) {
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const common = { from: 1, seeds: 3, known: false, jobs: 1, print };
  const passed = await runCampaign(kind, { ...common, ...options });
  return { passed, lines, last: lines.at(-1) };
}

describe('a campaign', () => {
  it('adds up what its seeds counted, those that once showed a bug first', async () => {
    const { passed, lines, last } = await campaign(worlds({ 183: 'P1: gone' }), { known: true });
    expect(passed).toBe(false);
    expect(lines[0]).toBe('seed 183: 1 broken, replay with: npm run sim -- --odd --seed 183');
    expect(lines.at(-2)).toBe('✗ npm run sim -- --odd --seed 183: P1: gone');
    expect(lines.join('\n')).toMatch(/crash +3/);
    expect(last).toBe('3 passed, 1 failed, 0 skipped');
  });

  it.each([
    ['at any failure', 'failure', '0 passed, 1 failed, 0 skipped'],
    ['at a broken promise, past a crash', 'promise', '1 passed, 2 failed, 0 skipped'],
    ['never', undefined, '3 passed, 2 failed, 0 skipped'],
  ] as const)('stops %s', async (_, stopAt, said) => {
    const kind = worlds({ 1: 'a stopped shard 0 as broken', 3: 'P4: twice' });
    expect((await campaign(kind, { seeds: 5, stopAt })).last).toBe(said);
  });

  it('of 200 seeds fails where something never came up', async () => {
    const kind = { ...worlds(), tables: [{ title: 'faults', names: ['crash', 'flood'] }] };
    const { passed, lines } = await campaign(kind, { seeds: 200 });
    expect(passed).toBe(false);
    expect(lines).toContain('✗ NEVER: flood');
    expect((await campaign(kind, { seeds: 199 })).passed).toBe(true);
  });
});
