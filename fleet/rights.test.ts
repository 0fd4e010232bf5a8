import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Rights, type Credentials, type RightsDocument, type Verb } from './rights.ts';

const hash = (token: string) => createHash('sha256').update(token).digest('hex');

const document: RightsDocument = {
  callers: [
    { name: 'worker', tokenSha256: [hash('w-token')], allow: { orders: ['read', 'work'] } },
    { name: 'clerk', certificates: ['clerk'], allow: { orders: ['read', 'write'] } },
    { name: 'operator', certificates: ['op'], allow: { '*': ['admin', 'read'] } },
  ],
  routers: ['router-1'],
};
const rights = new Rights(document);

describe('rights', () => {
  const worker = { authorization: 'Bearer w-token' };
  const rows: [string, Credentials, Verb, string, string][] = [
    ['a token may what it was given', worker, 'work', 'orders', 'ok'],
    ['and nothing else', worker, 'write', 'orders', 'permission-denied'],
    ['nor elsewhere', worker, 'read', 'stock', 'permission-denied'],
    ['nor with a name that objects have', worker, 'read', 'constructor', 'permission-denied'],
    [
      'an unknown token is nobody',
      { authorization: 'Bearer x' },
      'read',
      'orders',
      'unauthenticated',
    ],
    [
      'a scheme that is not ours is nobody',
      { authorization: 'Basic w-token' },
      'read',
      'orders',
      'unauthenticated',
    ],
    ['no credentials are nobody', {}, 'read', 'orders', 'unauthenticated'],
    ['a certificate may what it was given', { peer: 'clerk' }, 'write', 'orders', 'ok'],
    [
      'a wrong token is not made good by a certificate',
      { peer: 'op', authorization: 'Bearer x' },
      'read',
      'orders',
      'unauthenticated',
    ],
    ['a star is every namespace', { peer: 'op' }, 'admin', 'new-one', 'ok'],
    [
      'a router speaks for its client',
      { peer: 'router-1', reported: 'clerk' },
      'write',
      'orders',
      'ok',
    ],
    ['a router is nobody by itself', { peer: 'router-1' }, 'read', 'orders', 'unauthenticated'],
    [
      'a caller cannot speak for another',
      { peer: 'clerk', reported: 'op' },
      'admin',
      'orders',
      'permission-denied',
    ],
    ['nor can one without a certificate', { reported: 'op' }, 'admin', 'orders', 'unauthenticated'],
  ];
  test.each(rows)('%s', (_, credentials, verb, namespace, outcome) => {
    let seen = 'ok';
    try {
      rights.check(credentials, verb, namespace);
    } catch (error) {
      seen = (error as { code: string }).code;
    }
    expect(seen).toBe(outcome);
    expect(rights.allows(credentials, verb, namespace)).toBe(outcome === 'ok');
  });

  const wrong: [string, unknown, RegExp][] = [
    ['is no object', null, /callers/],
    [
      'has a token in the clear',
      { callers: [{ name: 'a', tokenSha256: ['secret'], allow: {} }] },
      /SHA-256/,
    ],
    [
      'has an unknown verb',
      { callers: [{ name: 'a', certificates: ['a'], allow: { o: ['all'] } }] },
      /verbs are read/,
    ],
    ['proves nobody', { callers: [{ name: 'a', allow: {} }] }, /neither/],
    [
      'gives one certificate to two',
      {
        callers: [
          { name: 'a', certificates: ['x'], allow: {} },
          { name: 'b', certificates: ['x'], allow: {} },
        ],
      },
      /another caller/,
    ],
    [
      'names a router as a caller',
      { callers: [{ name: 'a', certificates: ['r'], allow: {} }], routers: ['r'] },
      /both/,
    ],
  ];
  test.each(wrong)('a document that %s is refused', (_, given, message) => {
    expect(() => new Rights(given as RightsDocument)).toThrow(message);
  });
});
