import { expect, test } from 'vitest';
import { readStartDevFlags } from './start-dev-flags.ts';

test('without flags it is a server in memory on the usual port, with namespace default', () => {
  const { dev, withoutEffect } = readStartDevFlags({});
  expect(dev).toMatchObject({ host: '127.0.0.1', port: 7233, data: undefined });
  expect(dev.namespaces).toEqual(['default']);
  expect(withoutEffect).toEqual([]);
});

test.each([
  [{ port: '' }, '--port'],
  [{ port: '65536' }, '--port'],
  [{ logLevel: 'loud' }, '--log-level'],
  [{ logFormat: 'xml' }, '--log-format'],
  [{ searchAttribute: ['Region'] }, '--search-attribute'],
  [{ searchAttribute: ['Region=Unspecified'] }, '--search-attribute'],
])('%j is refused by the name of its flag', (flags, named) => {
  expect(() => readStartDevFlags(flags)).toThrow(named);
});

test('names may be repeated and separated by commas, attributes have any case', () => {
  const { dev } = readStartDevFlags({
    namespace: ['a,b ', 'a', 'default'],
    searchAttribute: ['Tags=keywordlist'],
  });
  expect(dev.namespaces).toEqual(['default', 'a', 'b']);
  expect(dev.searchAttributes).toEqual({ Tags: 7 });
});
