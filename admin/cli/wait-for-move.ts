/** Shows how a move gets on until it is over. Ctrl-C ends the waiting, not the move, and says how to go on. */
import { sleep } from '../../kernel/clock.ts';
import type { MoveMessage } from '../../wire/atoll/admin.ts';
import { CLI_EXIT, type CliExit } from './exit.ts';
import { RestEstimate } from './estimate-rest.ts';
import type { Session } from './session.ts';
import { exitOf, isOver, leftOf, moveDetails, moveLine } from './show-move.ts';
import { duration } from './text.ts';

const LOOK_MS = 500;

export async function waitForMove(
  session: Session,
  ref: { readonly namespace: string; readonly moveId: string },
): Promise<CliExit> {
  const { ports, client, json } = session;
  const estimate = new RestEstimate();
  let shown = '';
  try {
    for (;;) {
      const status = await client.call('DescribeMove', ref);
      const { move = {}, lanes = [] } = status;
      if (isOver(move)) {
        session.show(status, () => moveDetails(status) + whatNext(ref.namespace, move));
        return exitOf(move);
      }
      const left = leftOf(lanes[0]);
      if (left !== undefined) estimate.see({ atMs: ports.clock.monotonicMs(), left });
      const line = moveLine(move) + rest(move, estimate);
      if (line !== shown && !json) ports.err(`${line}\n`);
      shown = line;
      await sleep(ports.clock, LOOK_MS, ports.interrupted);
    }
  } catch (error) {
    if (!ports.interrupted.aborted) throw error;
    ports.err(
      `\nThe move goes on without this command. Go on with:\n  atoll move status ${ref.namespace} --move ${ref.moveId} --wait\n  atoll move abort ${ref.namespace} --move ${ref.moveId}\n`,
    );
    return CLI_EXIT.interrupted;
  }
}

function rest({ phase }: MoveMessage, estimate: RestEstimate): string {
  if (phase !== 'seed' && phase !== 'tail') return '';
  const ms = estimate.restMs();
  return ms === undefined ? '' : `  about ${duration(ms)} left`;
}

/** What a person may want to do now. */
export function whatNext(namespace: string, { phase, id = '' }: MoveMessage): string {
  if (phase !== 'settled') return '';
  return `Keep it:    atoll move confirm ${namespace} --move ${id}\nTake it back: atoll move back ${namespace} --move ${id}\n`;
}
