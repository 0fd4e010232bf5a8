/**
 * Closes a run that only a losing branch knew, whose workflow id was taken since (PROTOCOLS 9): it is kept, closed, and the
 * id goes on pointing where it points.
 */
import { invariant } from '../../kernel/invariant.ts';
import { decide } from '../history/history.ts';
import type { Batch } from './gather.ts';
import type { CachedRun } from './cached.ts';
import type { Ownership } from './ownership.ts';
import { encodeStep } from './record-codec.ts';

/** The batch that the closing travels in; undefined when the run is closed already. */
export function supersede(run: CachedRun, ownership: Ownership): Batch | undefined {
  const { head, ref } = run;
  if (head.closedAt !== undefined) return undefined;
  const execution = ownership.memory.peekExecution(ref);
  invariant(execution !== undefined, 'a superseded run has another one in its place');
  const decision = decide(
    run.live,
    {
      kind: 'terminate',
      reason: `superseded: run ${execution.current.runId} took the workflow id after a failover`,
      identity: 'atoll',
    },
    ownership.contextOf(run),
  );
  invariant(decision.kind === 'commit', `a superseded run is closed, not ${decision.kind}`);
  const steps = decision.steps.map(({ transition, state }) => {
    const { execution: _, ...rest } = transition;
    return encodeStep(rest, state);
  });
  return ownership.append({ steps });
}
