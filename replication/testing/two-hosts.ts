/**
 * A namespace with runs of every shape on two hosts of shards, `a` active and `b` its replica, on one virtual clock: what
 * `a` decided is shipped by hand, and `b` is asked and mended through its receiver.
 */
import { setMaxListeners } from 'node:events';
import { calling, NS, ShardLab, wf, type Host } from '../../cell/shard/testing/shard-lab.ts';
import { activity, COMPLETE, startTimer } from '../../cell/history/testing/inputs.ts';
import type { StartInput } from '../../cell/history/input.ts';
import type { WorkflowTaskStartedReply } from '../../cell/history/decision.ts';
import type { RunRef } from '../../cell/shard/engine.ts';
import type { PlacementView } from '../../cell/shard/mark.ts';
import type { Replicas } from '../../cell/shard/replicas/replicas.ts';
import type { StartedTask } from '../../cell/shard/engine.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import { settlePromises, VirtualClock } from '../../kernel/testing/virtual-clock.ts';
import type { Command } from '../../wire/events.ts';
import { replicationConfig } from '../config.ts';
import type { VerifyReport } from '../control/control.ts';
import { DigestComparer } from '../digests/digest-compare.ts';
import { Receiver } from '../receiver/receiver.ts';
import { SourceReports } from '../receiver/source-reports.ts';
import { ReceiverPeer } from './receiver-peer.ts';
import { namespaceOf, StubMap } from './stub-map.ts';

const forever = new AbortController().signal;
// Digests are read side by side, each with its listeners.
setMaxListeners(0, forever);
const SHARD = 0 as ShardId;
const payloads = (text: string) => ({ payloads: [{ metadata: {}, data: Buffer.from(text) }] });

export class TwoHosts {
  readonly clock: VirtualClock;
  readonly a: Host;
  readonly b: Host;
  readonly #labs: { readonly a: ShardLab; readonly b: ShardLab };
  readonly #replicas: { readonly a: Replicas; readonly b: Replicas };
  readonly #peer: ReceiverPeer;
  #shipped = 0;

  private constructor(a: Host, b: Host, labs: { readonly a: ShardLab; readonly b: ShardLab }) {
    this.clock = labs.a.clock;
    this.a = a;
    this.b = b;
    this.#labs = labs;
    this.#replicas = { a: a.shards.replicas(), b: b.shards.replicas() };
    const receiver = new Receiver({
      cellId: 'b',
      map: new StubMap([namespaceOf(NS)]),
      replicas: this.#replicas.b,
      reports: new SourceReports(this.clock),
    });
    this.#peer = new ReceiverPeer('a', () => receiver, this.clock);
    this.place('a', 1);
  }

  static async open(): Promise<TwoHosts> {
    const clock = new VirtualClock();
    const [labA, labB] = [new ShardLab({}, clock), new ShardLab({}, clock)];
    const a = await labA.host();
    // Ids are drawn by the time of a host's start.
    clock.advance(1);
    return new TwoHosts(a, await labB.host(), { a: labA, b: labB });
  }

  /** What `b` has stored. */
  get stored(): ShardLab['tables'] {
    return this.storedAt('b');
  }

  storedAt(id: 'a' | 'b'): ShardLab['tables'] {
    return this.#labs[id].tables;
  }

  /** The map says so; nobody is told yet. */
  place(active: 'a' | 'b', epoch: number): void {
    const view = (id: 'a' | 'b'): PlacementView => ({
      ...{ active: active === id, replica: true, handover: false, epoch, revision: epoch },
      owner: active,
    });
    this.a.placement = view('a');
    this.b.placement = view('b');
  }

