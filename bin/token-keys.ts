/**
 * The fleet's token key ring in a file (D8): made once by whoever comes first, read by every cell of the fleet, so that
 * tokens survive restarts and moves. Readable by its owner only.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile } from '../fleet/file/durable-file.ts';
import { AtollError } from '../kernel/errors.ts';
import type { Rng } from '../kernel/rng.ts';
import { TokenKeyRing } from '../wire/signed-token.ts';

type StoredRing = {
  readonly format: 1;
  readonly current: number;
  readonly keys: readonly { readonly id: number; readonly secret: string }[];
};

/** A ring for one process only: a throwaway server, a test. */
export function throwawayKeyRing(rng: Rng): TokenKeyRing {
  return new TokenKeyRing({ current: 1, keys: [{ id: 1, secret: rng.bytes(32) }] });
}

/** Errors: `data-loss` when the file is not a key ring. */
export async function loadKeyRing(directory: string, rng: Rng): Promise<TokenKeyRing> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, 'token-keys.json');
  const fresh: StoredRing = {
    format: 1,
    current: 1,
    keys: [{ id: 1, secret: Buffer.from(rng.bytes(32)).toString('base64') }],
  };
  await createFile(path, join(directory, `.token-keys-${rng.uuid()}`), JSON.stringify(fresh));
  const ring = parse(await readFile(path, 'utf8'), path);
  return new TokenKeyRing({
    current: ring.current,
    keys: ring.keys.map(({ id, secret }) => ({ id, secret: Buffer.from(secret, 'base64') })),
  });
}

function parse(text: string, path: string): StoredRing {
  try {
    const ring = JSON.parse(text) as StoredRing;
    if (ring.format === 1 && Array.isArray(ring.keys)) return ring;
  } catch {
    // Falls through to the one message for all that is not a ring.
  }
  throw new AtollError(
    'data-loss',
    `${path} is not a token key ring of this release: put the fleet's own file back; tokens in workers' hands are signed with it`,
  );
}
