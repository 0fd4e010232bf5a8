import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CachedFleetMap } from '../../fleet/cached-map.ts';
import { twoCells } from '../../fleet/conformance/sample.ts';
import { MemoryFleetMap } from '../../fleet/memory/fleet-map.ts';
import { Rights } from '../../fleet/rights.ts';
import { systemClock } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import { silentLog } from '../../kernel/log.ts';
import { systemRng } from '../../kernel/rng.ts';
import { RpcServer } from '../../kernel/rpc/server.ts';
import type {
  CellControl,
  LaneStatus,
  LossEstimate,
  VerifyAsk,
  VerifyReport,
} from '../../replication/control/control.ts';
import type { LossReport } from '../../replication/losses/loss-report.ts';
import { Orchestrator } from '../moves/orchestrator.ts';
import { adminRpcHandler } from '../service/admin-service.ts';
import { addOperatorCommands } from './commands.ts';

const lane: LaneStatus = {
  kind: 'tail',
  pending: 0,
  lagMs: 20,
  copied: 0,
  total: 0,
  parked: 0,
  deadLetters: 0,
  acknowledgedMsAgo: 5,
  applied: [{ shard: 0, seq: 7 }],
};
let parked = 0;
let dead = false;
let heardMsAgo = 4_200;
let copy: LossEstimate['copy'];
let asked: VerifyAsk | undefined;
let different: VerifyReport['different'] = [];
/** Cells that keep losses, or do not answer for theirs. */
const losses = new Map<string, LossReport['executions'] | 'away'>();
const alive = <Value>(value: Value) =>
  dead ? Promise.reject(new AtollError('unavailable', 'no answer')) : Promise.resolve(value);

const control: CellControl = {
  gate: () => alive([{ shard: 0, seq: 7 }]),
  lane: () => alive({ ...lane, parked }),
  observe: () => alive(undefined),
  verify: (ask) => {
    asked = ask;
    const differences = different.length;
    return alive({ compared: 3, equal: 3, different, differences, moving: 0, repaired: 0 });
  },
  estimateLoss: () =>
    Promise.resolve([{ source: 'east', heardMsAgo, knownMissing: 17, lagMs: 800, copy }]),
  lossReport: () => Promise.reject(new AtollError('internal', 'asked of a cell by name')),
};

function controlOf(cell: string): CellControl {
  const lossReport = async ({ namespaceId }: { readonly namespaceId: string }) => {
    const executions = losses.get(cell) ?? [];
    if (executions === 'away') throw new AtollError('unavailable', 'no route');
    return { namespaceId, epoch: executions.length > 0 ? 2 : 0, executions, omitted: 0 };
  };
  return { ...control, lossReport };
}

/** What a router answers (router/methods.ts). */
const notServed = new AtollError(
  'unimplemented',
  'Atoll does not serve service atoll.admin.v1.AdminService.',
);

