import { describe, expect, test } from 'vitest';
import { TokenKeyRing } from './signed-token.ts';
import {
  ACTIVITY_TASK_TOKEN,
  HISTORY_PAGE_TOKEN,
  LIST_PAGE_TOKEN,
  openToken,
  QUERY_TASK_TOKEN,
  sealToken,
  WORKFLOW_TASK_TOKEN,
  type TokenKind,
} from './task-token.ts';

const key = (id: number) => ({ id, secret: new Uint8Array(32).fill(id) });
const ring = new TokenKeyRing({ keys: [key(1)], current: 1 });
const run = { namespaceId: 'n', workflowId: 'w', runId: 'r' };
const task = {
  ...run,
  ...{ scheduledEventId: 2, startedEventId: 3, attempt: 1, startedAt: 1_700_000_000_000, epoch: 4 },
  ...{ requestId: 'q', historyBytes: 500, suggestContinueAsNew: false },
};
const refusal = (message: RegExp) =>
  expect.objectContaining({
    code: 'invalid-argument',
    message: expect.stringMatching(message) as string,
  }) as Error;

type AnyToken = { readonly namespaceId: string };
const kinds = [
  [WORKFLOW_TASK_TOKEN, task],
  [WORKFLOW_TASK_TOKEN, { ...task, identity: 'me' }],
  [ACTIVITY_TASK_TOKEN, { ...run, scheduledEventId: 5, attempt: 2, activityId: 'a', epoch: 4 }],
  [QUERY_TASK_TOKEN, { ...run, queryId: 'q', taskQueue: 't' }],
  [HISTORY_PAGE_TOKEN, { ...run, nextEventId: 9 }],
  [
    HISTORY_PAGE_TOKEN,
    { ...run, nextEventId: 9, lastEventId: 12, epoch: 0, taskToken: new Uint8Array([1]) },
  ],
  [LIST_PAGE_TOKEN, { namespaceId: 'n', query: "WorkflowType = 'x'", after: [1, 'r'] }],
] as unknown as [TokenKind<AnyToken>, AnyToken][];

describe('tokens', () => {
  test.each(kinds)('$name says what was sealed: %j', (kind, token) => {
    const bytes = sealToken(ring, kind, token);
    expect(openToken(ring, kind, { bytes, namespaceId: 'n' })).toEqual(token);
    expect(bytes.length).toBeLessThan(150);
  });

  test('a key of the ring that is no longer current still opens', () => {
    const bytes = sealToken(ring, WORKFLOW_TASK_TOKEN, task);
    const rotated = new TokenKeyRing({ keys: [key(1), key(2)], current: 2 });
    expect(openToken(rotated, WORKFLOW_TASK_TOKEN, { bytes, namespaceId: 'n' })).toEqual(task);
  });

  test.each([
    ['an absent one', undefined, /is empty/],
    ['an empty one', new Uint8Array(), /is empty/],
    ['a short one', new Uint8Array([1, 1, 1]), /is too short/],
    ['one of nobody', new Uint8Array(40).fill(9), /is not one of ours/],
    [
      'one of a key that left',
      sealToken(new TokenKeyRing({ keys: [key(9)], current: 9 }), WORKFLOW_TASK_TOKEN, task),
      /a key that this fleet/,
    ],
    [
      'one of another fleet',
      sealToken(
        new TokenKeyRing({ keys: [{ id: 1, secret: new Uint8Array(32).fill(77) }], current: 1 }),
        WORKFLOW_TASK_TOKEN,
        task,
      ),
      /does not carry our signature/,
    ],
    [
      'one of another kind',
      sealToken(ring, QUERY_TASK_TOKEN, { ...run, queryId: 'q', taskQueue: 't' }),
      /of another kind/,
    ],
  ])('%s is refused', (_name, bytes, message) => {
    expect(() => openToken(ring, WORKFLOW_TASK_TOKEN, { bytes, namespaceId: 'n' })).toThrow(
      refusal(message),
    );
  });

  test('one of another namespace is refused', () => {
    const bytes = sealToken(ring, WORKFLOW_TASK_TOKEN, task);
    const open = () => openToken(ring, WORKFLOW_TASK_TOKEN, { bytes, namespaceId: 'other' });
    expect(open).toThrow(refusal(/belongs to another namespace/));
  });

  test('one with any bit flipped is refused', () => {
    const bytes = sealToken(ring, WORKFLOW_TASK_TOKEN, task);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const forged = bytes.slice();
      forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const open = () => openToken(ring, WORKFLOW_TASK_TOKEN, { bytes: forged, namespaceId: 'n' });
      expect(open).toThrow(refusal(/workflow task token/));
    }
  });

  test('one cut short or lengthened is refused', () => {
    const bytes = sealToken(ring, WORKFLOW_TASK_TOKEN, task);
    for (const forged of [bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.from([0])])]) {
      const open = () => openToken(ring, WORKFLOW_TASK_TOKEN, { bytes: forged, namespaceId: 'n' });
      expect(open).toThrow(refusal(/signature/));
    }
  });

  test('a ring without its current key, with twins or with weak keys is a bug', () => {
    expect(() => new TokenKeyRing({ keys: [key(1)], current: 2 })).toThrow(/is not in the ring/);
    expect(() => new TokenKeyRing({ keys: [key(1), key(1)], current: 1 })).toThrow(/same id/);
    expect(
      () => new TokenKeyRing({ keys: [{ id: 1, secret: new Uint8Array(3) }], current: 1 }),
    ).toThrow(/3 bytes/);
  });
});
