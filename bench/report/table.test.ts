import { expect, test } from 'vitest';
import { resultTable, short, table } from './table.ts';

test('columns are as wide as their widest cell, and nothing trails', () => {
  const columns = [
    { title: 'figure', align: 'left' },
    { title: 'n', align: 'right' },
    { title: '', align: 'left' },
  ] as const;
  const rows = [
    ['a', '1', ''],
    ['longer one', '12.5', 'met'],
  ];
  expect(table(columns, rows)).toEqual([
    'figure         n',
    '----------  ----  ---',
    'a              1',
    'longer one  12.5  met',
  ]);
});

test.each([
  [1234.5, '1235'],
  [123.4, '123'],
  [12.34, '12.3'],
  [1.234, '1.23'],
  [0.01234, '0.012'],
  [0, '0'],
  [-1.5, '-1.50'],
  [Number.NaN, '?'],
])('%d is told as %s', (value, text) => {
  expect(short(value)).toBe(text);
});

test('each figure stands beside its aim and the figure of the peer', () => {
  const lines = resultTable([
    { name: 'one-activity.rate', value: 101.23, verdict: 'met' },
    { name: 'one-activity.wal', value: 20, verdict: 'not met' },
    { name: 'one-activity.transactions', value: Number.NaN, verdict: 'does not count' },
  ]);
  expect(lines.slice(2).map((line) => line.split(/ {2,}/).filter((cell) => cell !== ''))).toEqual([
    ['one activity, 64 clients: workflows', '101 /s', '>= 96', '32', 'met'],
    ['WAL a workflow', '20.0 KB', '<= 15', '100', 'NOT MET'],
    ['writing transactions a workflow', '?', '16.6', 'does not count'],
  ]);
});
