/** The head with which a call goes to its cell: its path, the client's headers, and what the router says of it (D8). */
import type { IncomingHttpHeaders } from 'node:http2';
import {
  CALLER_CERTIFICATE_HEADER,
  CALLER_HOP_HEADER,
  EPOCH_HEADER,
  NAMESPACE_ID_HEADER,
} from '../fleet/call-headers.ts';
import { encodeHead } from '../kernel/link/frames.ts';
import { formatTimeout } from '../kernel/rpc/timeout.ts';

export type Passed = {
  readonly namespaceId: string;
  /** The epoch that the router believes in. */
  readonly epoch: number;
  /** The certificate name that the client showed. */
  readonly certificate: string | undefined;
  /** What is left of the client's deadline, ms, where time has passed since the call came; else undefined. */
  readonly leftMs: number | undefined;
};

const COLON = 58;

/** What says something of the client's connection, and not of its call. */
const OF_CONNECTION: ReadonlySet<string> = new Set(['te', 'content-type', 'grpc-accept-encoding']);

/** The client's headers but those of its connection and those that are ours to set. */
export function upstreamHead(client: IncomingHttpHeaders, passed: Passed): string {
  const headers: Record<string, string | string[] | undefined> = {};
  for (const name in client) {
    const isOurs = name.charCodeAt(0) === COLON || name.startsWith('atoll-');
    if (!isOurs && !OF_CONNECTION.has(name)) headers[name] = client[name];
  }
  headers[NAMESPACE_ID_HEADER] = passed.namespaceId;
  headers[EPOCH_HEADER] = String(passed.epoch);
  headers[CALLER_HOP_HEADER] = '1';
  if (passed.certificate !== undefined) headers[CALLER_CERTIFICATE_HEADER] = passed.certificate;
  if (passed.leftMs !== undefined) headers['grpc-timeout'] = formatTimeout(passed.leftMs);
  return encodeHead(headers, String(client[':path']));
}
