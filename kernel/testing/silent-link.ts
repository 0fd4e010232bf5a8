/**
 * A TCP link to somewhere that a test can make fall silent, as one does whose cable was cut: its connections stay open,
 * new ones are still accepted, and nothing passes either way.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type SilentLink = {
  /** `host:port` of this side. */
  readonly address: string;
  /** How many connections were ever made over it. */
  readonly made: () => number;
  fallSilent(): void;
  /** Connections made from now on pass; those of before stay silent, as after a cut nobody repairs them. */
  passAgain(): void;
  close(): void;
};

/** @param target `host:port` of the far side */
export async function silentLink(target: string): Promise<SilentLink> {
  const colon = target.lastIndexOf(':');
  const far = { host: target.slice(0, colon), port: Number(target.slice(colon + 1)) };
  const pairs = new Set<readonly [Socket, Socket]>();
  let made = 0;
  let silent = false;
  const server = createServer((near) => {
    made += 1;
    const pair = [near, connect(far)] as const;
    pairs.add(pair);
    for (const [one, other] of [pair, [pair[1], pair[0]] as const]) {
      one.on('error', () => {});
      one.on('close', () => {
        other.destroy();
        pairs.delete(pair);
      });
    }
    if (silent) return mute(pair);
    pair[0].pipe(pair[1]).pipe(pair[0]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    made: () => made,
    fallSilent() {
      silent = true;
      for (const pair of pairs) mute(pair);
    },
    passAgain: () => void (silent = false),
    close() {
      server.close();
      for (const pair of pairs) for (const socket of pair) socket.destroy();
    },
  };
}

function mute(pair: readonly [Socket, Socket]): void {
  for (const socket of pair) socket.unpipe().pause();
}
