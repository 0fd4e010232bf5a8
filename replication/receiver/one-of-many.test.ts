/** One thing of a call that the shards cannot take: the others are answered, over the receiver and real shards. */
import { expect, test } from 'vitest';
import { NS } from '../../cell/shard/testing/shard-lab.ts';
import { forever, image, kinds, placed, twoCells } from '../../cell/shard/testing/two-hosts.ts';
import { encodeImage } from '../step-codec.ts';
import { namespaceOf, StubMap } from '../testing/stub-map.ts';
import { Receiver } from './receiver.ts';
import { SourceReports } from './source-reports.ts';

test('an image that waits for a branch which is parked on its way to the acting cell holds up no other', async () => {
  const { a, b, labB, ship, moveHeard } = await twoCells();
  for (const id of ['w', 'x']) await a.start(id);
  await ship('a');
  // b acted in epoch 2 and decided something of w; a acts again in epoch 3 and decided, too: what b has of w lost.
  await moveHeard('2@2', 'b');
  await b.signal('w', 'of-b');
  b.delivery = 'runs';
  a.placement = placed('3@3 active');
  b.placement = placed('3@3');
  for (const { shards } of [a, b]) await shards.replicas().observe(NS, forever);
  for (const id of ['w', 'x']) await a.signal(id, 'of-a');
  const receiver = new Receiver({
    cellId: 'b',
    map: new StubMap([namespaceOf(NS, { active: 'a', epoch: 3 })]),
    replicas: b.shards.replicas(),
    reports: new SourceReports(labB.clock),
  });
  const images = [encodeImage(await image(a, 'w')), encodeImage(await image(a, 'x'))];
  const push = { namespaceId: NS, images, repair: false };
  const outcomes = await receiver.images('a', push, forever);
  expect(kinds(outcomes)).toEqual(['later', 'applied']);
  expect(outcomes[0]).toMatchObject({
    reason: expect.stringContaining('still on its way') as string,
  });
  b.delivery = 'done';
  expect(kinds(await receiver.images('a', push, forever))).toEqual(['applied', 'known']);
});
