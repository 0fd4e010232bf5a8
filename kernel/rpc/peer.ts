/**
 * Who is at the other end of a connection, as its TLS certificate says: the common name of a certificate that was
 * verified against our client authorities. Asked per call, read once per connection.
 */
import type { Http2Session } from 'node:http2';
import { TLSSocket } from 'node:tls';

const known = new WeakMap<Http2Session, { readonly name: string | undefined }>();

/** The verified common name; undefined without TLS, without a certificate, or with one that was not verified. */
export function peerOf(session: Http2Session | undefined): string | undefined {
  if (session === undefined || session.destroyed) return undefined;
  let peer = known.get(session);
  if (peer === undefined) {
    peer = { name: peerOfSocket(session.socket) };
    known.set(session, peer);
  }
  return peer.name;
}

/** The same of a connection of another kind. Certificates are read each time. */
export function peerOfSocket(socket: unknown): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const name: unknown = socket.getPeerCertificate().subject?.CN;
  // Several names in one subject are nobody in particular.
  return typeof name === 'string' && name !== '' ? name : undefined;
}
