import { beforeEach, describe, expect, it } from 'vitest';
import type { Request } from '../../wire/services.ts';
import { FrontendLab, runState } from './testing/frontend-lab.ts';

type ReverseRequest = Request<'GetWorkflowExecutionHistoryReverse'>;

let lab: FrontendLab;

beforeEach(() => {
  lab = new FrontendLab();
  lab.engine.show(runState({ nextEventId: 6 }));
});

async function page(request: Omit<ReverseRequest, 'execution'> = {}) {
  const asked = { execution: { workflowId: 'w' }, ...request };
  const answer = await lab.call('GetWorkflowExecutionHistoryReverse', asked);
  const history = answer['history'] as { events?: readonly { eventId: number }[] } | undefined;
  const token = answer['nextPageToken'] as Uint8Array | undefined;
  const ids = (history?.events ?? []).map((event) => event.eventId).join(' ');
  return { ids, token: token?.length === 0 ? undefined : token };
}

describe('a history backwards', () => {
  it('begins with the last event', async () => {
    expect(await page()).toEqual({ ids: '5 4 3 2 1', token: undefined });
  });

  it('comes in pages down to the first event, whatever is added meanwhile', async () => {
    const first = await page({ maximumPageSize: 2 });
    lab.engine.show(runState({ nextEventId: 20 }));
    const second = await page({ maximumPageSize: 2, nextPageToken: first.token });
    const third = await page({ maximumPageSize: 2, nextPageToken: second.token });
    expect([first.ids, second.ids, third.ids]).toEqual(['5 4', '3 2', '1']);
    expect(third.token).toBeUndefined();
  });

  it('does not go on in another branch', async () => {
    const lineage = (...items: readonly (readonly [number, number])[]) =>
      items.map(([epoch, eventId]) => ({ epoch, eventId, transition: eventId }));
    lab.engine.show(runState({ nextEventId: 6, lineage: lineage([1, 5]) }));
    const first = await page({ maximumPageSize: 2 });
    lab.engine.show(runState({ nextEventId: 9, lineage: lineage([1, 3], [2, 8]) }));
    expect((await page({ maximumPageSize: 2, nextPageToken: first.token })).ids).toBe('3 2');
    lab.engine.show(runState({ nextEventId: 9, lineage: lineage([1, 2], [2, 8]) }));
    const asked = { execution: { workflowId: 'w' }, nextPageToken: first.token };
    const error = await lab.fail('GetWorkflowExecutionHistoryReverse', asked);
    expect([error.code, error.message]).toEqual([
      'invalid-argument',
      expect.stringContaining('went on otherwise'),
    ]);
  });

  it('comes in smaller pages where events are large', async () => {
    lab.engine.eventsPerPage = 2;
    const seen: string[] = [];
    let next = await page();
    for (; next.token !== undefined; next = await page({ nextPageToken: next.token })) {
      seen.push(next.ids);
    }
    expect([...seen, next.ids].join(' ')).toBe('5 4 3 2 1');
    expect(seen.length).toBeGreaterThan(1);
  });

  it('takes no token of the history forwards', async () => {
    const answer = await lab.call('GetWorkflowExecutionHistory', {
      execution: { workflowId: 'w' },
      maximumPageSize: 2,
    });
    const token = answer['nextPageToken'] as Uint8Array;
    await expect(page({ nextPageToken: token })).rejects.toThrow('NextPageToken');
  });
});
