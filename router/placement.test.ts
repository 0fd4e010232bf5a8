import { describe, expect, it } from 'vitest';
import { EMPTY_FLEET_MAP, type FleetMap } from '../fleet/map.ts';
import { must, registration } from '../fleet/conformance/sample.ts';
import { registerCell, registerNamespace } from '../fleet/table.ts';
import { placeNamespace, type Wanted } from './placement.ts';

/** id, region, shards, namespaces on it */
type Row = readonly [string, string, number, number];
const EVEN: readonly Row[] = [
  ['a', 'eu', 64, 2],
  ['b', 'eu', 64, 1],
  ['c', 'us', 64, 0],
];
const UNEVEN: readonly Row[] = [
  ['big', 'eu', 4096, 60],
  ['small', 'eu', 64, 1],
];

describe('a new namespace', () => {
  const rows: readonly [string, readonly Row[], Partial<Wanted>, string | RegExp][] = [
    ['goes where the fewest are', EVEN, {}, 'c'],
    ['goes where the fewest of its region are', EVEN, { region: 'eu' }, 'b'],
    ['goes to the default region', EVEN, { defaultRegion: 'eu' }, 'b'],
    ['goes to its own region rather', EVEN, { region: 'us', defaultRegion: 'eu' }, 'c'],
    ['goes to the cell that is named', EVEN, { cell: 'a', defaultRegion: 'us' }, 'a'],
    ['goes to the cell with more shards for each', UNEVEN, {}, 'big'],
    ['goes to the first by name of two alike', [EVEN[2] as Row, ['d', 'us', 64, 0]], {}, 'c'],
    ['finds no cell', [], {}, /failed-precondition The fleet has no cell: start/],
    ['finds none in its region', EVEN, { region: 'x' }, /failed-precondition .*x .*eu, us/],
    ['names no such cell', EVEN, { cell: 'x' }, /invalid-argument .*a, b, c/],
    ['names what does not fit', EVEN, { cell: 'a', region: 'us' }, /invalid-argument .*eu, not us/],
  ];
  it.each(rows)('%s', (_, cells, wanted, expected) => {
    const nothing = { cell: '', region: '', defaultRegion: undefined };
    const placed = placeNamespace(mapOf(cells), { ...nothing, ...wanted });
    const answer = placed.kind === 'placed' ? placed.cell : `${placed.code} ${placed.message}`;
    if (typeof expected === 'string') expect(answer).toBe(expected);
    else expect(answer).toMatch(expected);
  });
});

function mapOf(rows: readonly Row[]): FleetMap {
  let map = EMPTY_FLEET_MAP;
  for (const [id, region, shards, namespaces] of rows) {
    map = must(registerCell(map, id, { region, shards, address: '127.0.0.1:1' }));
    for (let i = 0; i < namespaces; i++)
      map = must(registerNamespace(map, registration(`${id}-${i}`, id)));
  }
  return map;
}
