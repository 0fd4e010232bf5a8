/**
 * The port that every RPC and every effect asks (D18): may this caller do this in this namespace?
 * Adapters come later; until then `allowAll`, which only `bin/` names.
 */
import type { FrontendCall } from './frontend-call.ts';

/** What a verb needs: reading, changing executions, being a worker. */
export type Verb = 'read' | 'write' | 'work';

export interface Authoriser {
  /** Resolves if allowed. @throws AtollError `unauthenticated` or `permission-denied`, saying what is missing */
  authorise(caller: Pick<FrontendCall, 'headers'>, verb: Verb, namespace: string): Promise<void>;
}

/** Lets everybody do everything: for one person's machine. */
export const allowAll: Authoriser = { authorise: () => Promise.resolve() };
