import { describe, expect, it } from 'vitest';
import type { ApplyOutcome } from '../../cell/shard/replicas/replicas.ts';
import { ESTIMATE_LOSS, PROBE } from '../../wire/atoll/replication.ts';
import type { LossEstimate } from '../control/control.ts';
import type { LaneBacklog } from '../peer.ts';
import {
  backlogFromWire,
  backlogToWire,
  estimateFromWire,
  estimateToWire,
  outcomeFromWire,
  outcomeToWire,
} from './wire-forms.ts';

describe('what is missing, on the way between cells', () => {
  const copy = { copied: 3, total: 9, seeded: false };
  const backlogs: readonly LaneBacklog[] = [
    { namespaceId: 'n', pending: 0 },
    { namespaceId: 'n', pending: 7, oldestAt: 1_700_000_000_000 },
    { namespaceId: 'n', pending: 6, copy },
    { namespaceId: 'n', pending: 6, oldestAt: 5, copy: { ...copy, seeded: true } },
  ];
  it.each(backlogs)('%j is the same', (backlog) => {
    const bytes = PROBE.request.encode({ backlogs: [backlogToWire(backlog)] });
    expect(PROBE.request.decode(bytes).backlogs.map(backlogFromWire)).toEqual([backlog]);
  });

  const estimate = { source: 'a', heardMsAgo: 40, unheard: false, knownMissing: 6, lagMs: 9 };
  const estimates: readonly LossEstimate[] = [
    estimate,
    { ...estimate, unheard: true },
    { ...estimate, copy },
    { ...estimate, copy: { ...copy, seeded: true, since: 1_700_000_000_000 } },
  ];
  it.each(estimates)('%j is the same', (one) => {
    const bytes = ESTIMATE_LOSS.response.encode({ estimates: [estimateToWire(one)] });
    expect(ESTIMATE_LOSS.response.decode(bytes).estimates.map(estimateFromWire)).toEqual([one]);
  });

  it('an older release says nothing of a copy', () => {
    const older = { namespaceId: 'n', pending: 7, oldestAt: 5 };
    const bytes = PROBE.request.encode({ backlogs: [older] } as never);
    expect(PROBE.request.decode(bytes).backlogs.map(backlogFromWire)).toEqual([older]);
  });
});

describe('an outcome on the wire', () => {
  it.each<[number, ApplyOutcome]>([
    [1, { kind: 'applied' }],
    [2, { kind: 'known' }],
    [3, { kind: 'gap', have: 7 }],
    [4, { kind: 'diverged' }],
    [5, { kind: 'lost' }],
    [6, { kind: 'refused', reason: 'why' }],
    [7, { kind: 'undecided' }],
    [8, { kind: 'later', reason: 'why' }],
  ])('%i keeps its number, and comes back as it was', (kind, outcome) => {
    const wire = outcomeToWire(outcome);
    expect(wire.kind).toBe(kind);
    expect(outcomeFromWire(wire)).toEqual(outcome);
  });

  it.each([0, 9, 200])('is never taken for success where its kind, %i, is not known', (kind) => {
    const decode = () => outcomeFromWire({ kind, have: 0, reason: '' });
    expect(decode).toThrow('is not known here');
  });
});
