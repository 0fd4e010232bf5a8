/** The conformance suite of the dead letters' port: every adapter passes it. */
import { beforeEach, expect, it } from 'vitest';
import type { DeadLetter, DeadLetters } from '../dead-letters.ts';

const LANE = { namespaceId: '11111111-1111-4111-8111-111111111111', target: 'b' };
const signal = new AbortController().signal;

function letter(change: Partial<DeadLetter> = {}): DeadLetter {
  const step = new Uint8Array([1, 0, 255]);
  return {
    ...LANE,
    workflowId: 'w',
    runId: 'r-1',
    transition: 3,
    at: 10,
    reason: 'why',
    step,
    ...change,
  };
}

export function deadLettersConformance(make: () => Promise<DeadLetters>): void {
  let letters: DeadLetters;
  beforeEach(async () => {
    letters = await make();
  });
  const list = async (repairedToo = false, lane = LANE) => {
    const found = await letters.list(lane, { repairedToo, limit: 100 }, signal);
    return found.map((one) => ({ ...one, step: [...one.step] }));
  };

  it('gives letters back as they were added, oldest first, within the limit', async () => {
    await letters.add(letter({ runId: 'r-2', at: 20 }), signal);
    await letters.add(letter(), signal);
    expect(await list()).toEqual([
      { ...letter(), step: [1, 0, 255] },
      { ...letter({ runId: 'r-2', at: 20 }), step: [1, 0, 255] },
    ]);
    expect(await letters.list(LANE, { repairedToo: false, limit: 1 }, signal)).toHaveLength(1);
  });

  it('keeps hard texts and empty steps', async () => {
    const hard = `'; DROP TABLE x; -- שלום 😀 \\`;
    await letters.add(
      letter({ workflowId: hard, reason: `${hard}\n`, step: new Uint8Array(0) }),
      signal,
    );
    expect(await list()).toMatchObject([{ workflowId: hard, reason: `${hard}\n`, step: [] }]);
  });

  it('keeps a letter that is added again once, with its newest reason', async () => {
    await letters.add(letter(), signal);
    await letters.add(letter({ reason: 'newer' }), signal);
    expect(await list()).toMatchObject([{ reason: 'newer' }]);
  });

  it('keeps the lanes apart', async () => {
    await letters.add(letter(), signal);
    await letters.add(letter({ target: 'c' }), signal);
    await letters.repaired({ ...LANE, target: 'c' }, { runId: 'r-1', at: 30 }, signal);
    expect(await list()).toHaveLength(1);
    expect(await list(false, { ...LANE, target: 'c' })).toEqual([]);
  });

  it('counts repaired letters no longer, and keeps them readable, until they come again', async () => {
    await letters.add(letter(), signal);
    await letters.add(letter({ transition: 4 }), signal);
    await letters.add(letter({ runId: 'r-2' }), signal);
    await letters.repaired(LANE, { runId: 'r-1', at: 30 }, signal);
    expect(await list()).toMatchObject([{ runId: 'r-2' }]);
    const all = await list(true);
    expect(all.filter(({ repairedAt }) => repairedAt === 30)).toHaveLength(2);
    await letters.add(letter(), signal);
    expect(await list()).toHaveLength(2);
  });
}
