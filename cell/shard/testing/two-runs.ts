/**
 * For tests of two cells that took one workflow id, `w`, each in its own epoch (PROTOCOLS 9): how it comes to that, and what
 * both have of it in the end.
 */
import { expect } from 'vitest';
import type { RunRef } from '../engine.ts';
import { type Host, NS, wf } from './shard-lab.ts';
import { asIs, forever, type twoCells } from './two-hosts.ts';

type Cells = Awaited<ReturnType<typeof twoCells>>;

/** The cell hears of what the map says of it. */
export const observe = (host: Host) => host.shards.replicas().observe(NS, forever);

/** A run of `w`, by a start with this request id. */
export async function started(host: Host, requestId: string): Promise<RunRef> {
  const reply = await host.start('w', { requestId });
  if (reply.kind !== 'started') throw new Error(`not started: ${reply.kind}`);
  return { namespaceId: NS, workflowId: 'w', runId: reply.runId };
}

/** `b` starts a run of which `a` hears nothing, then `a` starts another one. */
export async function twoRuns(cells: Cells, request?: string) {
  const { a, b, move } = cells;
  await a.start('another'); // Or both hosts would draw the same run ids.
  move('2@2', 'b');
  await observe(b);
  const unheard = await started(b, request ?? 'first');
  move('3@3', 'a');
  await observe(a);
  await observe(b);
  const second = await started(a, request ?? 'second');
  return { unheard, second };
}

/**
 * Of two runs `a` ended its stray one; `b`, active after it, knows of the second run and not of that end: it ended the second one,
 * and gave the id back to the other.
 */
export async function idGivenBack(cells: Cells) {
  const { a, b, ship, moveHeard } = cells;
  await a.settle(1_000); // The second one is the later one.
  const { unheard, second } = await twoRuns(cells);
  const early = await a.shards.replicas().image(second, forever);
  await ship('b');
  expect([await isOpen(a, unheard), await currentOf(a)]).toEqual([false, second.runId]);
  await moveHeard('4@4', 'b');
  await b.shards.replicas().adopt(early, asIs, forever);
  expect([await isOpen(b, second), await currentOf(b)]).toEqual([false, unheard.runId]);
  return { unheard, second };
}

export const isOpen = async (host: Host, ref: RunRef) =>
  (await host.ownership.at(ref, forever, ({ run }) => run.head.closedAt)) === undefined;
/** Where `w` points. */
export const currentOf = async (host: Host) =>
  (await host.ownership.at(wf('w'), forever, ({ execution }) => execution.current)).runId;
export const digests = (host: Host, refs: readonly RunRef[]) =>
  host.shards.replicas().digests(refs, { recompute: true }, forever);

/** Everything is shipped until nothing comes any more: then both cells have the same of both runs. */
export async function expectEqual({ a, b, ship }: Cells, refs: readonly RunRef[]): Promise<void> {
  for (const from of ['a', 'b', 'a', 'b'] as const) {
    await ship(from);
    const [source, target] = from === 'a' ? [a, b] : [b, a];
    for (const ref of refs) {
      const image = await source.shards
        .replicas()
        .image(ref, forever)
        .catch(() => undefined);
      if (image) await target.shards.replicas().adopt(image, asIs, forever);
    }
  }
  expect(await digests(a, refs)).toEqual(await digests(b, refs));
}
