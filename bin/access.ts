/** Who may call a port of ours: rights from a file, and no open port on a network by accident. */
import { readFile } from 'node:fs/promises';
import type { SecureServerOptions } from 'node:http2';
import { isIPv4 } from 'node:net';
import { Rights, type RightsDocument } from '../fleet/rights.ts';
import type { Clock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { serverTls } from './tls.ts';

/** The flags of a port that clients or routers call. */
export type PortOptions = {
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly tlsClientCa?: string | undefined;
  /** Path of the rights file. */
  readonly rights?: string | undefined;
  readonly allowAll?: boolean | undefined;
};

export type PortAccess = {
  readonly tls: SecureServerOptions | undefined;
  readonly rights: Rights | undefined;
};

/** What the flags name, read and checked. @throws AtollError `failed-precondition` if it cannot work, or leaves the port open */
export async function portAccess(
  options: PortOptions & { readonly host: string },
  ports: { readonly clock: Clock; readonly log: Log },
): Promise<PortAccess> {
  const { host, tlsCert = '', tlsKey = '', tlsClientCa = '', allowAll = false } = options;
  const files = { cert: tlsCert, key: tlsKey, ca: tlsClientCa, flag: '--tls' } as const;
  const tls = await serverTls(files, ports);
  const rights = await loadRights(options.rights ?? '');
  refuseOpenPort({ host, tls, rights, allowAll });
  return { tls, rights };
}

/** The rights file; undefined where none is named. @throws AtollError `failed-precondition` saying what is wrong with it */
async function loadRights(path: string): Promise<Rights | undefined> {
  if (path === '') return undefined;
  try {
    return new Rights(JSON.parse(await readFile(path, 'utf8')) as RightsDocument);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AtollError('failed-precondition', `--rights ${path} cannot be used: ${why}`, {
      cause,
    });
  }
}

/** Refuses a port that anybody on the network could use: say so with `--allow-all`, or say who may. */
function refuseOpenPort(port: {
  readonly host: string;
  readonly tls: SecureServerOptions | undefined;
  readonly rights: Rights | undefined;
  readonly allowAll: boolean;
}): void {
  if (port.allowAll || port.rights !== undefined || isLoopback(port.host)) return;
  if (port.tls?.requestCert === true) return;
  throw new AtollError(
    'failed-precondition',
    `--host ${port.host} can be reached from other machines, and nothing says who may call: give --rights FILE, or --tls-cert, --tls-key and --tls-client-ca; or --allow-all if everybody may.`,
  );
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1' || host === '[::1]') return true;
  return isIPv4(host) && host.startsWith('127.');
}
