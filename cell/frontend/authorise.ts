/**
 * The port that every RPC and every effect asks (D18): may this caller do this in this namespace?
 * Adapters: `allowAll`, and rights-authoriser.ts with a rights document; `bin/` chooses.
 */
import type { FrontendCall } from './frontend-call.ts';

/** What a verb needs: reading, changing executions, being a worker. */
export type Verb = 'read' | 'write' | 'work';

export interface Authoriser {
  /** Resolves if allowed. @throws AtollError `unauthenticated` or `permission-denied`, saying what is missing */
  authorise(
    caller: Pick<FrontendCall, 'headers' | 'peer'>,
    verb: Verb,
    namespace: string,
  ): Promise<void>;
}

/** Lets everybody do everything: for one person's machine. */
export const allowAll: Authoriser = { authorise: () => Promise.resolve() };