describe('the commands of an operator', () => {
  let address = '';
  let stop = async () => {};
  const tokens = { admin: 'a'.repeat(20), reader: 'r'.repeat(20) };

  beforeAll(async () => {
    const store = new MemoryFleetMap(twoCells());
    const map = await CachedFleetMap.open({ store, log: silentLog, clock: systemClock });
    const cells = { control: controlOf };
    const shared = { map, cells, clock: systemClock, log: silentLog, driverId: 'admin-1' };
    const orchestrator = new Orchestrator(shared);
    const rights = new Rights({
      callers: [
        {
          name: 'ops',
          tokenSha256: [await sha256(tokens.admin)],
          allow: { '*': ['read', 'admin'] },
        },
        { name: 'eye', tokenSha256: [await sha256(tokens.reader)], allow: { '*': ['read'] } },
      ],
    });
    const handle = adminRpcHandler({ ...shared, rng: systemRng, rights });
    const server = new RpcServer({ handle });
    const bound = await server.listen({ host: '127.0.0.1', port: 0 });
    address = `127.0.0.1:${bound.port}`;
    orchestrator.start();
    stop = async () => {
      await server.close({ graceMs: 100 });
      await orchestrator.close();
      await map.close();
    };
  });
  afterAll(() => stop());

  type Ran = { out: string; err: string; code: number };
  async function atoll(
    line: string,
    with_: { token?: string; answer?: string } = {},
  ): Promise<Ran> {
    const ran: Ran = { out: '', err: '', code: -1 };
    const { token = tokens.admin, answer } = with_;
    const program = new Command().exitOverride().configureOutput({ writeOut: () => {} });
    const ended = new Promise<void>((resolve) => {
      addOperatorCommands(program, {
        out: (text) => (ran.out += text),
        err: (text) => (ran.err += text),
        env: { ATOLL_ADDRESS: address, ATOLL_TOKEN: token },
        clock: systemClock,
        ask: answer === undefined ? undefined : () => Promise.resolve(answer),
        interrupted: new AbortController().signal,
        tls: async () => undefined,
        begin: () => (code) => {
          ran.code = code;
          resolve();
        },
      });
    });
    await program.parseAsync(line.split(' '), { from: 'user' });
    await ended;
    return ran;
  }

  it('create a namespace with a replica in another region, and show it', async () => {
    const made = await atoll('namespace create orders --region e --replica w --retention 7d');
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/replicas +east, west/) });
    const shown = await atoll('fleet show');
    expect(shown.out).toMatch(/orders +east +west +1 +active +7 d/);
    const listed = JSON.parse((await atoll('namespace list --json')).out) as { name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(['orders']);
  });

  it('give a namespace other replicas, and take them away', async () => {
    const alone = await atoll('namespace update orders --replicas east');
    expect(alone.out).toMatch(/replicas +east\n/);
    const again = await atoll('namespace update orders --replicas e,w --max-lag 10s --json');
    expect(JSON.parse(again.out)).toMatchObject({ replicas: ['east', 'west'], maxLagMs: 10_000 });
    expect((await atoll('namespace update orders --replicas moon')).err).toMatch(
      /named moon .* east \(e\), west \(w\)/,
    );
    expect(await atoll('namespace update orders')).toMatchObject({ code: 2 });
    expect(await atoll('namespace update orders --replicas a,,b')).toMatchObject({ code: 2 });
    const reader = { token: tokens.reader };
    const refused = await atoll('namespace update orders --replicas east', reader);
    expect(refused.err).toContain('may not admin');
  });

  it('plan, move, and switch back', async () => {
    const plan = await atoll('move plan orders --to west');
    expect(plan).toMatchObject({ code: 0, out: expect.stringContaining('about 27') });
    const moved = await atoll('move start orders --to west --wait');
    expect(moved).toMatchObject({ code: 0, out: expect.stringMatching(/active cell +west/) });
    expect(moved.out).toContain('atoll move confirm orders');
    expect((await atoll('move start orders --to east')).err).toContain('waits: confirm it');
    expect((await atoll('move abort orders')).err).toContain('atoll move back');
    const back = await atoll('move back orders --wait');
    expect(back).toMatchObject({ code: 0, out: expect.stringMatching(/active cell +east/) });
  });

  it.each([
    ['', { repair: false, stored: false }],
    [' --stored', { repair: false, stored: true }],
    [' --against west --repair', { repair: true, against: 'west' }],
  ])('compare a namespace with its replica: move verify orders%s', async (flags, ask) => {
    const verified = await atoll(`move verify orders${flags}`);
    expect(verified).toMatchObject({
      code: 0,
      out: expect.stringContaining('3 compared, 3 equal'),
    });
    expect(asked).toMatchObject(ask);
  });

  it('say of each difference what it is, and why it was not repaired', async () => {
    const run = { workflowId: 'w', runId: 'r', what: 'history' } as const;
    different = [run, { ...run, runId: 's', why: 'the image is too large' }];
    const { code, out } = await atoll('move verify orders --repair');
    different = [];
    expect(code).toBe(1);
    expect(out).toContain('  w r: history\n');
    expect(out).toContain('  w s: history (not repaired: the image is too large)\n');
  });

  it.each([
    ['move status lonely', 1, /never moved: start a move with atoll move start lonely/],
    ['move status lonely --move m9', 1, /no move m9: atoll namespace describe lonely/],
    ['move verify lonely', 1, /no replica .* atoll namespace update lonely --replicas/],
    ['move start lonely --to moon', 1, /no cell is named moon: atoll fleet show/],
    ['move plan lonely', 2, /--to CELL; atoll fleet show/],
    ['move verify lonely --against east', 1, /lonely is active in east already: give it a replica/],
    ['failover lonely --force', 1, /no replica to fail over to: bring cell \w+ back/],
    ['failover lonely --to east --force', 1, /lonely is active in east already/],
    ['failover lonely --to moon --force', 1, /Cell moon keeps no copy of namespace lonely/],
    ['namespace describe none', 1, /atoll namespace list/],
    ['namespace create x --region moon', 1, /named moon .* east \(e\), west \(w\)/],
  ])('refuse "%s" (exit code %i) and say what to do', async (line, code, why) => {
    await atoll('namespace create lonely --region e');
    expect(await atoll(line)).toMatchObject({ code, err: expect.stringMatching(why) });
  });

  it('speak of no lane to a cell that keeps no copy yet, nor of a copy to one that is not there', async () => {
    await atoll('namespace create lonely --region e');
    const plan = await atoll('move plan lonely --to west');
    expect(plan).toMatchObject({ code: 0, out: expect.stringMatching(/^first: west keeps no/m) });
    expect(plan.out).not.toMatch(/^lane/m);
    expect((await atoll('move plan lonely --to moon')).out).not.toContain('first:');
  });

  it('tell an address that is no admin port from one where nobody listens', async () => {
    const server = new RpcServer({ handle: () => Promise.reject(notServed) });
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    const shown = await atoll(`fleet show --address 127.0.0.1:${port}`);
    await server.close({ graceMs: 100 });
    expect(shown).toMatchObject({ code: 1, err: expect.stringMatching(/port: give --address/) });
  });

  it('say what blocks a move, with a code for scripts', async () => {
    parked = 2;
    const plan = await atoll('move plan orders --to west');
    parked = 0;
    expect(plan).toMatchObject({ code: 4, out: expect.stringContaining('BLOCKED (parked)') });
  });

  it('print what a failover may lose, and ask before anything is changed', async () => {
    const unasked = await atoll('failover orders');
    expect(unasked).toMatchObject({
      code: 2,
      err: expect.stringMatching(/17 transitions.*--force/s),
    });
    expect(unasked.err).not.toContain('a planned move loses nothing');
    heardMsAgo = 900;
    expect((await atoll('failover orders')).err).toContain('atoll move start orders --to west');
    heardMsAgo = 4_200;
    const no = await atoll('failover orders', { answer: 'n' });
    expect(no.code).toBe(1);
    expect(no.err).toMatch(/last heard 4.2 s ago.*17 transitions.*last 5.0 s may be lost/s);
    expect((await atoll('namespace describe orders')).out).toMatch(/active cell +east/);
    const yes = await atoll('failover orders', { answer: 'y' });
    expect(yes).toMatchObject({ code: 0, out: expect.stringContaining('failed-over') });
    expect((await atoll('failover orders --to east --force')).code).toBe(0);
    expect((await atoll('loss-report orders')).out).toContain('Nothing is reported lost');
    const report = JSON.parse((await atoll('loss-report orders --json')).out) as object;
    expect(report).toMatchObject({ executions: [], omitted: 0, unanswered: [] });
  });

  it('fail over to a replica that never had a whole copy only if told to', async () => {
    await atoll('namespace create half --region e --replica w');
    copy = { copied: 3, total: 9, seeded: false };
    const refused = await atoll('failover half --force');
    const asJson = await atoll('failover half --force --json');
    const active = (await atoll('namespace describe half --json')).out;
    const told = await atoll('failover half --force --incomplete');
    copy = undefined;
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/at least 17 .*3 of about 9.*Nothing was changed.*--incomplete/s);
    const [line = ''] = asJson.err.split('\n');
    const [estimate] = (JSON.parse(line) as { readonly estimates: readonly object[] }).estimates;
    expect(estimate).toMatchObject({ copying: true, unseeded: true, copied: 3, total: 9 });
    expect(JSON.parse(active)).toMatchObject({ active: 'east' });
    expect(told).toMatchObject({ code: 0, out: expect.stringContaining('failed-over') });
  });

  it('report what a failover cost from the cell that keeps it, and name who does not answer', async () => {
    await atoll('namespace create kept --region e --replica w');
    const transitions = { from: 3, to: 4, epoch: 1 };
    const names = { rolledBack: ['TimerFired'], reapplied: [], mayHaveRunTwice: [] };
    const one = { workflowId: 'order-1', runId: 'r', outcome: 'rolled-back', transitions } as const;
    losses.set('west', [{ ...one, ...names }]).set('east', 'away');
    const text = await atoll('loss-report kept');
    const json = JSON.parse((await atoll('loss-report kept --json')).out) as object;
    losses.set('west', 'away');
    const none = await atoll('loss-report kept');
    losses.clear();
    expect(text).toMatchObject({
      code: 0,
      out: expect.stringMatching(/epoch 2 won.*order-1.*TimerFired.*east did not answer/s),
    });
    expect(json).toMatchObject({
      executions: [{ workflowId: 'order-1', cell: 'west' }],
      unanswered: [{ cell: 'east', why: 'no route' }],
    });
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('No cell') });
  });

  it('refuse what the caller has no right to, and wrong flags', async () => {
    const reader = { token: tokens.reader };
    expect((await atoll('fleet show', reader)).code).toBe(0);
    expect((await atoll('move confirm orders', reader)).err).toContain('may not admin');
    expect((await atoll('fleet show', { token: 'unknown' })).err).toContain('ATOLL_TOKEN');
    expect(await atoll('namespace create x --retention 3weeks')).toMatchObject({ code: 2 });
    expect((await atoll('namespace create x --mode fenced')).err).toContain('etcd');
  });

  it('call a dead cell dead', async () => {
    dead = true;
    const plan = await atoll('move plan orders --to west');
    dead = false;
    expect(plan).toMatchObject({ code: 4, out: expect.stringContaining('unreachable') });
    expect(plan.out).not.toContain('first:');
  });
});

async function sha256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Buffer.from(hash).toString('hex');
}
