/** The gzipped call with which clients on sdk-core find out whether they may compress, and the answer that stops them. */
import type { IncomingHttpHeaders } from 'node:http2';
import { AtollError } from '../kernel/errors.ts';

/** Clients on sdk-core (their transport is tonic) probe with gzip, and others would lose the answer for good. */
export function isGzipProbe(rpc: string, headers: IncomingHttpHeaders): boolean {
  const { 'grpc-encoding': encoding, 'user-agent': agent } = headers;
  return rpc === 'GetSystemInfo' && encoding === 'gzip' && agent?.includes('tonic/') === true;
}

/** Worded as grpc-go servers word it: sdk-core looks for these words, asks again plainly, and never compresses again. */
export function gzipRefused(): AtollError {
  const message = 'grpc: Decompressor is not installed for grpc-encoding "gzip"';
  return new AtollError('unimplemented', message);
}
