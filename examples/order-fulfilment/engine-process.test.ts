import { describe, expect, test } from 'vitest';
import { addressesIn } from './engine-process.ts';

// line of output | the addresses in it: router, admin
const table = `
 {"level":30,"msg":"ready","address":"127.0.0.1:7233"} | 127.0.0.1:7233
 {"msg":"ready","address":"127.0.0.1:7233","admin":"http://127.0.0.1:7234"} | 127.0.0.1:7233, 127.0.0.1:7234
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
      const { address: router, admin } = addressesIn(output) ?? {};
      expect([router ?? '-', ...(admin ? [admin] : [])].join(', ')).toBe(address);
    });
  }
});
