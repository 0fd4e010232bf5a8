/** Errors of the shards that clients see, with the details that SDKs map. */
import {
  EPOCH_HEADER,
  HANDOVER,
  NOT_ACTIVE,
  OWNER_HEADER,
  REFUSED_HEADER,
} from '../../fleet/call-headers.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { Decision } from '../history/decision.ts';
import type { ShardId } from '../storage/shard-log.ts';
import type { Target } from './engine.ts';
import type { Mark, PlacementView } from './mark.ts';

export function executionNotFound(target: Target): AtollError {
  const run = target.runId === undefined ? '' : `, run ${target.runId}`;
  return new AtollError(
    'not-found',
    `workflow execution not found: id "${target.workflowId}"${run}`,
    {
      detail: { type: 'NotFoundFailure', value: {} },
    },
  );
}

/** For one whose target was loaded again and again, and forgotten each time. */
export function memoryShort(shard: ShardId): AtollError {
  return new AtollError(
    'resource-exhausted',
    `shard ${shard} forgets runs as fast as it loads them (cachedRunLimit): try again in a moment`,
  );
}

/** The namespace is closed here or active elsewhere; the trailers tell a router to hold the call, or where to go. */
export function notActing(
  namespaceId: string,
  mark: Mark | undefined,
  placement: PlacementView | undefined,
): AtollError {
  const epoch = Math.max(mark?.epoch ?? 0, placement?.epoch ?? 0);
  const closed = mark?.kind === 'gated' && epoch === mark.epoch;
  const why = closed
    ? 'is moving to another cell: call through a router, or again in a moment'
    : `is active in cell ${placement?.owner ?? 'unknown'}, not here: call through a router`;
  const trailers = {
    [REFUSED_HEADER]: closed ? HANDOVER : NOT_ACTIVE,
    [EPOCH_HEADER]: String(epoch),
    ...(placement === undefined ? {} : { [OWNER_HEADER]: placement.owner }),
  };
  return new AtollError('unavailable', `namespace ${namespaceId} ${why}`, { trailers });
}

/** What this cell decided of a run lost against another branch, or is not known there, and must be heard of first. */
export function stillToBeSent({ runId }: { readonly runId: string }): AtollError {
  return new AtollError(
    'unavailable',
    `what this cell decided of run ${runId} lost, and is still on its way to the cell that acts: try again`,
  );
}

/** A refusal may be thrown deep inside a decision: it is told like any other. */
export function orRefusal(decide: () => Decision): Decision {
  try {
    return decide();
  } catch (error) {
    if (error instanceof AtollError) return { kind: 'refuse', error };
    throw error;
  }
}

/** For a caller to whom a refusal is no answer. */
export function orThrow<Answer>(answer: Answer | AtollError): Answer {
  if (answer instanceof AtollError) throw answer;
  return answer;
}
