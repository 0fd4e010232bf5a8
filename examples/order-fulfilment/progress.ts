/** Shows how far the orders are: a line that is rewritten on a terminal, a line every few seconds elsewhere. */
import { setInterval } from 'node:timers/promises';
import type { Progress } from './drive.ts';

const TERMINAL_MS = 200;
const PIPE_MS = 3_000;

/** Shows progress until the signal aborts. */
export async function showProgress(
  progress: Progress,
  out: NodeJS.WriteStream,
  signal: AbortSignal,
): Promise<void> {
  const began = performance.now();
  const line = () => progressLine(progress, (performance.now() - began) / 1_000);
  try {
    for await (const _ of setInterval(out.isTTY ? TERMINAL_MS : PIPE_MS, undefined, { signal })) {
      out.write(out.isTTY ? `\r\x1b[K${line()}` : `${line()}\n`);
    }
  } catch {
    // Aborted: the last state is shown below.
  }
  out.write(out.isTTY ? `\r\x1b[K${line()}\n` : `${line()}\n`);
}

/** One line of progress. */
export function progressLine(progress: Progress, seconds: number): string {
  const { started, announced, ended, total } = progress;
  return `${seconds.toFixed(0).padStart(4)} s  orders ${started}/${total}  parcels ${announced}  ended ${ended}`;
}
