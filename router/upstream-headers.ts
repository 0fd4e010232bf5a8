/** The headers with which a call goes to its cell: the client's, and what the router says of it (D8). */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import {
  CALLER_CERTIFICATE_HEADER,
  CALLER_HOP_HEADER,
  EPOCH_HEADER,
  NAMESPACE_ID_HEADER,
} from '../fleet/call-headers.ts';
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

/** The client's headers but those of its connection and those that are ours to set. */
export function upstreamHeaders(client: IncomingHttpHeaders, passed: Passed): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ':method': 'POST', ':path': client[':path'] };
  for (const name in client) {
    if (name.charCodeAt(0) !== COLON && !name.startsWith('atoll-')) headers[name] = client[name];
  }
  headers[NAMESPACE_ID_HEADER] = passed.namespaceId;
  headers[EPOCH_HEADER] = String(passed.epoch);
  headers[CALLER_HOP_HEADER] = '1';
  if (passed.certificate !== undefined) headers[CALLER_CERTIFICATE_HEADER] = passed.certificate;
  if (passed.leftMs !== undefined) headers['grpc-timeout'] = formatTimeout(passed.leftMs);
  return headers;
}
