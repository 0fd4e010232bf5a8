/**
 * Certificates by configuration: read once at the start, and refused with a sentence if they cannot work, so that no
 * client has to find that out.
 */
import { readFile } from 'node:fs/promises';
import type { SecureClientSessionOptions, SecureServerOptions } from 'node:http2';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';

/** Files, and the flags that named them; an empty path means not given. */
export type TlsFiles = {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  /** Prefix of the flags in messages. */
  readonly flag: '--tls' | '--cell-tls' | '--admin-tls';
};

/** The flags of TLS to cells. */
export type CellTlsOptions = {
  readonly cellTlsCa?: string | undefined;
  readonly cellTlsCert?: string | undefined;
  readonly cellTlsKey?: string | undefined;
};

export function cellTlsFiles(options: CellTlsOptions): TlsFiles {
  const { cellTlsCert = '', cellTlsKey = '', cellTlsCa = '' } = options;
  return { cert: cellTlsCert, key: cellTlsKey, ca: cellTlsCa, flag: '--cell-tls' };
}

type Ports = { readonly clock: Clock; readonly log: Log };

const DAY_MS = 86_400_000;
/** From here on a start warns. */
const WARN_DAYS = 14;

/** Of a listening port: undefined without a certificate. With `ca`, callers must show one that it signed. */
export async function serverTls(
  files: TlsFiles,
  ports: Ports,
): Promise<SecureServerOptions | undefined> {
  const { flag } = files;
  const own = await identity(files, ports);
  if (own === undefined && files.ca !== '')
    throw wrong(`${flag}-client-ca needs ${flag}-cert and ${flag}-key beside it`);
  if (own === undefined) return undefined;
  if (files.ca === '') return { ...own, minVersion: 'TLSv1.2' };
  const ca = await certificate(files.ca, `${flag}-client-ca`, ports);
  return { ...own, ca, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.2' };
}

/** Of connections that we make: undefined = cleartext. With `ca` the other side must show one that it signed. */
export async function clientTls(
  files: TlsFiles,
  ports: Ports,
): Promise<SecureClientSessionOptions | undefined> {
  const { flag } = files;
  const own = await identity(files, ports);
  if (files.ca === '') {
    if (own === undefined) return undefined;
    throw wrong(`${flag}-cert needs ${flag}-ca beside it: whom to trust on the other side`);
  }
  const ca = await certificate(files.ca, `${flag}-ca`, ports);
  return { ...own, ca, minVersion: 'TLSv1.2' };
}

async function identity(
  { cert, key, flag }: TlsFiles,
  ports: Ports,
): Promise<{ readonly cert: Buffer; readonly key: Buffer } | undefined> {
  if (cert === '' && key === '') return undefined;
  if (cert === '' || key === '') throw wrong(`${flag}-cert and ${flag}-key go together`);
  const certBytes = await certificate(cert, `${flag}-cert`, ports);
  const keyBytes = await read(key, `${flag}-key`);
  let matches: boolean;
  try {
    matches = new X509Certificate(certBytes).checkPrivateKey(createPrivateKey(keyBytes));
  } catch (cause) {
    throw wrong(`${flag}-key ${key} is not a private key in PEM form`, cause);
  }
  if (!matches) throw wrong(`${flag}-key ${key} does not belong to the certificate ${cert}`);
  return { cert: certBytes, key: keyBytes };
}

/** The file's bytes, whose first certificate is valid now. */
async function certificate(path: string, flag: string, { clock, log }: Ports): Promise<Buffer> {
  const bytes = await read(path, flag);
  let first: X509Certificate;
  try {
    first = new X509Certificate(bytes);
  } catch (cause) {
    throw wrong(`${flag} ${path} is not a certificate in PEM form`, cause);
  }
  const now = clock.now();
  const until = Date.parse(first.validTo);
  if (now > until) throw wrong(`${flag} ${path} expired on ${first.validTo}: put a new one there`);
  if (now < Date.parse(first.validFrom))
    throw wrong(`${flag} ${path} is valid from ${first.validFrom} on: check this machine's clock`);
  const days = Math.floor((until - now) / DAY_MS);
  if (days < WARN_DAYS) log.warn({ flag, path, days }, 'a certificate expires soon');
  return bytes;
}

async function read(path: string, flag: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw wrong(`${flag} ${path} cannot be read (${why})`, cause);
  }
}

function wrong(message: string, cause?: unknown): AtollError {
  return new AtollError('failed-precondition', `${message}.`, { cause });
}
