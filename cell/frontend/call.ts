/**
 * What a handler is given: one call's circumstances, and the parts of the cell that it may use.
 *
 * Place: `frontend.ts` makes an `AdmittedCall` of each call once its namespace is authorised and admitted; handlers
 * (one file per RPC or close family) never see another.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { Request, Response, RpcName } from '../../wire/services.ts';
import type { TokenKeyRing } from '../../wire/signed-token.ts';
import type { ActivityStartedReply } from '../history/decision.ts';
import type { Matching } from '../matching/matching.ts';
import type { Engine } from '../shard/engine.ts';
import type { Visibility } from '../visibility/visibility.ts';
import type { Admission, Admitted } from './admission.ts';
import type { Authoriser } from './authorise.ts';
import type { FrontendConfig } from './config.ts';
import type { FrontendCall } from './frontend-call.ts';

/** A call of an admitted namespace. Also the engine's `CallContext`. */
export type AdmittedCall = FrontendCall & Admitted;

export type FrontendParts = {
  readonly engine: Engine;
  readonly matching: Matching<ActivityStartedReply>;
  readonly visibility: Visibility;
  readonly admission: Admission;
  readonly authoriser: Authoriser;
  /** Keys of the fleet: tokens survive restarts and moves (D8). */
  readonly tokens: TokenKeyRing;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly config: FrontendConfig;
};

/** Plain data to be encoded, or encoded chunks that together make the message. */
export type Answer<M extends RpcName> = Response<M> | readonly Uint8Array[];

/** Answers one RPC. Requests are validated inside; the namespace was checked before. */
export type Handler<M extends RpcName> = (
  request: Request<M>,
  call: AdmittedCall,
) => Promise<Answer<M>>;

/** Handlers of some RPCs by name. */
export type Handlers = { readonly [M in RpcName]?: Handler<M> };
