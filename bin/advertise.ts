/** The address by which a cell is reached, where that is not the one that it listens on. */
import { isIPv6 } from 'node:net';
import { AtollError } from '../kernel/errors.ts';

const HOST_AND_PORT = /^(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+)(?::(\d{1,5}))?$/;
const MAX_PORT = 65_535;

/**
 * What to write into the fleet map, given the port that was bound; undefined: what it listens on.
 * @throws AtollError `failed-precondition` for an address that nobody could call, before anything is started
 */
export function advertisedAddress(options: {
  readonly host: string;
  readonly advertise?: string | undefined;
}): (port: number) => string {
  const { host, advertise = '' } = options;
  if (advertise === '') {
    if (host === '0.0.0.0' || host === '::')
      throw wrong(
        `--host ${host} listens on every address, and others need one to call: name it with --advertise HOST:PORT`,
      );
    return (port) => `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  }
  const [, name, given] = HOST_AND_PORT.exec(advertise) ?? [];
  if (name === undefined || Number(given ?? 1) < 1 || Number(given ?? 1) > MAX_PORT)
    throw wrong(`--advertise ${advertise} is not HOST:PORT, such as cell-1.example:7300`);
  return (port) => `${name}:${given ?? port}`;
}

function wrong(message: string): AtollError {
  return new AtollError('failed-precondition', `${message}.`);
}
