/**
 * The views at the end: every run's row equals the fold of its log (D4), and the history that the API serves is that of the
 * log, byte for byte. Of a fleet, the log is the branch that lasted.
 */
import { isDeepStrictEqual } from 'node:util';
import { encodeState } from '../../../cell/history/state-codec.ts';
import { decodeBlob, encodeBlob } from '../../../cell/shard/blob.ts';
import type { RunRow } from '../../../cell/storage/views.ts';
import { encodeEvents } from '../../../wire/event-codec.ts';
import type { Evidence } from '../evidence.ts';
import type { Check, Tally } from '../tally.ts';

export function checkViews(
  evidence: Evidence,
  rows: readonly RunRow[],
  tally: Tally<Check>,
): string[] {
  const byRun = new Map(rows.map((row) => [row.runId, row]));
  return [...evidence.chronicle.runs.values()].flatMap((run) => {
    const { workflowId, runId } = run;
    tally.add('fold equals state');
    tally.add('history equals log');
    const breaches: string[] = [];
    const row = byRun.get(runId);
    const folded = stateOf(encodeBlob(encodeState(run.state)));
    if (!row || !isDeepStrictEqual(stateOf(row.state), folded)) {
      breaches.push(`D4: the row of ${workflowId} ${runId} is not the fold of its log`);
    }
    const read = evidence.histories.get(runId);
    if (!read || Buffer.compare(encodeEvents(read.events), Buffer.concat(run.events)) !== 0) {
      breaches.push(`D4: the history of ${workflowId} ${runId} is not that of its log`);
    }
    return breaches;
  });
}

/** Without what follows the state: where branches lie that lost is each cell's own. */
function stateOf(blob: Uint8Array): unknown {
  const decoded = decodeBlob(blob, 'run') as readonly unknown[];
  return decoded.filter((part) => !isBranch(part));
}

function isBranch(part: unknown): boolean {
  return typeof part === 'object' && part !== null && 'historyId' in part;
}
