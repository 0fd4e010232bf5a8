import { describe, expect, it } from 'vitest';
import { allOf } from './all-of.ts';
import { must, registration, twoCells } from './conformance/sample.ts';
import type { FleetMap } from './map.ts';
import { updateNamespace } from './namespace-update.ts';
import { setReplicas } from './replicas.ts';
import { registerCell, registerNamespace } from './table.ts';

const north = { region: 'n', address: '127.0.0.1:3', shards: 4 };
const cells = must(registerCell(twoCells(), 'north', north));
const asked = registration('orders');
const map = must(registerNamespace(cells, { ...asked, replicas: ['west'] }));
const namespaceId = asked.id;
const replicasOf = (now: FleetMap) => now.namespaces[namespaceId]?.placement.replicas;
const to = (...replicas: string[]) => setReplicas(map, { namespaceId, replicas });

describe('the replicas of a namespace', () => {
  it.each([
    [
      ['east', 'west', 'north'],
      ['east', 'west', 'north'],
    ],
    [['north'], ['east', 'north']],
    [
      ['north', 'north', 'east'],
      ['east', 'north'],
    ],
    [[], ['east']],
  ])('set to %j are %j: the active cell stays', (named, expected) => {
    expect(replicasOf(must(to(...named)))).toEqual(expected);
  });

  it('are as they were when the same are set, and when one is not in the fleet', () => {
    expect(to('west', 'east')).toEqual({ kind: 'unchanged' });
    expect(to('moon')).toMatchObject({ kind: 'refused', code: 'failed-precondition' });
  });

  it('change together with the rest, in one revision, or not at all', () => {
    const renamed = (now: FleetMap) => updateNamespace(now, { name: 'orders', description: 'd' });
    const moved = (cell: string) => (now: FleetMap) => {
      return setReplicas(now, { namespaceId, replicas: [cell] });
    };
    const both = must(allOf(map, [renamed, moved('north')]));
    expect(both.revision).toBe(map.revision + 1);
    expect(both.namespaces[namespaceId]).toMatchObject({ description: 'd' });
    expect(replicasOf(both)).toEqual(['east', 'north']);
    expect(allOf(map, [renamed, moved('moon')])).toMatchObject({ kind: 'refused' });
    expect(allOf(both, [renamed, moved('north')])).toEqual({ kind: 'unchanged' });
  });
});
