/** The tokens that handlers take back, as the engine wants them. wire/task-token.ts checks signature, kind, namespace. */
import { notFound } from '../../wire/failures.ts';
import {
  ACTIVITY_TASK_TOKEN,
  openToken,
  WORKFLOW_TASK_TOKEN,
  type TokenKind,
} from '../../wire/task-token.ts';
import type { ActivityClaim, WorkflowTaskClaim } from '../history/input.ts';
import type { RunRef } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts } from './call.ts';

type Bytes = Uint8Array | undefined;

const UNKNOWN_ACTIVITY =
  'activity task not found: its token was not made by this server, or by one that has lost its keys. Give it up.';

/** What the token says. @throws AtollError `invalid-argument` if it is not a token of ours, for this namespace */
export function open<T extends { readonly namespaceId: string }>(
  { tokens }: Pick<FrontendParts, 'tokens'>,
  kind: TokenKind<T>,
  given: { readonly bytes: Bytes; readonly call: AdmittedCall },
): T {
  return openToken(tokens, kind, { bytes: given.bytes, namespaceId: given.call.namespaceId });
}

/** The run and the claim of a workflow-task token (PROTOCOLS 6). */
export function workflowTaskOf(
  parts: Pick<FrontendParts, 'tokens'>,
  bytes: Bytes,
  call: AdmittedCall,
): { readonly run: RunRef; readonly claim: WorkflowTaskClaim } {
  const token = open(parts, WORKFLOW_TASK_TOKEN, { bytes, call });
  const { namespaceId, workflowId, runId, ...claim } = token;
  return { run: { namespaceId, workflowId, runId }, claim };
}

/**
 * The run and the claim of an activity token.
 * @throws AtollError `not-found` for one that another server made, or this one before it lost its keys (in memory): its
 *   worker then gives the activity up, where it would heartbeat for ever on `invalid-argument`
 */
export function activityTaskOf(
  parts: Pick<FrontendParts, 'tokens'>,
  bytes: Bytes,
  call: AdmittedCall,
): { readonly run: RunRef; readonly claim: ActivityClaim } {
  const token = openActivity(parts, bytes, call);
  const { namespaceId, workflowId, runId } = token;
  const { scheduledEventId, activityId, attempt, scheduledEpoch } = token;
  return {
    run: { namespaceId, workflowId, runId },
    claim: { scheduledEventId, activityId, attempt, scheduledEpoch },
  };
}

/** One look at the signature where all is well; a second one tells what is wrong. */
function openActivity(parts: Pick<FrontendParts, 'tokens'>, bytes: Bytes, call: AdmittedCall) {
  try {
    return open(parts, ACTIVITY_TASK_TOKEN, { bytes, call });
  } catch (thrown) {
    if (hasBytes(bytes) && !parts.tokens.isOurs(bytes)) throw notFound(UNKNOWN_ACTIVITY);
    throw thrown;
  }
}

/** A token or page token is there at all. */
export function hasBytes(bytes: Bytes): bytes is Uint8Array {
  return bytes !== undefined && bytes.length > 0;
}
