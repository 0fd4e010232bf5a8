import { beforeEach, describe, expect, it } from 'vitest';
import { settlePromises } from '../../kernel/testing/virtual-clock.ts';
import type { Request } from '../../wire/services.ts';
import { FrontendLab, RUN, runState } from './testing/frontend-lab.ts';

const NEXT_RUN = '20000000-0000-4000-8000-000000000002';
type HistoryRequest = Request<'GetWorkflowExecutionHistory'>;
type Page = { readonly ids: string; readonly token: Uint8Array | undefined };

let lab: FrontendLab;

beforeEach(() => {
  lab = new FrontendLab();
  lab.engine.show(runState({ nextEventId: 6 }));
});

/** One page: its event ids, and the token if it has one. */
async function page(
  request: Omit<HistoryRequest, 'execution'> = {},
  deadlineMs?: number,
): Promise<Page> {
  const asked = { execution: { workflowId: 'w' }, ...request };
  const options = deadlineMs === undefined ? {} : { deadlineMs };
  const answer = await lab.call('GetWorkflowExecutionHistory', asked, options);
  const history = answer['history'] as { events?: readonly { eventId: number }[] } | undefined;
  const token = answer['nextPageToken'] as Uint8Array | undefined;
  return {
    ids: (history?.events ?? []).map((event) => event.eventId).join(' '),
    token: token?.length === 0 ? undefined : token,
  };
}

const closed = { status: 2 as const, closedAt: 1 };

describe('a history', () => {
  it('comes whole in one page where it fits', async () => {
    expect(await page()).toEqual({ ids: '1 2 3 4 5', token: undefined });
  });

  it('comes in pages of the size asked for', async () => {
    const first = await page({ maximumPageSize: 2 });
    const second = await page({ maximumPageSize: 2, nextPageToken: first.token });
    const third = await page({ maximumPageSize: 2, nextPageToken: second.token });
    expect([first.ids, second.ids, third.ids]).toEqual(['1 2', '3 4', '5']);
    expect(third.token).toBeUndefined();
  });

  it('comes in pages that the store chose by size', async () => {
    lab.engine.eventsPerPage = 3;
    const first = await page();
    const second = await page({ nextPageToken: first.token });
    expect([first.ids, second.ids, second.token]).toEqual(['1 2 3', '4 5', undefined]);
  });

  it('stays with its run and its end while the workflow goes on', async () => {
    const first = await page({ maximumPageSize: 3 });
    lab.engine.show(runState({ nextEventId: 20, ...closed }));
    lab.engine.show(runState({ runId: NEXT_RUN, nextEventId: 4 }));
    expect(await page({ nextPageToken: first.token })).toEqual({ ids: '4 5', token: undefined });
  });

  it('does not go on in another branch, by its end or by where it stands', async () => {
    const epochs = (...items: readonly (readonly [number, number])[]) =>
      items.map(([epoch, eventId]) => ({ epoch, eventId, transition: eventId }));
    lab.engine.show(runState({ nextEventId: 6, lineage: epochs([1, 5]) }));
    const bounded = await page({ maximumPageSize: 2 });
    lab.engine.eventsPerPage = 3;
    const following = await page({ waitNewEvent: true });
    expect([bounded.ids, following.ids]).toEqual(['1 2', '1 2 3']);
    // The run went on: on the same branch all is well.
    lab.engine.show(runState({ nextEventId: 8, lineage: epochs([1, 6], [2, 7]) }));
    expect((await page({ nextPageToken: bounded.token })).ids).toBe('3 4 5');
    expect((await page({ waitNewEvent: true, nextPageToken: following.token })).ids).toBe('4 5 6');
    // Event 4 and what follows are those of epoch 2 now: what was handed out up to 3 stands, what ends with 5 does not.
    lab.engine.show(runState({ nextEventId: 8, lineage: epochs([1, 3], [2, 7]) }));
    expect((await page({ waitNewEvent: true, nextPageToken: following.token })).ids).toBe('4 5 6');
    const other = await lab.fail('GetWorkflowExecutionHistory', {
      execution: { workflowId: 'w' },
      nextPageToken: bounded.token,
    });
    expect([other.code, other.message]).toEqual([
      'invalid-argument',
      expect.stringContaining('went on otherwise'),
    ]);
    lab.engine.show(runState({ nextEventId: 8, lineage: epochs([1, 2], [2, 7]) }));
    const moved = await lab.fail('GetWorkflowExecutionHistory', {
      execution: { workflowId: 'w' },
      waitNewEvent: true,
      nextPageToken: following.token,
    });
    expect(moved.code).toBe('invalid-argument');
  });

  it('refuses a token together with another execution', async () => {
    const { token: nextPageToken } = await page({ maximumPageSize: 3 });
    const others = [{ workflowId: 'x' }, { workflowId: 'w', runId: NEXT_RUN }];
    for (const execution of others) {
      const error = await lab.fail('GetWorkflowExecutionHistory', { execution, nextPageToken });
      expect([error.code, error.message]).toEqual([
        'invalid-argument',
        expect.stringContaining('another execution'),
      ]);
    }
    const sameRun = { workflowId: 'w', runId: RUN };
    await lab.call('GetWorkflowExecutionHistory', { execution: sameRun, nextPageToken });
  });

  it('refuses a token of another namespace', async () => {
    const { token: nextPageToken } = await page({ maximumPageSize: 3 });
    const request = { namespace: 'other', execution: { workflowId: 'w' }, nextPageToken };
    const error = await lab.fail('GetWorkflowExecutionHistory', request);
    expect([error.code, error.message]).toEqual([
      'invalid-argument',
      expect.stringContaining('another namespace'),
    ]);
  });

  it('is not found for a workflow that is not there', async () => {
    const request = { execution: { workflowId: 'nobody' } };
    expect((await lab.fail('GetWorkflowExecutionHistory', request)).code).toBe('not-found');
  });
});

