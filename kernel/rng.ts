/** Randomness as a port (D12): ids, nonces and jitter. The simulator hands out a seeded one. */
import { randomFillSync, randomUUID } from 'node:crypto';

export interface Rng {
  /** `count` bytes that nobody can guess (seeded ones in the simulator). */
  bytes(count: number): Uint8Array;
  /** A number in [0, 1), for jitter and sampling. */
  fraction(): number;
  /** A version 4 UUID, lower case. */
  uuid(): string;
}

const POOL_BYTES = 4_096;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** Random bytes of a pool, each handed out once: asking the library costs the same for 16 bytes and for thousands. */
function pooledBytes(count: number): Uint8Array {
  if (count > POOL_BYTES) return randomFillSync(new Uint8Array(count));
  if (used + count > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  const bytes = pool.slice(used - count, used);
  pool.fill(0, used - count, used);
  return bytes;
}

/** The randomness of the machine. */
export const systemRng: Rng = {
  bytes: pooledBytes,
  fraction: () => Math.random(),
  uuid: () => randomUUID(),
};
