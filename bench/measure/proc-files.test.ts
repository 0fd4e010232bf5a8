import { expect, test } from 'vitest';
import { parseKilobytes, parseMachineStat, parseProcessStat } from './proc-files.ts';

test('the CPU of a process is its own and that of the children that it waited for', () => {
  const stat =
    '4711 (postgres) S 4242 4711 4711 0 -1 4194560 1907 90 0 0 1500 250 30 20 20 0 11 0 99 0 0';
  expect(parseProcessStat(stat)).toEqual({ parent: 4242, ownSeconds: 17.5, reapedSeconds: 0.5 });
});

test('a program whose name looks like the fields behind it does not shift them', () => {
  const stat = '7 (a) R 1 (b) c) S 42 7 7 0 -1 0 0 0 0 0 100 0 0 0 20 0 1 0 99 0 0';
  expect(parseProcessStat(stat)).toMatchObject({ parent: 42, ownSeconds: 1 });
});

test('a busy machine is one that computes, not one that waits for a disk', () => {
  const stat = 'cpu  1000 100 500 99999 7777 50 50 25 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n';
  expect(parseMachineStat(stat)).toEqual({ busySeconds: 17, stealSeconds: 0.25 });
});

test('sizes are read by their whole name', () => {
  const status = 'Name:\tnode\nVmHWM:\t  200 kB\nVmRSS:\t  123456 kB\nRssAnon:\t 9 kB\n';
  expect(parseKilobytes(status, 'VmRSS')).toBe(123_456);
  expect(parseKilobytes(status, 'Pss')).toBe(0);
});
