import { expect, test } from 'vitest';
import { UNREADABLE, UNSTORED, type RunDigest } from '../../cell/shard/replicas/replicas.ts';
import { compareDigests } from './digest-verdict.ts';

const ref = { namespaceId: 'ns', workflowId: 'w', runId: 'r' };
/** `transition@epoch history state execution`; empty: no such run. */
function digest(text: string): RunDigest | undefined {
  if (text === '') return undefined;
  const [at = '', history = '', state = '', execution = ''] = text.split(' ');
  const [transition = 0, epoch = 0] = at.split('@').map(Number);
  return { ...ref, transition, epoch, history, state, execution };
}

const U = UNREADABLE;
const L = UNSTORED;

test.each([
  ['', '', 'gone'],
  ['', '1@1 h s e', 'extra'],
  ['', `0@0 ${U} ${U} ${U}`, 'extra'],
  ['1@1 h s e', '', 'missing'],
  ['1@1 h s e', '1@1 h s e', 'equal'],
  ['1@1 h s e', '1@1 x s e', 'history'],
  ['1@1 h s e', '1@1 h x e', 'state'],
  ['1@1 h s e', '1@1 h s x', 'execution'],
  ['2@1 h s e', '1@1 h s e', 'moving'],
  ['1@2 h s e', '1@1 h s e', 'moving'],
  ['1@1 h s e', `0@0 ${U} ${U} ${U}`, 'unreadable'],
  [`1@1 ${U} s e`, `1@1 ${U} s e`, 'unreadable'],
  [`1@1 h s ${U}`, '1@1 h s e', 'unreadable'],
  [`1@1 ${L} ${L} ${L}`, '1@1 h s e', 'unstored'],
  [`1@1 ${L} ${L} ${L}`, '', 'unstored'],
  [`1@1 ${L} ${L} ${L}`, `1@1 ${L} ${L} ${L}`, 'unstored'],
  ['1@1 h s e', `1@1 ${L} ${L} ${L}`, 'missing'],
  ['', `1@1 ${L} ${L} ${L}`, 'extra'],
])('%s beside %s is %s', (mine, theirs, verdict) => {
  expect(compareDigests(digest(mine), digest(theirs), { stands: false })).toBe(verdict);
});

test.each([
  ['2@1 h s e', '1@1 h s e', 'state'],
  ['2@1 h s e', '1@1 x s e', 'history'],
])('%s beside %s, both standing still, is %s', (mine, theirs, verdict) => {
  expect(compareDigests(digest(mine), digest(theirs), { stands: true })).toBe(verdict);
});
