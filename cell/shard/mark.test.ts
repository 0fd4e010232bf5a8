import { expect, it } from 'vitest';
import { dueMark, isActing, type Mark, type PlacementView } from './mark.ts';

/** '3@2 active' = revision 3, epoch 2. */
function placement(text: string): PlacementView | undefined {
  if (text === 'unknown') return undefined;
  const [at = '', ...words] = text.split(' ');
  const [revision = 0, epoch = 0] = at.split('@').map(Number);
  const active = words.includes('active');
  const handover = words.includes('handover');
  const replica = active || words.includes('replica');
  return { active, replica, handover, epoch, revision, owner: active ? 'here' : 'there' };
}

function mark(text: string): Mark | undefined {
  if (text === 'none') return undefined;
  const [at = '', kind] = text.split(' ');
  const [revision = 0, epoch = 0] = at.split('@').map(Number);
  const base = { namespaceId: 'n', epoch, revision };
  if (kind === 'gated') return { ...base, kind, moveId: 'm' };
  return { ...base, kind: kind === 'acting' ? kind : 'standby' };
}

const said = (made: Mark | undefined) =>
  made === undefined ? 'none' : `${made.revision}@${made.epoch} ${made.kind}`;

it.each`
  mark             | map                      | due              | acts     | why
  ${'none'}        | ${'unknown'}             | ${'none'}        | ${true}  | ${'the map does not name it: nothing forbids'}
  ${'none'}        | ${'1@1 active'}          | ${'none'}        | ${true}  | ${'registered here, never moved'}
  ${'none'}        | ${'1@1 replica'}         | ${'none'}        | ${false} | ${'registered elsewhere'}
  ${'none'}        | ${'5@2 active'}          | ${'5@2 acting'}  | ${false} | ${'moved here'}
  ${'none'}        | ${'5@2 replica'}         | ${'5@2 standby'} | ${false} | ${'moved away before this shard heard'}
  ${'none'}        | ${'5@2'}                 | ${'none'}        | ${false} | ${'keeps no copy'}
  ${'none'}        | ${'2@1 active handover'} | ${'none'}        | ${true}  | ${'a handover alone closes nothing: the gate does'}
  ${'2@1 gated'}   | ${'2@1 active handover'} | ${'none'}        | ${false} | ${'closed'}
  ${'2@1 gated'}   | ${'1@1 active'}          | ${'none'}        | ${false} | ${'an older map opens nothing'}
  ${'2@1 gated'}   | ${'2@1 active'}          | ${'none'}        | ${false} | ${'nor does the map that the gate was made from'}
  ${'2@1 gated'}   | ${'3@1 active'}          | ${'3@1 acting'}  | ${false} | ${'rolled back'}
  ${'2@1 gated'}   | ${'3@1 active handover'} | ${'none'}        | ${false} | ${'another move is under way'}
  ${'2@1 gated'}   | ${'3@2 replica'}         | ${'3@2 standby'} | ${false} | ${'flipped'}
  ${'2@1 gated'}   | ${'9@3 active'}          | ${'9@3 acting'}  | ${false} | ${'flipped and back'}
  ${'3@2 standby'} | ${'9@3 active'}          | ${'9@3 acting'}  | ${false} | ${'back here'}
  ${'3@2 standby'} | ${'9@3 replica'}         | ${'none'}        | ${false} | ${'it went elsewhere still'}
  ${'3@2 acting'}  | ${'2@1 replica'}         | ${'none'}        | ${true}  | ${'the log knows more than the map'}
  ${'3@2 acting'}  | ${'9@3 replica'}         | ${'9@3 standby'} | ${true}  | ${'failed over'}
`('after $mark a map $map asks for $due: $why', (row) => {
  const before = mark(row.mark);
  const map = placement(row.map);
  expect(said(dueMark('n', before, map))).toBe(row.due);
  expect(isActing(before, map)).toBe(row.acts);
});
