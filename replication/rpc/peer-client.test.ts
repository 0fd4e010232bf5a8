import { expect, it } from 'vitest';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { replicationConfig } from '../config.ts';
import { PeerClient } from './peer-client.ts';

it('gives each part of a large image the time of a call, and the last one that of the whole image besides', async () => {
  const config = replicationConfig({ imagePartBytes: 1_000, imageBytesPerSecond: 100 });
  const given: [path: string, timeoutMs: number][] = [];
  const outcomes = [{ kind: 1, have: 0, reason: '' }];
  const peer = new PeerClient('b', {
    calls: {
      call: async (_, method, { timeoutMs }) => {
        given.push([method.path.split('/').at(-1) ?? '', timeoutMs]);
        const isLast = given.length === 3;
        return { outcomes: isLast ? outcomes : [] } as never;
      },
    },
    rng: new SeededRng(1),
    config,
  });
  const push = { namespaceId: 'n', images: [new Uint8Array(2_500)], repair: false };
  expect(await peer.pushImages(push, new AbortController().signal)).toEqual([{ kind: 'applied' }]);
  expect(given).toEqual([
    ['PushImagePart', config.callMs],
    ['PushImagePart', config.callMs],
    ['PushImagePart', config.callMs + 25_000],
  ]);
});
