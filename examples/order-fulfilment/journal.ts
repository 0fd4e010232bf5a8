/**
 * An append-only file of JSON lines, on disk before the caller goes on.
 *
 * Place: the ledger's record of calls and the client's record of acknowledgements. What stands here was promised to
 * somebody, and a checker holds the engine to it.
 *
 * Invariants
 *  1. `append` resolves only after its line and all lines before it were synced to the disk.
 *  2. Lines that arrive while a sync is in flight share the next one.
 *  3. At most MAX_WAITING lines wait; more are refused.
 */
import { open, type FileHandle } from 'node:fs/promises';

const MAX_WAITING = 20_000;

type Waiting = {
  readonly line: string;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
};

export class Journal {
  readonly #file: FileHandle;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Opens a journal for appending; what it holds already stays. */
  static async open(path: string): Promise<Journal> {
    return new Journal(await open(path, 'a'));
  }

  /** Appends one line; resolves once it is on disk. */
  append(entry: object): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(
        new Error(`the journal has ${MAX_WAITING} lines waiting: disk too slow`),
      );
    }
    const written = new Promise<void>((done, failed) => {
      this.#waiting.push({ line: `${JSON.stringify(entry)}\n`, done, failed });
    });
    this.#flushing ??= this.#flush().finally(() => (this.#flushing = undefined));
    return written;
  }

  /** Writes what is waiting and closes the file. */
  async close(): Promise<void> {
    await this.#flushing;
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#file.appendFile(batch.map((waiting) => waiting.line).join(''));
        await this.#file.datasync();
        for (const waiting of batch) waiting.done();
      } catch (error) {
        for (const waiting of batch) waiting.failed(error);
      }
    }
  }
}
