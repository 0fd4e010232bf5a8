/**
 * Certificates for tests of TLS: an authority and what it signs, encoded here, so that no other program is needed.
 * ECDSA on P-256, X.509 v3 as RFC 5280 has it: just the fields that TLS looks at.
 */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type Signed = { readonly cert: string; readonly key: string };

const DAY_MS = 86_400_000;

/** An authority; its files and those of what it signs lie in `folder`. */
export class Authority {
  /** Path of its certificate. */
  readonly ca: string;
  readonly #folder: string;
  readonly #name: string;
  readonly #key: KeyObject;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    const extension = critical(OID.basicConstraints, sequence(tag(0x01, Buffer.from([0xff]))));
    const isCa = { publicKey, subject: name, days: 30, extension };
    this.ca = this.#write(name, 'pem', pem('CERTIFICATE', this.#certificate(isCa)));
  }

  /** A certificate for that common name, on 127.0.0.1; with negative `days` it has expired that long ago. */
  sign(name: string, days = 30): Signed {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const addresses = sequence(
      tag(0x87, Buffer.from([127, 0, 0, 1])),
      tag(0x82, Buffer.from('localhost')),
    );
    const extension = sequence(OID.subjectAltName, tag(0x04, addresses));
    const certificate = this.#certificate({ publicKey, subject: name, days, extension });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const file = `${this.#name}-${name}`;
    return {
      cert: this.#write(file, 'pem', pem('CERTIFICATE', certificate)),
      key: this.#write(file, 'key', key),
    };
  }

  #certificate(of: {
    readonly publicKey: KeyObject;
    readonly subject: string;
    readonly days: number;
    readonly extension: Buffer;
  }): Buffer {
    const until = Date.now() + of.days * DAY_MS;
    const body = sequence(
      tag(0xa0, tag(0x02, Buffer.from([2]))),
      tag(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      sequence(OID.ecdsaWithSha256),
      nameOf(this.#name),
      sequence(timeOf(Math.min(Date.now(), until) - DAY_MS), timeOf(until)),
      nameOf(of.subject),
      of.publicKey.export({ type: 'spki', format: 'der' }),
      tag(0xa3, sequence(of.extension)),
    );
    const signature = Buffer.concat([Buffer.from([0]), sign('sha256', body, this.#key)]);
    return sequence(body, sequence(OID.ecdsaWithSha256), tag(0x03, signature));
  }

  #write(name: string, kind: string, text: string): string {
    const path = join(this.#folder, `${name}.${kind}`);
    writeFileSync(path, text);
    return path;
  }
}

const OID = {
  ecdsaWithSha256: oid('2a8648ce3d040302'),
  commonName: oid('550403'),
  basicConstraints: oid('551d13'),
  subjectAltName: oid('551d11'),
};

function oid(hex: string): Buffer {
  return tag(0x06, Buffer.from(hex, 'hex'));
}

function critical(id: Buffer, value: Buffer): Buffer {
  return sequence(id, tag(0x01, Buffer.from([0xff])), tag(0x04, value));
}

function nameOf(commonName: string): Buffer {
  const attribute = sequence(OID.commonName, tag(0x0c, Buffer.from(commonName)));
  return sequence(tag(0x31, attribute));
}

function timeOf(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return tag(0x18, Buffer.from(text));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tag(0x30, Buffer.concat(parts));
}

/** DER: type, length, value. */
function tag(type: number, value: Buffer): Buffer {
  const { length } = value;
  const head =
    length < 128
      ? [type, length]
      : length < 256
        ? [type, 0x81, length]
        : [type, 0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from(head), value]);
}

function pem(kind: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${kind}-----\n${lines.join('\n')}\n-----END ${kind}-----\n`;
}
