import { describe, expect, test } from 'vitest';
import { runKey } from '../../storage/memory/tables.ts';
import type { RunDigest } from './replicas.ts';
import { NS, type Host } from '../testing/shard-lab.ts';
import { asIs, forever, image, placed, storedInBoth, twoCells } from '../testing/two-hosts.ts';

type Cells = Awaited<ReturnType<typeof twoCells>>;

/** A run `w` that both cells have stored. */
async function stored(): Promise<Cells & { readonly ref: RunDigest }> {
  const cells = await twoCells();
  await cells.a.start('w');
  await cells.a.signal('w', 'r1');
  return storedInBoth(cells);
}

/** What the run row of `b` holds is torn; memory has forgotten it. */
function tear({ labB, b, ref }: { labB: Cells['labB']; b: Host; ref: RunDigest }): void {
  const { runs } = labB.tables;
  const row = runs.get(runKey(ref));
  if (!row) throw new Error('the run is not stored');
  runs.set(runKey(ref), { ...row, state: row.state.subarray(0, 20) });
  b.ownership.memory.forget(ref);
}

const digestOf = async (host: Host, ref: RunDigest) =>
  (await host.shards.replicas().digests([ref], { recompute: true }, forever))[0];

describe('a damaged run of a replica', () => {
  test('has a digest like no other, and is refused as long as nobody repairs it', async () => {
    const cells = await stored();
    tear(cells);
    const { a, b, ref } = cells;
    expect(await digestOf(b, ref)).toMatchObject({ state: 'unreadable', history: 'unreadable' });
    const refused = await b.shards.replicas().adopt(await image(a, 'w'), asIs, forever);
    expect(refused).toMatchObject({ kind: 'refused' });
    expect(await b.shards.replicas().missing([ref], forever)).toEqual([]);
  });

  test('that was replaced is whole for the next owner, too, before any checkpoint', async () => {
    const cells = await stored();
    tear(cells);
    const { a, b, labB, ref } = cells;
    const accused = await digestOf(b, ref);
    const replacing = { ...(await image(a, 'w')), replaces: accused ?? 'nothing' } as const;
    const answer = await b.shards.replicas().adopt(replacing, asIs, forever);
    expect(answer.kind).toBe('applied');
    const next = await labB.host();
    next.placement = placed('1@1');
    expect(await digestOf(next, ref)).toEqual(await digestOf(a, ref));
  });

  test('is left alone if it is not what was accused, and by a cell that acts', async () => {
    const { a, b, ship, ref } = await stored();
    const old = { ...(await image(a, 'w')), replaces: ref };
    await a.signal('w', 'r2');
    await ship('a');
    expect((await b.shards.replicas().adopt(old, asIs, forever)).kind).toBe('known');
    expect((await b.shards.replicas().remove(ref, forever)).kind).toBe('known');
    expect(await digestOf(b, ref)).toEqual(await digestOf(a, ref));
    const now = await digestOf(a, ref);
    if (!now) throw new Error('the run is not there');
    expect((await a.shards.replicas().remove(now, forever)).kind).toBe('known');
    const own = { ...(await image(a, 'w')), replaces: now };
    expect((await a.shards.replicas().adopt(own, asIs, forever)).kind).toBe('known');
  });

  test('is not replaced while the acting cell is still to hear of its branch, which lost', async () => {
    const { a, b, move, ref } = await stored();
    const observe = (host: Host) => host.shards.replicas().observe(NS, forever);
    move('2@2', 'b');
    await observe(b);
    await b.signal('w', 'unheard');
    move('3@3', 'a');
    await observe(a);
    await observe(b);
    await a.signal('w', 'won');
    const accused = await digestOf(b, ref);
    const repair = { ...(await image(a, 'w')), replaces: accused ?? 'nothing' } as const;
    b.delivery = 'steps';
    await expect(b.shards.replicas().adopt(repair, asIs, forever)).rejects.toThrow('try again');
    expect(await digestOf(b, ref)).toEqual(accused);
    b.delivery = 'done';
    expect(await b.shards.replicas().adopt(repair, asIs, forever)).toEqual({ kind: 'applied' });
  });

  test('is not replaced by an image of before the branch that the acting cell is to hear of', async () => {
    const { a, b, move, ref } = await stored();
    const before = await image(a, 'w');
    move('2@2', 'b');
    await b.shards.replicas().observe(NS, forever);
    await b.signal('w', 'unheard');
    move('3@3', 'a');
    await a.shards.replicas().observe(NS, forever);
    await b.shards.replicas().observe(NS, forever);
    const accused = await digestOf(b, ref);
    const repair = { ...before, replaces: accused ?? 'nothing' } as const;
    b.delivery = 'steps';
    await expect(b.shards.replicas().adopt(repair, asIs, forever)).rejects.toThrow('try again');
    // It has heard of it: the image is late.
    b.delivery = 'done';
    expect(await b.shards.replicas().adopt(repair, asIs, forever)).toEqual({ kind: 'known' });
    expect(await digestOf(b, ref)).toEqual(accused);
  });

  test('is not removed while the acting cell may still hear of it', async () => {
    const { b, labB, ref } = await stored();
    b.delivery = 'steps';
    await expect(b.shards.replicas().remove(ref, forever)).rejects.toThrow('try again');
    b.delivery = 'done';
    expect((await b.shards.replicas().remove(ref, forever)).kind).toBe('applied');
    await b.settle();
    expect(labB.tables.runs.size + labB.tables.executions.size).toBe(0);
  });

  test('does not keep the pending work of others from being driven after a failover', async () => {
    const cells = await stored();
    const { a, b, labB, ship, move } = cells;
    await a.start('other');
    await ship('a');
    await b.settle();
    tear(cells);
    const next = await labB.host();
    move('2@2', 'b');
    next.placement = placed('2@2 active');
    await next.shards.replicas().observe(NS, forever);
    await next.settle();
    expect((await next.poll()).workflowId).toBe('other');
    await expect(next.signal('w', 'r2')).rejects.toMatchObject({ code: 'data-loss' });
  });
});
