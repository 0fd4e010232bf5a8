/** Randomness as a port (D12): ids, nonces and jitter. The simulator hands out a seeded one. */
import { randomBytes, randomUUID } from 'node:crypto';

export interface Rng {
  /** `count` bytes that nobody can guess (seeded ones in the simulator). */
  bytes(count: number): Uint8Array;
  /** A number in [0, 1), for jitter and sampling. */
  fraction(): number;
  /** A version 4 UUID, lower case. */
  uuid(): string;
}

/** The randomness of the machine. */
export const systemRng: Rng = {
  bytes: (count) => randomBytes(count),
  fraction: () => Math.random(),
  uuid: () => randomUUID(),
};
