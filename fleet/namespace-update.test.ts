import { expect, test } from 'vitest';
import { must, twoCells } from './conformance/sample.ts';
import { updateNamespace, type NamespaceUpdate } from './namespace-update.ts';
import { namespaceByName } from './table.ts';

const map = must(
  updateNamespace(twoCells('orders'), { name: 'orders', addSearchAttributes: { Region: 2 } }),
);
const DAY_MS = 86_400_000;

function outcome(update: Omit<NamespaceUpdate, 'name'>, name = 'orders'): string {
  const change = updateNamespace(map, { name, ...update });
  return change.kind === 'refused' ? `${change.code}: ${change.message}` : change.kind;
}

test('what is asked for changes, and nothing else of the namespace', () => {
  const data = { team: 'sales' };
  const next = must(updateNamespace(map, { name: 'orders', data, retentionMs: 9 * DAY_MS }));
  const before = namespaceByName(map, 'orders');
  expect(namespaceByName(next, 'orders')).toEqual({ ...before, data, retentionMs: 9 * DAY_MS });
  expect(next.revision).toBe(map.revision + 1);
});

test('an update that changes nothing leaves the map as it is', () => {
  expect(outcome({ addSearchAttributes: { Region: 2 } })).toBe('unchanged');
});

test('a search attribute keeps its type', () => {
  expect(outcome({ addSearchAttributes: { Region: 3 } })).toMatch(/^invalid-argument: .*Region/);
});

test('bad fields are refused and named', () => {
  expect(outcome({ retentionMs: 1 })).toMatch(/^invalid-argument: Retention/);
  expect(outcome({ addSearchAttributes: { '1x': 2 } })).toMatch(/^invalid-argument: .*1x/);
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`A${i}`, 2]));
  expect(outcome({ addSearchAttributes: many })).toMatch(/maxSearchAttributes/);
  expect(outcome({ description: 'x' }, 'nowhere')).toMatch(/^not-found: /);
});
