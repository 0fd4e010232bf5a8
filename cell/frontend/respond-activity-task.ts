/**
 * What workers say of an activity: completed, failed, canceled, heartbeat; by token or by workflow and activity id.
 *
 * A result that is too large for any store fails the activity for good and says so: refusing the answer would make
 * its worker drop it, and the activity run again to the same end.
 */
import { PAYLOAD_LIMIT_BYTES } from '../../wire/payload-limits.ts';
import type { Failure, Payloads } from '../../wire/plain.ts';
import type { ActivityClaim, RunInput } from '../history/input.ts';
import type { Target } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
import { activityTaskOf } from './tokens.ts';
import { optionalId, requiredId, targetOf } from './validate/ids.ts';
import { isTooLarge } from './validate/payloads.ts';

type Claimed = { readonly run: Target; readonly claim: ActivityClaim };

/** A request that names its activity, not a token. */
type ById = {
  readonly workflowId?: string | undefined;
  readonly runId?: string | undefined;
  readonly activityId?: string | undefined;
};

export function respondActivityTaskHandlers(parts: FrontendParts): Handlers {
  const byToken = (request: { taskToken?: Uint8Array | undefined }, call: AdmittedCall) =>
    activityTaskOf(parts, request.taskToken, call);
  const answer = (claimed: Claimed, fields: Fields, call: AdmittedCall) =>
    parts.engine.execute(claimed.run, toInput(claimed.claim, fields), call);
  const beat = async (claimed: Claimed, fields: Fields, call: AdmittedCall) => {
    const { reply } = await answer(claimed, fields, call);
    return { cancelRequested: reply.kind === 'heartbeat' && reply.cancelRequested };
  };
  return {
    async RespondActivityTaskCompleted(request, call) {
      await answer(byToken(request, call), { kind: 'complete-activity', ...request }, call);
      return {};
    },
    async RespondActivityTaskCompletedById(request, call) {
      await answer(byId(request, call), { kind: 'complete-activity', ...request }, call);
      return {};
    },
    async RespondActivityTaskFailed(request, call) {
      await answer(byToken(request, call), { kind: 'fail-activity', ...request }, call);
      return {};
    },
    async RespondActivityTaskFailedById(request, call) {
      await answer(byId(request, call), { kind: 'fail-activity', ...request }, call);
      return {};
    },
    async RespondActivityTaskCanceled(request, call) {
      await answer(byToken(request, call), { kind: 'cancel-activity', ...request }, call);
      return {};
    },
    async RespondActivityTaskCanceledById(request, call) {
      await answer(byId(request, call), { kind: 'cancel-activity', ...request }, call);
      return {};
    },
    RecordActivityTaskHeartbeat: (request, call) =>
      beat(byToken(request, call), { kind: 'heartbeat-activity', ...request }, call),
    RecordActivityTaskHeartbeatById: (request, call) =>
      beat(byId(request, call), { kind: 'heartbeat-activity', ...request }, call),
  };
}

function byId(request: ById, call: AdmittedCall): Claimed {
  const { workflowId, runId, activityId } = request;
  return {
    run: targetOf(call.namespaceId, { workflowId, runId }),
    claim: { scheduledEventId: 0, activityId: requiredId('ActivityId', activityId), attempt: 0 },
  };
}

type ActivityInput = Extract<RunInput, { readonly kind: `${string}-activity`; claim: unknown }>;
type PayloadFields = 'result' | 'failure' | 'details' | 'lastHeartbeatDetails';
type Fields = {
  readonly kind: ActivityInput['kind'];
  readonly identity?: string | undefined;
} & {
  readonly [K in PayloadFields]?: (K extends 'failure' ? Failure : Payloads) | undefined;
};

function toInput(claim: ActivityClaim, fields: Fields): ActivityInput {
  const { kind, result, failure, details, lastHeartbeatDetails } = fields;
  const identity = optionalId('Identity', fields.identity);
  const oversized = Object.entries({ result, failure, details, lastHeartbeatDetails }).find(
    ([, value]) => isTooLarge(value),
  );
  if (oversized !== undefined) {
    return { kind: 'fail-activity', claim, failure: tooLargeFailure(oversized[0]), identity };
  }
  switch (kind) {
    case 'complete-activity':
      return { kind, claim, result, identity };
    case 'fail-activity':
      return { kind, claim, failure, lastHeartbeatDetails, identity };
    case 'cancel-activity':
    case 'heartbeat-activity':
      return { kind, claim, details, identity };
  }
}

function tooLargeFailure(field: string): Failure {
  return {
    message: `The activity's ${field} is larger than ${PAYLOAD_LIMIT_BYTES} bytes: keep large data elsewhere, return a reference.`,
    serverFailureInfo: { nonRetryable: true },
  };
}
