/**
 * `atoll.replication.v1` on the port of a cell's frontend: proves who calls, and hands the call to the receiver or to the
 * cell's control.
 *
 * Invariants
 *  1. A call without a signature of this fleet, made for this cell, is refused before anything of it is read (D8).
 *  2. Cells push and compare in their own name; only admins control.
 */
import type { IncomingHttpHeaders } from 'node:http2';
import type { Clock } from '../../kernel/clock.ts';
import { AtollError, toAtollError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import * as api from '../../wire/atoll/replication.ts';
import type { TokenKeyRing } from '../../wire/signed-token.ts';
import type { CellControl } from '../control/control.ts';
import type { ImageParts } from '../receiver/image-parts.ts';
import type { Receiver } from '../receiver/receiver.ts';
import { callerOf, SIGNATURE_HEADER, type Caller } from './call-signature.ts';
import {
  accusedFromWire,
  backlogFromWire,
  digestToWire,
  estimateToWire,
  laneToWire,
  outcomeToWire,
  runsFromWire,
  verifyToWire,
} from './wire-forms.ts';

export type ReplicationHandlerParts = {
  readonly cellId: string;
  readonly receiver: Receiver;
  readonly imageParts: ImageParts;
  readonly control: CellControl;
  readonly tokens: TokenKeyRing;
  readonly clock: Clock;
  readonly log: Log;
};

/** What a call brings; kernel/rpc's RpcCall is one. */
export type ReplicationCall = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
};

type Serve = (call: ReplicationCall, caller: Caller) => Promise<Uint8Array>;

/** Whether the call is for this handler. */
export function isReplicationPath(path: string): boolean {
  return path.startsWith(api.REPLICATION_PREFIX);
}

export function replicationRpcHandler(
  parts: ReplicationHandlerParts,
): (call: ReplicationCall) => Promise<Uint8Array> {
  const routes = new Map([...pushRoutes(parts), ...controlRoutes(parts.control)]);
  const { tokens, cellId, clock, log } = parts;
  return async (call) => {
    const { path, body } = call;
    const serve = routes.get(path);
    if (serve === undefined) throw new AtollError('unimplemented', `unknown method ${path}`);
    const signed = { path, body, to: cellId, now: clock.now() };
    const caller = callerOf(tokens, call.headers[SIGNATURE_HEADER], signed);
    const role = path.startsWith(api.CONTROL_PREFIX) ? 'admin' : 'cell';
    if (caller.role !== role) {
      const message = `${path} is for callers in the role ${role}, not ${caller.role} ${caller.name}`;
      throw new AtollError('permission-denied', message);
    }
    try {
      return await serve(call, caller);
    } catch (thrown) {
      const error = toAtollError(thrown);
      const level = error.code === 'internal' || error.code === 'data-loss' ? 'error' : 'debug';
      log[level]({ path, caller, code: error.code, err: thrown }, 'A call of another cell failed.');
      throw error;
    }
  };
}

function pushRoutes({ receiver, imageParts }: ReplicationHandlerParts): [string, Serve][] {
  return [
    route(api.PUSH_STEPS, async ({ steps, ...backlog }, source, signal) => {
      const push = { ...backlogFromWire(backlog), steps };
      return { outcomes: (await receiver.steps(source, push, signal)).map(outcomeToWire) };
    }),
    route(api.PUSH_IMAGES, async (push, source, signal) => ({
      outcomes: (await receiver.images(source, push, signal)).map(outcomeToWire),
    })),
    route(api.PUSH_IMAGE_PART, async ({ namespaceId, repair, ...part }, source, signal) => {
      await receiver.admit(source, namespaceId);
      const upload = `${source}/${namespaceId}/${part.upload}`;
      const image = imageParts.add({ ...part, upload });
      if (image === undefined) return { outcomes: [] };
      const push = { namespaceId, images: [image], repair };
      return { outcomes: (await receiver.images(source, push, signal)).map(outcomeToWire) };
    }),
    route(api.DIGESTS, async ({ namespaceId, runs, recompute }, source, signal) => {
      const ask = { namespaceId, runs: runsFromWire(namespaceId, runs), recompute };
      return { digests: (await receiver.digests(source, ask, signal)).map(digestToWire) };
    }),
    route(api.REMOVE, async ({ namespaceId, runs }, source, signal) => {
      const ask = { namespaceId, runs: runs.map((one) => accusedFromWire(namespaceId, one)) };
      return { outcomes: (await receiver.remove(source, ask, signal)).map(outcomeToWire) };
    }),
    route(api.RUNS, async (ask, source, signal) => {
      const after = ask.after === '' ? undefined : ask.after;
      const page = await receiver.runs(source, { ...ask, after }, signal);
      return { ...page, next: page.next ?? '' };
    }),
    route(api.PROBE, async ({ backlogs }, source) =>
      receiver.probe(source, backlogs.map(backlogFromWire)),
    ),
  ];
}

function controlRoutes(control: CellControl): [string, Serve][] {
  return [
    route(api.GATE, async (ask, _, signal) => ({ barriers: await control.gate(ask, signal) })),
    route(api.LANE, async (ask, _, signal) => laneToWire(await control.lane(ask, signal))),
    route(api.OBSERVE, async (ask, _, signal) => {
      await control.observe(ask, signal);
      return {};
    }),
    route(api.VERIFY, async (ask, _, signal) => verifyToWire(await control.verify(ask, signal))),
    route(api.ESTIMATE_LOSS, async (ask, _, signal) => ({
      estimates: (await control.estimateLoss(ask, signal)).map(estimateToWire),
    })),
    route(api.LOSS_REPORT, (ask, _, signal) => control.lossReport(ask, signal)),
  ];
}

function route<Request, Response>(
  method: api.ReplicationMethod<Request, Response>,
  serve: (request: Request, source: string, signal: AbortSignal) => Promise<Response>,
): [string, Serve] {
  return [
    method.path,
    async ({ body, signal }, caller) =>
      method.response.encode(await serve(method.request.decode(body), caller.name, signal)),
  ];
}
