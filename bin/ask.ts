/** Asks a person on a terminal. */
import { createInterface } from 'node:readline/promises';

export type Terminal = {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
};

/** The answer; Ctrl-C, Ctrl-D or a terminal that goes away is the empty one. */
export async function ask(
  question: string,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<string> {
  const lines = createInterface({ input, output, terminal: true });
  const gone = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    return await Promise.race([lines.question(question), gone]);
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return '';
    throw error;
  } finally {
    lines.close();
  }
}
