import { describe, expect, it } from 'vitest';
import { must, registration, twoCells } from './conformance/sample.ts';
import { decodeFleetMap, encodeFleetMap } from './codec.ts';
import { EMPTY_FLEET_MAP, type FleetMap } from './map.ts';
import { activate, goesBack, registerCell, registerNamespace, type Change } from './table.ts';

const DAY_MS = 86_400_000;
const cell = { region: 'e', address: '127.0.0.1:7301', shards: 4 };

describe('a change that is legal', () => {
  const rows: readonly [string, Change][] = [
    ['a first cell', registerCell(EMPTY_FLEET_MAP, 'east', cell)],
    [
      'a cell at a new address',
      registerCell(twoCells(), 'east', { ...cell, address: 'east:7301' }),
    ],
    ['a namespace', registerNamespace(twoCells(), registration('default'))],
    [
      'the name of a deleted namespace',
      registerNamespace(deleted(twoCells('a')), { ...registration('a'), id: 'new' }),
    ],
    ['a failover', activate(twoCells('a'), { namespaceId: 'id-of-a', cell: 'west', epoch: 1 })],
  ];
  it.each(rows)('%s raises the revision by one and reads back as it was written', (_, change) => {
    const map = must(change);
    expect(decodeFleetMap(encodeFleetMap(map))).toEqual({ kind: 'map', map });
  });

  it('makes a namespace active in its cell at epoch 1', () => {
    const map = must(registerNamespace(twoCells(), registration('default', 'west')));
    expect(map.revision).toBe(twoCells().revision + 1);
    expect(map.namespaces['id-of-default']?.placement).toEqual({
      active: 'west',
      replicas: ['west'],
      epoch: 1,
      state: { kind: 'active' },
    });
  });

  it('raises the epoch with every change of the active cell, and back', () => {
    let map = twoCells('a');
    for (const [to, epoch] of [
      ['west', 1],
      ['east', 2],
      ['west', 3],
    ] as const) {
      map = must(activate(map, { namespaceId: 'id-of-a', cell: to, epoch }));
    }
    expect(map.namespaces['id-of-a']?.placement).toMatchObject({ active: 'west', epoch: 4 });
  });

  it('gives a cell its database, and another one where that is said and nobody counts on it', () => {
    const first = must(registerCell(twoCells('own'), 'east', { ...cell, database: 'one' }));
    expect(first.cells['east']?.database).toBe('one');
    const asked = { ...cell, database: 'two' };
    const second = must(registerCell(first, 'east', asked, { newDatabase: true }));
    expect(second.cells['east']?.database).toBe('two');
  });

  it('changes nothing for a cell that is there as asked', () => {
    const map = must(registerCell(EMPTY_FLEET_MAP, 'east', cell));
    expect(registerCell(map, 'east', { ...cell })).toEqual({ kind: 'unchanged' });
  });
});

/** A cell that has its workflows in a database of that id, with a namespace of which another cell keeps a copy. */
function keeping(database: string): FleetMap {
  const map = must(registerCell(twoCells(), 'east', { ...cell, database }));
  return must(registerNamespace(map, { ...registration('taken'), replicas: ['west'] }));
}

