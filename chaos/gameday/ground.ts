/** What the scenarios of a game day share: the fleet under the official client, open runs, planned moves. */
import type { Client } from '@temporalio/client';
import type { OperatorRun } from '../../bin/testing/operator.ts';
import type { AdminResponse, MovePauseMessage } from '../../wire/atoll/admin.ts';
import type { Executions } from './executions.ts';
import type { CellId } from '../live/two-cells.ts';
import type { Fleet } from './fleet.ts';
import { TASK_QUEUE, type Failed, type Load } from './load.ts';
import { collecting } from './workflows.ts';

export const NAMESPACE = 'orders';
const STARTING = 16;

export type Ground = {
  readonly fleet: Fleet;
  readonly client: Client;
  /** How often the workers executed each activity that may be tried once. */
  readonly executions: Executions;
};

/** What the orchestrator measured. */
export type Pause = {
  readonly pauseMs: number;
  readonly parts: MovePauseMessage;
};

/** Starts runs that stay open. */
export async function openRuns(client: Client, count: number): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) {
      next += 1;
      const workflowId = `open-${next}`;
      await client.workflow.start(collecting, { workflowId, taskQueue: TASK_QUEUE, args: [1] });
    }
  };
  await Promise.all(Array.from({ length: STARTING }, lane));
}

/** A planned move that confirms itself, and a comparison of the cells after it. Throws if it did not move. */
export async function moveTo(
  fleet: Fleet,
  to: CellId,
): Promise<Pause & { readonly verified: Verified }> {
  const moved = await fleet.atoll(`move start ${NAMESPACE} --to ${to} --confirm --wait --json`);
  assertDone(moved, `the move to ${to}`);
  const { move = {} } = JSON.parse(moved.out) as AdminResponse<'DescribeMove'>;
  const verified = await verify(fleet, to);
  return { pauseMs: move.pauseMs ?? Number.NaN, parts: move.pause ?? {}, verified };
}

/** How many executions were held against the other cell, and how many were the same there. */
export type Verified = {
  readonly compared: number;
  readonly equal: number;
  readonly differences: number;
  readonly moving: number;
};

/** Compares all; `deep`: by what is stored, in both cells. Throws if it cannot be compared. */
export async function verify(fleet: Fleet, active: CellId, deep = false): Promise<Verified> {
  const against = active === 'a' ? 'b' : 'a';
  const flags = `--against ${against} --json${deep ? ' --stored' : ''}`;
  const verified = await fleet.atoll(`move verify ${NAMESPACE} ${flags}`);
  const report = verified.out === '' ? undefined : (JSON.parse(verified.out) as Partial<Verified>);
  if (report === undefined) throw new Error(`comparing ended with ${textOf(verified)}`);
  const { compared = 0, equal = 0, differences = 0, moving = 0 } = report;
  return { compared, equal, differences, moving };
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
