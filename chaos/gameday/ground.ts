/** What the scenarios of a game day share: the fleet under the official client, open runs, planned moves. */
import type { Client } from '@temporalio/client';
import type { OperatorRun } from '../../bin/testing/operator.ts';
import type { CellId, Fleet } from './fleet.ts';
import { TASK_QUEUE, type Failed, type Load } from './load.ts';
import { collecting } from './workflows.ts';

export const NAMESPACE = 'orders';
const STARTING = 16;

export type Ground = { readonly fleet: Fleet; readonly client: Client };

/** Starts runs that stay open. */
export async function openRuns(client: Client, count: number): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) {
      next += 1;
      const workflowId = `open-${next}`;
      await client.workflow.start(collecting, { workflowId, taskQueue: TASK_QUEUE });
    }
  };
  await Promise.all(Array.from({ length: STARTING }, lane));
}

/** A planned move that confirms itself, and a comparison of the cells after it. Throws if it did not move. */
export async function moveTo(
  fleet: Fleet,
  to: CellId,
): Promise<{ readonly pauseMs: number; readonly equal: string }> {
  const moved = await fleet.atoll(`move start ${NAMESPACE} --to ${to} --confirm --wait --json`);
  assertDone(moved, `the move to ${to}`);
  const { move } = JSON.parse(moved.out) as { readonly move: { readonly pauseMs?: number } };
  const against = to === 'a' ? 'b' : 'a';
  const verified = await fleet.atoll(`move verify ${NAMESPACE} --against ${against}`);
  assertDone(verified, `comparing after the move to ${to}`);
  return { pauseMs: move.pauseMs ?? Number.NaN, equal: textOf(verified) };
}

export function failedSince(load: Load, at: number): readonly Failed[] {
  return load.failed.filter((one) => one.at >= at);
}

export function assertDone(run: OperatorRun, what: string): void {
  if (run.code !== 0) throw new Error(`${what} ended with ${run.code}: ${textOf(run)}`);
}

export function textOf({ out, err }: OperatorRun): string {
  return `${out}${err}`.trim();
}