describe('a change that is refused', () => {
  const map = twoCells('taken');
  const asked = registration('new');
  const rows: readonly [string, Change, string, RegExp][] = [
    [
      'an empty name',
      registerNamespace(map, { ...asked, name: '' }),
      'invalid-argument',
      /give it a name/,
    ],
    [
      'a name with a blank',
      registerNamespace(map, { ...asked, name: 'a b' }),
      'invalid-argument',
      /letters/,
    ],
    [
      'a name of 256',
      registerNamespace(map, { ...asked, name: 'n'.repeat(256) }),
      'invalid-argument',
      /255/,
    ],
    [
      'a name that is taken',
      registerNamespace(map, registration('taken')),
      'already-exists',
      /taken/,
    ],
    [
      'an id that is taken',
      registerNamespace(map, { ...asked, id: 'id-of-taken' }),
      'already-exists',
      /new/,
    ],
    [
      'no retention',
      registerNamespace(map, { ...asked, retentionMs: 0 }),
      'invalid-argument',
      /1 day/,
    ],
    [
      'retention below a day',
      registerNamespace(map, { ...asked, retentionMs: DAY_MS - 1 }),
      'invalid-argument',
      /1 day/,
    ],
    [
      'retention NaN',
      registerNamespace(map, { ...asked, retentionMs: NaN }),
      'invalid-argument',
      /1 day/,
    ],
    [
      'too much data',
      registerNamespace(map, { ...asked, data: { k: 'v'.repeat(10_000) } }),
      'invalid-argument',
      /data/,
    ],
    [
      'an unknown cell',
      registerNamespace(map, registration('new', 'moon')),
      'failed-precondition',
      /moon/,
    ],
    ['a cell id in capitals', registerCell(map, 'East', cell), 'invalid-argument', /lower-case/],
    [
      'an address without port',
      registerCell(map, 'north', { ...cell, address: 'north' }),
      'invalid-argument',
      /host:port/,
    ],
    [
      'other shards',
      registerCell(map, 'east', { ...cell, shards: 8 }),
      'failed-precondition',
      /--shards 4/,
    ],
    [
      'another database',
      registerCell(keeping('one'), 'east', { ...cell, database: 'two' }),
      'failed-precondition',
      /one.*two/,
    ],
    [
      'no database where there was one',
      registerCell(keeping('one'), 'east', cell),
      'failed-precondition',
      /one.*none/,
    ],
    [
      'a new database while others count on the old one',
      registerCell(keeping('one'), 'east', { ...cell, database: 'two' }, { newDatabase: true }),
      'failed-precondition',
      /keeps taken together.*atoll failover/,
    ],
    [
      'an older epoch',
      activate(map, { namespaceId: 'id-of-taken', cell: 'west', epoch: 0 }),
      'aborted',
      /epoch 1/,
    ],
    [
      'an unknown namespace',
      activate(map, { namespaceId: 'x', cell: 'west', epoch: 1 }),
      'not-found',
      /x/,
    ],
  ];
  it.each(rows)('%s', (_, change, code, message) => {
    expect(change).toMatchObject({
      kind: 'refused',
      code,
      message: expect.stringMatching(message),
    });
  });

  it('says which detail an SDK maps when the name is taken', () => {
    const change = registerNamespace(map, registration('taken'));
    expect(change).toMatchObject({ detail: { type: 'NamespaceAlreadyExistsFailure' } });
  });
});

describe('a map goes back', () => {
  const known = must(activate(twoCells('a'), { namespaceId: 'id-of-a', cell: 'west', epoch: 1 }));
  const rows: readonly [string, FleetMap, RegExp][] = [
    ['by its revision', { ...known, revision: known.revision - 1 }, /older/],
    ['by an epoch, whatever its revision', { ...twoCells('a'), revision: 99 }, /epoch 2 to 1/],
    ['by a namespace that vanished', { ...twoCells(), revision: 99 }, /missing/],
  ];
  it.each(rows)('%s', (_, next, why) => {
    expect(goesBack(known, next)).toMatch(why);
  });

  it('not when it only grew', () => {
    expect(goesBack(twoCells('a'), known)).toBeUndefined();
  });
});

describe('a text that is not a fleet map', () => {
  const good = encodeFleetMap(twoCells('a'));
  const rows: readonly [string, string, RegExp][] = [
    ['is cut short', good.slice(0, -2), /JSON/],
    ['is of a later format', good.replace('"format": 2', '"format": 3'), /format is 3/],
    ['has an epoch of 0', good.replace('"epoch": 1', '"epoch": 0'), /epoch/],
    [
      'is active in a cell that is not there',
      good.replace('"active": "east"', '"active": "moon"'),
      /moon/,
    ],
    [
      'has an unknown placement state',
      good.replace('"kind": "active"', '"kind": "adrift"'),
      /state/,
    ],
  ];
  it.each(rows)('%s', (_, text, why) => {
    expect(text).not.toBe(good);
    expect(decodeFleetMap(text)).toMatchObject({
      kind: 'corrupt',
      why: expect.stringMatching(why),
    });
  });
});

function deleted(map: FleetMap): FleetMap {
  const namespaces = Object.fromEntries(
    Object.entries(map.namespaces).map(([id, one]) => [id, { ...one, state: 'deleted' as const }]),
  );
  return { ...map, namespaces };
}