  /** Brings `b` everything that `a` has decided, and lets both store it. */
  async ship(): Promise<void> {
    const steps = this.a.fed.slice(this.#shipped).flatMap((row) => row.steps);
    this.#shipped = this.a.fed.length;
    for (const { kind } of await this.#replicas.b.apply(steps, forever)) {
      if (kind !== 'applied' && kind !== 'known') throw new Error(`a step was ${kind}`);
    }
    await this.a.settle();
    await this.b.settle();
  }

  async runs(): Promise<readonly RunRef[]> {
    const ask = { shard: SHARD, namespaceId: NS, afterSeq: 0 as Seq };
    return (await this.#replicas.a.runsOf(ask, { limit: 1_000 }, forever)).runs;
  }

  /** Holds `b` against `a`, all that is stored; `meanwhile` is called as time passes. */
  async compare(
    repair: boolean,
    meanwhile: () => Promise<void> = async () => {},
  ): Promise<VerifyReport> {
    const parts = { replicas: this.#replicas.a, peer: this.#peer, clock: this.clock };
    const ask = { namespaceId: NS, repair, recompute: true };
    const config = replicationConfig({ compareLooks: 4 });
    const compared = new DigestComparer(ask, { ...parts, config }).run(forever);
    let isOver = false;
    const over = () => (isOver = true);
    compared.then(over, over);
    for (;;) {
      await this.clock.advanceSettled(25);
      if (isOver) return compared;
      await meanwhile();
    }
  }

  /** `b` acts from here on. */
  async failOver(epoch: number): Promise<void> {
    this.place('b', epoch);
    await this.#replicas.b.observe(NS, forever);
    await this.a.shards.replicas().observe(NS, forever);
    await settlePromises();
  }
}

/** Runs of every shape, eight workflow ids a round. */
export async function populate({ a }: TwoHosts, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const [shape, make] of Object.entries(SHAPES)) await make(a, `${shape}-${round}`);
  }
}

const SHAPES: Readonly<Record<string, (host: Host, id: string) => Promise<void>>> = {
  async timer(host, id) {
    await start(host, id);
    await work(host, id, [startTimer('t', 86_400), startTimer('u', 90_000)]);
  },
  async heartbeat(host, id) {
    await start(host, id);
    await work(host, id, [activity('act', { startToCloseTimeout: { seconds: 86_400, nanos: 0 } })]);
    await host.startTask(await host.poll({ ...queueOf('orders'), kind: 'activity' }));
    const claim = { scheduledEventId: 0, activityId: 'act', attempt: 1 };
    const details = payloads(`at ${id}`);
    await host.ask(id, { kind: 'heartbeat-activity', claim, details, identity: 'worker' });
  },
  async buffered(host, id) {
    await start(host, id, { taskTimeoutMs: 86_400_000 });
    await begin(host, id);
    await host.signal(id, `b-${id}`);
  },
  async described(host, id) {
    const memo = { fields: { note: { metadata: {}, data: Buffer.from(id) } } };
    await start(host, id, { memo, searchAttributes: { indexedFields: memo.fields } });
    await host.signal(id, `d-${id}`);
  },
  async again(host, id) {
    await start(host, id);
    await work(host, id, [COMPLETE]);
    await start(host, id, { requestId: `again-${id}` });
  },
  async signaled(host, id) {
    await start(host, id);
    for (const n of [1, 2, 3]) await host.signal(id, `s${n}-${id}`);
    await host.ask(id, { kind: 'request-cancel', requestId: `c-${id}`, reason: '', identity: 'x' });
  },
  async ended(host, id) {
    await start(host, id);
    await host.signal(id, `e-${id}`);
    await host.ask(id, { kind: 'terminate', reason: 'over', identity: 'client' });
  },
  async busy(host, id) {
    await start(host, id);
    await work(host, id, [startTimer('t', 86_400), activity('act', { taskQueue: { name: id } })]);
    await host.signal(id, `y-${id}`);
  },
};

async function start(host: Host, id: string, changed: Partial<StartInput> = {}): Promise<void> {
  await host.start(id, { taskQueue: id, ...changed });
}

function queueOf(name: string) {
  return { namespaceId: NS, kind: 'workflow', name } as const;
}

/** Its waiting workflow task, started. */
async function begin(host: Host, id: string): Promise<WorkflowTaskStartedReply> {
  const started: StartedTask = await host.startTask(await host.poll(queueOf(id)), `poll-${id}`);
  if (started.kind !== 'started') throw new Error(`the task of ${id} was ${started.kind}`);
  return started.reply as WorkflowTaskStartedReply;
}

async function work(host: Host, id: string, commands: readonly Command[]): Promise<void> {
  await host.complete(id, await begin(host, id), commands);
}

/** Drives an open run to its end where it is: it takes a signal, its task, and the task's completion. */
export async function finish(host: Host, id: string): Promise<void> {
  await host.signal(id, `last-${id}`);
  await settlePromises();
  await work(host, id, [COMPLETE]);
  const { state } = await host.shards.read(wf(id), calling());
  if (state.closedAt === undefined) throw new Error(`${id} did not end`);
}
