/**
 * Makes a namespace with a replica, and moves it to the other cell while it is in use: with the `atoll` command, as an
 * operator would.
 *
 * Place: the demo calls it before its orders and halfway through them.
 */
import { execFile } from 'node:child_process';

const LONGEST_MS = 300_000;

export type Operator = {
  /** The `atoll` command, such as `npx atoll`. */
  readonly atoll: string;
  /** `host:port` of the admin port. */
  readonly admin: string;
  readonly signal: AbortSignal;
};

export type Moved = {
  readonly from: string;
  readonly to: string;
  /** How long calls were held, ms. */
  readonly pauseMs: number;
  /** The whole move, from the command to its end, ms. */
  readonly tookMs: number;
};

/** Registers a namespace that is active in one cell and replicated to the other. */
export async function createReplicated(
  operator: Operator,
  { namespace, active, replica }: { namespace: string; active: string; replica: string },
): Promise<void> {
  await run(operator, ['namespace', 'create', namespace, '--region', active, '--replica', replica]);
}

/** Resolves once the namespace is active there. Rejects with what the command said if it is not. */
export async function moveNamespace(
  operator: Operator,
  { namespace, to }: { namespace: string; to: string },
): Promise<Moved> {
  const began = performance.now();
  const move = ['move', 'start', namespace, '--to', to, '--confirm', '--wait', '--json'];
  const output = await run(operator, move);
  const { from = '', pauseMs = 0, outcome = '' } = moveIn(output);
  if (outcome !== 'confirmed') throw new Error(`the move ended ${outcome}: ${output}`);
  return { from, to, pauseMs, tookMs: performance.now() - began };
}

function run({ atoll, admin, signal }: Operator, command: readonly string[]): Promise<string> {
  const [file = '', ...parts] = atoll.split(' ');
  const args = [...parts, ...command, '--address', admin];
  return new Promise((resolve, reject) => {
    execFile(file, args, { signal, timeout: LONGEST_MS }, (error, stdout, stderr) => {
      if (error) reject(new Error(`atoll ${command.join(' ')}: ${stderr || stdout}`));
      else resolve(stdout);
    });
  });
}

type MoveFields = { readonly from?: string; readonly pauseMs?: number; readonly outcome?: string };

function moveIn(output: string): MoveFields {
  const { move = {} } = JSON.parse(output) as { move?: MoveFields };
  return move;
}
