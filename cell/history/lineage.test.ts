import { describe, expect, it } from 'vitest';
import {
  assertOnBranch,
  commonAncestor,
  epochOf,
  extended,
  NO_LINEAGE,
  pointAt,
  standingOf,
  standingOfBranch,
  type Lineage,
} from './lineage.ts';

/** '1@1 5@2' = one transition of epoch 1, then four of epoch 2; each transition has one event. */
function branch(text: string): Lineage {
  if (text === '') return NO_LINEAGE;
  return text.split(' ').map((item) => {
    const [transition = 0, epoch = 0] = item.split('@').map(Number);
    return { transition, epoch, eventId: transition };
  });
}

describe('a transition that a lane brings', () => {
  it.each`
    here         | step     | previous | standing
    ${''}        | ${'1@1'} | ${1}     | ${'next'}
    ${''}        | ${'2@1'} | ${1}     | ${'gap'}
    ${'3@1'}     | ${'1@1'} | ${1}     | ${'known'}
    ${'3@1'}     | ${'3@1'} | ${1}     | ${'known'}
    ${'3@1'}     | ${'4@1'} | ${1}     | ${'next'}
    ${'3@1'}     | ${'4@2'} | ${1}     | ${'next'}
    ${'3@1'}     | ${'5@1'} | ${1}     | ${'gap'}
    ${'3@1'}     | ${'5@2'} | ${2}     | ${'gap'}
    ${'5@1'}     | ${'6@2'} | ${2}     | ${'wins'}
    ${'5@1'}     | ${'4@2'} | ${1}     | ${'wins'}
    ${'3@1 5@2'} | ${'4@1'} | ${1}     | ${'loses'}
    ${'3@1 5@2'} | ${'6@1'} | ${1}     | ${'loses'}
    ${'3@1 5@2'} | ${'9@1'} | ${1}     | ${'loses'}
    ${'3@1 5@2'} | ${'3@1'} | ${1}     | ${'known'}
    ${'3@1 5@2'} | ${'4@2'} | ${1}     | ${'known'}
  `('$step after epoch $previous stands to "$here" as $standing', (row) => {
    const [number = 0, epoch = 0] = String(row.step).split('@').map(Number);
    const step = { number, epoch, previousEpoch: Number(row.previous) };
    expect(standingOf(branch(row.here), step).kind).toBe(row.standing);
  });
});

describe('an image of a branch', () => {
  it.each`
    here         | image            | standing       | ancestor
    ${''}        | ${'3@1'}         | ${'continues'} | ${0}
    ${'3@1'}     | ${'3@1'}         | ${'known'}     | ${3}
    ${'3@1'}     | ${'2@1'}         | ${'known'}     | ${2}
    ${'2@1'}     | ${'3@1'}         | ${'continues'} | ${2}
    ${'2@1'}     | ${'3@1 6@2'}     | ${'continues'} | ${2}
    ${'5@1'}     | ${'3@1 6@2'}     | ${'wins'}      | ${3}
    ${'3@1 6@2'} | ${'5@1'}         | ${'loses'}     | ${3}
    ${'3@1 6@2'} | ${'3@1 5@2 9@3'} | ${'wins'}      | ${5}
  `('"$image" stands to "$here" as $standing', (row) => {
    const here = branch(row.here);
    const image = branch(row.image);
    expect(standingOfBranch(here, image).kind).toBe(row.standing);
    expect(commonAncestor(here, image).transition).toBe(row.ancestor);
    expect(commonAncestor(image, here).transition).toBe(row.ancestor);
  });
});

describe('a lineage', () => {
  it('grows by a transition, and by an item where the epoch changed', () => {
    const one = extended(NO_LINEAGE, { epoch: 1, transition: 1, eventId: 2 });
    const two = extended(one, { epoch: 1, transition: 2, eventId: 2 });
    const three = extended(two, { epoch: 3, transition: 3, eventId: 4 });
    expect(three).toEqual([
      { epoch: 1, transition: 2, eventId: 2 },
      { epoch: 3, transition: 3, eventId: 4 },
    ]);
    expect([0, 1, 2, 3, 4].map((number) => epochOf(three, number))).toEqual([
      undefined,
      1,
      1,
      3,
      undefined,
    ]);
  });

  it('never goes back', () => {
    const two = branch('2@2');
    expect(() => extended(two, { epoch: 1, transition: 3, eventId: 3 })).toThrow('goes back');
    expect(() => extended(two, { epoch: 2, transition: 2, eventId: 3 })).toThrow('goes back');
  });
});

describe('where a reader of a history stands', () => {
  it.each`
    read         | event | now          | goes
    ${'5@1'}     | ${3}  | ${'9@1'}     | ${'on'}
    ${'5@1'}     | ${5}  | ${'5@1 9@2'} | ${'on'}
    ${'5@1'}     | ${5}  | ${'4@1 9@2'} | ${'back'}
    ${'5@1'}     | ${4}  | ${'4@1 9@2'} | ${'on'}
    ${'3@1 5@2'} | ${5}  | ${'3@1 9@3'} | ${'back'}
    ${'5@1'}     | ${5}  | ${'4@1'}     | ${'back'}
    ${'5@1'}     | ${0}  | ${'2@1 3@2'} | ${'on'}
  `('at event $event of "$read" it goes $goes in "$now"', ({ read, event, now, goes }) => {
    const point = pointAt(branch(String(read)), Number(event));
    const go = () => assertOnBranch({ runId: 'r', lineage: branch(String(now)) }, point);
    if (goes === 'on') expect(go).not.toThrow();
    else expect(go).toThrow('went on otherwise');
  });
});