describe('a wait for new events', () => {
  it('shows what is there, then what comes, then ends with the run', async () => {
    const first = await page({ waitNewEvent: true });
    expect(first.ids).toBe('1 2 3 4 5');
    const waiting = page({ waitNewEvent: true, nextPageToken: first.token });
    await settlePromises();
    lab.engine.show(runState({ nextEventId: 8 }));
    const second = await waiting;
    expect(second.ids).toBe('6 7');
    const last = page({ waitNewEvent: true, nextPageToken: second.token });
    await settlePromises();
    lab.engine.show(runState({ nextEventId: 9, ...closed }));
    expect(await last).toEqual({ ids: '8', token: undefined });
  });

  it('goes page by page before it waits', async () => {
    const first = await page({ waitNewEvent: true, maximumPageSize: 4 });
    const second = await page({
      waitNewEvent: true,
      maximumPageSize: 4,
      nextPageToken: first.token,
    });
    expect([first.ids, second.ids, second.token !== undefined]).toEqual(['1 2 3 4', '5', true]);
  });

  it('shows a closed run to its end, page by page', async () => {
    lab.engine.show(runState({ nextEventId: 6, ...closed }));
    const first = await page({ waitNewEvent: true, maximumPageSize: 3 });
    const second = await page({
      waitNewEvent: true,
      maximumPageSize: 3,
      nextPageToken: first.token,
    });
    expect([first.ids, second.ids, second.token]).toEqual(['1 2 3', '4 5', undefined]);
  });

  it('is answered empty after 20 s, with a token to go on with', async () => {
    const first = await page({ waitNewEvent: true });
    const waiting = page({ waitNewEvent: true, nextPageToken: first.token });
    await lab.clock.advanceSettled(20_000);
    const empty = await waiting;
    expect(empty.ids).toBe('');
    lab.engine.show(runState({ nextEventId: 7 }));
    expect((await page({ waitNewEvent: true, nextPageToken: empty.token })).ids).toBe('6');
    expect(lab.clock.pendingCount).toBe(0);
  });

  it('is answered before the deadline of its client', async () => {
    const first = await page({ waitNewEvent: true });
    const waiting = page({ waitNewEvent: true, nextPageToken: first.token }, 10_000);
    await lab.clock.advanceSettled(9_500);
    expect((await waiting).token).toBeDefined();
  });
});

describe('a wait for the close event', () => {
  const filter = { historyEventFilterType: 2 as const };

  it('shows only the last event of a closed run', async () => {
    lab.engine.show(runState({ nextEventId: 9, ...closed }));
    expect(await page(filter)).toEqual({ ids: '8', token: undefined });
    expect(await page({ ...filter, waitNewEvent: true })).toEqual({ ids: '8', token: undefined });
  });

  it('shows nothing of an open run when it shall not wait', async () => {
    expect(await page(filter)).toEqual({ ids: '', token: undefined });
  });

  it('waits over other events until the run closes', async () => {
    const waiting = page({ ...filter, waitNewEvent: true });
    await settlePromises();
    lab.engine.show(runState({ nextEventId: 8 }));
    await settlePromises();
    lab.engine.show(runState({ nextEventId: 10, ...closed }));
    expect(await waiting).toEqual({ ids: '9', token: undefined });
  });

  it('goes on with the token of an empty answer, in the same run', async () => {
    const waiting = page({ ...filter, waitNewEvent: true });
    await lab.clock.advanceSettled(20_000);
    const { ids, token } = await waiting;
    expect(ids).toBe('');
    lab.engine.show(runState({ nextEventId: 10, ...closed }));
    lab.engine.show(runState({ runId: NEXT_RUN, nextEventId: 4 }));
    const last = await page({ ...filter, waitNewEvent: true, nextPageToken: token });
    expect(last).toEqual({ ids: '9', token: undefined });
  });
});
