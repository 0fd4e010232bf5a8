import { describe, expect, test } from 'vitest';
import { addressIn } from './engine-process.ts';

// line of output | the address in it
const table = `
 {"level":30,"msg":"ready","address":"127.0.0.1:7233"} | 127.0.0.1:7233
 {"level":30,"msg":"listening","address":"127.0.0.1:1"} | -
 {"level":30,"msg":"ready"} | -
 atoll dev is ready: router 127.0.0.1:40123, data .atoll/ | 127.0.0.1:40123
 router 127.0.0.1:40123 is starting | -
 { not json | -
`;

describe('the ready line of an engine', () => {
  for (const line of table.trim().split('\n')) {
    const [output = '', address = ''] = line.split(' | ').map((cell) => cell.trim());
    test(`${output} names ${address}`, () => {
      expect(addressIn(output) ?? '-').toBe(address);
    });
  }
});
