/**
 * The engine under test: `atoll router` and `atoll cell`, each a process of its own, by the built command.
 *
 * Place: a scenario gets one of its own, on a fresh database, so that no scenario inherits the load of another.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Channel } from '../load/channel.ts';
import { pathOf, requestOf } from '../load/requests.ts';
import { sleep } from '../load/time.ts';
import { toDuration } from '../../wire/time.ts';
import { portOr } from './free-port.ts';
import { Leashed } from './leashed.ts';
import { Replica } from './replica.ts';

const READY_MS = 30_000;
const STOP_MS = 10_000;
const REGISTER_MS = 10_000;
const RETRY_MS = 100;
const DAY_MS = 86_400_000;

export const NAMESPACE = 'default';
const CELL = 'bench';

export type EngineOptions = {
  /** The built command. */
  readonly cli: string;
  /** Folder of the fleet map and of what the processes say. */
  readonly folder: string;
  readonly databaseUrl: string;
  /** The router's port, the next one is the cell's; 0 takes free ones. */
  readonly port: number;
};

export class Engine {
  readonly address: string;
  readonly cellAddress: string;
  readonly #options: EngineOptions;
  readonly #ports: { readonly router: number; readonly cell: number };
  #router: Leashed | undefined;
  #cell: Leashed | undefined;
  #replica: Replica | undefined;

  private constructor(options: EngineOptions, ports: { router: number; cell: number }) {
    this.#options = options;
    this.#ports = ports;
    this.address = `127.0.0.1:${ports.router}`;
    this.cellAddress = `127.0.0.1:${ports.cell}`;
  }

  /** Starts both and registers the namespace; resolves when calls are answered. */
  static async start(options: EngineOptions): Promise<Engine> {
    mkdirSync(options.folder, { recursive: true });
    const router = await portOr(options.port);
    const cell = options.port === 0 ? await portOr(0) : options.port + 1;
    const engine = new Engine(options, { router, cell });
    await engine.startCell();
    engine.#router = engine.#launch('router', engine.#ports.router, []);
    await engine.#router.saying(isReady, READY_MS);
    await registerNamespace(engine.address);
    return engine;
  }

  get routerPid(): number {
    return this.#router?.pid ?? -1;
  }

  get cellPid(): number {
    return this.#cell?.pid ?? -1;
  }

  /** Starts the cell, the first time or again; resolves when it is ready. */
  async startCell(): Promise<void> {
    const { databaseUrl } = this.#options;
    const args = ['--cell-id', CELL, '--postgres-url', databaseUrl];
    this.#cell = this.#launch('cell', this.#ports.cell, args);
    await this.#cell.saying(isReady, READY_MS);
  }

  async killCell(): Promise<void> {
    await this.#cell?.kill();
  }

  /** A second cell that keeps a copy of a namespace; started when it is asked for first. */
  async replica(): Promise<Replica> {
    const { cli, folder } = this.#options;
    this.#replica ??= await Replica.start({ cli, folder, fleet: this.#fleet, active: CELL });
    return this.#replica;
  }

  async stop(): Promise<void> {
    await this.#replica?.stop();
    await this.#router?.stop();
    await this.#cell?.stop();
  }

  get #fleet(): string {
    return join(this.#options.folder, 'fleet');
  }

  #launch(role: 'router' | 'cell', port: number, args: readonly string[]): Leashed {
    const { cli, folder } = this.#options;
    const common = ['--port', String(port), '--fleet', this.#fleet, '--log-format', 'json'];
    return new Leashed({
      name: `atoll ${role}`,
      command: [process.execPath, cli, role, ...common, ...args],
      logFile: join(folder, `${role}.log`),
      stopSignal: 'TERM',
      stopWithinMs: STOP_MS,
    });
  }
}

function isReady(output: string): true | undefined {
  return output.includes('"msg":"ready"') || undefined;
}

/** Asks until the router knows the cell. */
async function registerNamespace(address: string): Promise<void> {
  const channel = new Channel(address, { sessions: 1 });
  const request = requestOf('RegisterNamespace', {
    namespace: NAMESPACE,
    workflowExecutionRetentionPeriod: toDuration(DAY_MS),
  });
  const until = performance.now() + REGISTER_MS;
  try {
    for (;;) {
      try {
        await channel.call(pathOf('RegisterNamespace'), request, REGISTER_MS);
        return;
      } catch (error) {
        if (performance.now() > until) throw error;
        await sleep(RETRY_MS);
      }
    }
  } finally {
    channel.close();
  }
}
