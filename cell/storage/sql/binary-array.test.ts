import { expect, test } from 'vitest';
import { InvariantError } from '../../../kernel/invariant.ts';
import {
  boolArray,
  byteaArray,
  int4Array,
  int8Array,
  textArray,
  uuidArray,
} from './binary-array.ts';

/** Dimensions, flags, element type, length, first index; then length and bytes of each element. */
const header = (oid: string, count: string) => `00000001 00000000 ${oid} ${count} 00000001`;

const UUID = '00112233-4455-6677-8899-aabbccddeeff';

test.each([
  [
    'int4',
    int4Array([1, -2]),
    `${header('00000017', '00000002')} 00000004 00000001 00000004 fffffffe`,
  ],
  ['int8', int8Array([2 ** 40 + 5]), `${header('00000014', '00000001')} 00000008 0000010000000005`],
  ['int8 below 0', int8Array([-1]), `${header('00000014', '00000001')} 00000008 ffffffffffffffff`],
  ['bool', boolArray([true, false]), `${header('00000010', '00000002')} 00000001 01 00000001 00`],
  ['text', textArray(['é', '']), `${header('00000019', '00000002')} 00000002 c3a9 00000000`],
  [
    'bytea',
    byteaArray([Buffer.from('ff00', 'hex')]),
    `${header('00000011', '00000001')} 00000002 ff00`,
  ],
  [
    'uuid',
    uuidArray([UUID]),
    `${header('00000b86', '00000001')} 00000010 ${UUID.replaceAll('-', '')}`,
  ],
  ['nothing', textArray([]), '00000000 00000000 00000019'],
])('an array of %s has the form that the server reads', (_, encoded, expected) => {
  expect(encoded.toString('hex')).toBe(expected.replaceAll(' ', ''));
});

test('what is no uuid, and a number that is not exact, break an invariant', () => {
  expect(() => uuidArray(['run-1'])).toThrow(InvariantError);
  expect(() => uuidArray([new Uint8Array(15)])).toThrow(InvariantError);
  expect(() => int8Array([2 ** 53])).toThrow(InvariantError);
});
