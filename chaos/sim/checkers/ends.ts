/**
 * P7: once faults stop, every order is driven to the end that its input and its history imply, and the ledger shows the
 * money movements of that end.
 */
import type { HistoryEvent } from '../../../wire/events.ts';
import type { Order } from '../client.ts';
import type { Evidence, ReadHistory } from '../evidence.ts';
import { fromPayloads, isShipped } from '../order-process.ts';
import type { Check, Tally } from '../tally.ts';

export function checkEnds(evidence: Evidence, tally: Tally<Check>): string[] {
  const orders = new Map(evidence.orders.map((order) => [order.workflowId, order]));
  const open = [...evidence.chronicle.runs.values()]
    .filter(({ closedMs }) => closedMs === undefined)
    .map(
      ({ workflowId, runId }) => `P7: run ${runId} of ${workflowId} is open and nobody drives it`,
    );
  const ends = [...evidence.histories.values()].flatMap((history) => {
    const order = orders.get(history.workflowId);
    if (!order) return [`P7: ${history.workflowId} is no order`];
    tally.add('P7 ended orders');
    const wrong = wrongEnd(evidence, order, history);
    return wrong ? [`P7: ${history.workflowId} run ${history.runId} ${wrong}`] : [];
  });
  return [...open, ...ends];
}

function wrongEnd(evidence: Evidence, order: Order, history: ReadHistory): string | undefined {
  const { events, runId } = history;
  const last = events.at(-1);
  switch (last?.kind) {
    case 'WorkflowExecutionTerminated':
      return order.ending === 'terminate' ? undefined : 'was terminated by nobody';
    case 'WorkflowExecutionCanceled':
      return has(events, 'WorkflowExecutionCancelRequested') ? undefined : 'was canceled by nobody';
    case 'WorkflowExecutionCompleted':
      break;
    default:
      return `ends with ${last?.kind ?? 'nothing'}`;
  }
  const end = String(fromPayloads(last.attributes.result));
  const implied = impliedEnds(order, events);
  if (!implied.includes(end)) return `ended as ${end}, its input implies ${implied.join(' or ')}`;
  if (evidence.chronicle.lostRuns.has(runId)) return undefined;
  const moved = (kind: string) =>
    evidence.ledger.some((call) => call.kind === kind && call.runId === runId);
  if (moved('capture') !== (end !== 'payment-declined')) return `is ${end}, its payment is not so`;
  if (moved('refund') !== (end === 'refunded')) return `is ${end}, its refund is not so`;
  return undefined;
}

function impliedEnds(order: Order, events: readonly HistoryEvent[]): readonly string[] {
  if (order.fate === 'declined') return ['payment-declined'];
  if (order.fate === 'no-stock') return ['refunded'];
  const shipped = events.some(
    (event) =>
      event.kind === 'WorkflowExecutionSignaled' &&
      isShipped(String(fromPayloads(event.attributes.input))),
  );
  const late = has(events, 'TimerFired');
  return [...(shipped ? ['shipped'] : []), ...(late ? ['support-case'] : [])];
}

function has(events: readonly HistoryEvent[], kind: HistoryEvent['kind']): boolean {
  return events.some((event) => event.kind === kind);
}
