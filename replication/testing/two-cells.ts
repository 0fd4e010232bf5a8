/** Cells a and b with lanes both ways, on virtual time: shards in memory, the receivers joined directly. */
import { expect } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import { silentLog } from '../../kernel/log.ts';
import { MemoryMetrics } from '../../kernel/metrics.ts';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { VirtualClock } from '../../kernel/testing/virtual-clock.ts';
import { replicationConfig, type ReplicationConfig } from '../config.ts';
import type { LaneStatus } from '../control/control.ts';
import { LaneSender } from '../lanes/lane-sender.ts';
import { MemoryDeadLetters } from '../memory/dead-letters.ts';
import { Receiver } from '../receiver/receiver.ts';
import { SourceReports } from '../receiver/source-reports.ts';
import { FakeReplicas } from './fake-replicas.ts';
import { ReceiverPeer } from './receiver-peer.ts';
import { namespaceOf, StubMap } from './stub-map.ts';

export const NS = 'ns-1';

export type CellOfTest = {
  readonly replicas: FakeReplicas;
  readonly letters: MemoryDeadLetters;
  readonly metrics: MemoryMetrics;
  readonly reports: SourceReports;
  readonly receiver: Receiver;
  sender: LaneSender;
  /** What leaves this cell. */
  readonly out: ReceiverPeer;
};

export class TwoCells {
  readonly clock = new VirtualClock();
  readonly map: StubMap;
  readonly a: CellOfTest;
  readonly b: CellOfTest;
  readonly #config: ReplicationConfig;
  readonly #rng: SeededRng;

  constructor(
    options: {
      readonly config?: Partial<ReplicationConfig>;
      readonly namespaces?: readonly string[];
      readonly seed?: number;
    } = {},
  ) {
    this.map = new StubMap((options.namespaces ?? [NS]).map((id) => namespaceOf(id)));
    this.#config = replicationConfig(options.config);
    this.#rng = new SeededRng(options.seed ?? 1);
    this.a = this.#make('a', { shards: 4, other: () => this.b });
    this.b = this.#make('b', { shards: 3, other: () => this.a });
    for (const cell of [this.a, this.b]) this.#start(cell);
  }

  /** Until nothing is pending in either direction, at most so long. */
  async settle(maxMs = 120_000): Promise<void> {
    const endMs = this.clock.monotonicMs() + maxMs;
    do await this.clock.advanceSettled(20);
    while (!this.#isQuiet() && this.clock.monotonicMs() < endMs);
  }

  status(namespaceId: string = NS): LaneStatus {
    return this.a.sender.status({ namespaceId, target: 'b' });
  }

  /** From here on `b` takes nothing. */
  breakTarget(): void {
    this.b.replicas.failure = () => new AtollError('unavailable', 'shards are away');
  }

  healTarget(): void {
    this.b.replicas.failure = undefined;
  }

  expectSame(): void {
    expect(this.b.replicas.dump()).toEqual(this.a.replicas.dump());
  }

  /** The cell's process ends and another one takes its shards over. */
  async restart(name: 'a' | 'b'): Promise<void> {
    const cell = this[name];
    await cell.sender.close();
    cell.sender = this.#sender(name, cell);
    this.#start(cell);
  }

  async close(): Promise<void> {
    await this.a.sender.close();
    await this.b.sender.close();
  }

  #isQuiet(): boolean {
    const targets = [
      [this.a.sender, 'b'],
      [this.b.sender, 'a'],
    ] as const;
    return Object.keys(this.map.map.namespaces).every((namespaceId) =>
      targets.every(([sender, target]) => {
        const { kind, pending } = sender.status({ namespaceId, target });
        return kind === 'tail' && pending === 0;
      }),
    );
  }

  #make(
    name: 'a' | 'b',
    options: { readonly shards: number; readonly other: () => CellOfTest },
  ): CellOfTest {
    const replicas = new FakeReplicas(options.shards, () => this.clock.now());
    const reports = new SourceReports(this.clock);
    const receiver = new Receiver({ cellId: name, map: this.map, replicas, reports });
    const parts = {
      replicas,
      reports,
      receiver,
      letters: new MemoryDeadLetters(),
      metrics: new MemoryMetrics(),
      out: new ReceiverPeer(name, () => options.other().receiver, this.clock),
    };
    return { ...parts, sender: this.#sender(name, parts) };
  }

  #sender(name: 'a' | 'b', cell: Omit<CellOfTest, 'sender'>): LaneSender {
    return new LaneSender({
      cellId: name,
      map: this.map,
      peerOf: () => cell.out,
      deadLetters: cell.letters,
      clock: this.clock,
      rng: this.#rng.fork(name),
      log: silentLog,
      metrics: cell.metrics,
      config: this.#config,
    });
  }

  #start(cell: CellOfTest): void {
    cell.sender.start(cell.replicas);
    cell.replicas.open(cell.sender);
  }
}

export function runRef(n: number | string, namespaceId: string = NS) {
  return { namespaceId, workflowId: `w-${n}`, runId: `run-${n}` };
}
