/**
 * The fleet map in a directory of one machine: a file per revision, `000000000012.json`; the largest one counts.
 *
 * Place: the adapter behind FleetMapStore for `atoll dev` and for routers and cells on one machine. Several processes
 * share the directory.
 *
 * Invariants
 *  1. Revision N+1 is made by link(2) to a name that must not exist: exactly one racer makes it, and nobody needs a
 *     lock that a dead process could keep. Deleting old revisions never reopens a race: the last 64 stay, and a
 *     racer further behind than that takes its file back and loses.
 *  2. File and directory are fsynced before `set` is answered. From link(2) on the revision is there for everybody: what fails
 *     behind it is tried again, and is no answer to whether it was made.
 *  3. A revision that cannot be read stops every change with `data-loss`, naming the file; nothing is overwritten.
 */
import { watch as watchDirectory, type FSWatcher } from 'node:fs';
import { mkdir, readFile, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep, type Clock } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { retry, type BackOff } from '../../kernel/retry.ts';
import type { Rng } from '../../kernel/rng.ts';
import { decodeFleetMap, encodeFleetMap } from '../codec.ts';
import type { FleetMapStore, SetOutcome, Unsubscribe } from '../fleet-map.ts';
import { EMPTY_FLEET_MAP, type FleetMap } from '../map.ts';
import { assertSuccessor } from '../successor.ts';
import { claimFile, hasCode, syncDirectory } from './durable-file.ts';

const KEPT_REVISIONS = 64;
/** A reader that is overtaken by the deletion of 64 revisions this often reads from a directory that is being flooded. */
const MAX_READ_ATTEMPTS = 8;
/** Behind the file system's own notices, which some mounts never send. */
const POLL_MS = 2_000;
/** After a notice: a change makes several, and one look is enough. */
const SETTLE_MS = 5;

/** Of what follows link(2), whose failure may pass. */
const SETTLE: BackOff = { name: 'fleet-map-settle', initialMs: 10, maxMs: 200, maxAttempts: 5 };

const REVISION_FILE = /^(\d{12})\.json$/;
const TEMPORARY_FILE = /^\.next-(\d{12})-/;

export type FileFleetMapParts = { readonly clock: Clock; readonly rng: Rng; readonly log: Log };

export class FileFleetMap implements FleetMapStore {
  readonly #directory: string;
  readonly #parts: FileFleetMapParts;

  private constructor(directory: string, parts: FileFleetMapParts) {
    this.#directory = directory;
    this.#parts = parts;
  }

  /**
   * Makes the directory if need be.
   * @throws AtollError `failed-precondition` if it cannot be made or used
   */
  static async open(directory: string, parts: FileFleetMapParts): Promise<FileFleetMap> {
    try {
      await mkdir(directory, { recursive: true });
      await readdir(directory);
    } catch (cause) {
      throw new AtollError(
        'failed-precondition',
        `The fleet map's directory ${directory} cannot be used (${messageOf(cause)}): give this user read and write access to it, or choose another.`,
        { cause },
      );
    }
    return new FileFleetMap(directory, parts);
  }

  async read(signal: AbortSignal): Promise<FleetMap> {
    for (let attempt = 0; attempt < MAX_READ_ATTEMPTS; attempt++) {
      signal.throwIfAborted();
      const newest = newestRevision(await this.#list());
      if (newest === 0) return EMPTY_FLEET_MAP;
      const map = await this.#load(newest);
      if (map !== undefined) return map;
    }
    throw new AtollError(
      'unavailable',
      `The fleet map in ${this.#directory} changes faster than it can be read.`,
    );
  }

  async compareAndSet(
    expectedRevision: number,
    next: FleetMap,
    signal: AbortSignal,
  ): Promise<SetOutcome> {
    const current = await this.read(signal);
    if (current.revision !== expectedRevision) return { kind: 'conflict', current };
    assertSuccessor(current, next);
    const temporary = join(
      this.#directory,
      `.next-${digits(next.revision)}-${this.#parts.rng.uuid()}`,
    );
    const path = this.#path(next.revision);
    const isMade = await claimFile(path, temporary, encodeFleetMap(next)).catch(
      (error: unknown) => {
        throw this.#away(error);
      },
    );
    if (!isMade) return { kind: 'conflict', current: await this.read(signal) };
    const newest = await this.#settle(next.revision, signal);
    if (newest - next.revision >= KEPT_REVISIONS) {
      await unlink(path).catch(() => {}); // invariant 1: our revision may have been decided, and deleted, long ago
      return { kind: 'conflict', current: await this.read(signal) };
    }
    await this.#deleteOld(newest).catch((error: unknown) => {
      const fields = { error: messageOf(error) };
      this.#parts.log.warn(fields, 'Old revisions of the fleet map cannot be removed.');
    });
    return { kind: 'set' };
  }

  /** Makes a revision that is there durable, and gives the newest one. */
  async #settle(revision: number, signal: AbortSignal): Promise<number> {
    let last: unknown;
    try {
      return await retry(SETTLE, { ...this.#parts, signal }, async () => {
        try {
          await syncDirectory(this.#directory);
          return { kind: 'done', value: newestRevision(await this.#list()) };
        } catch (error) {
          last = error;
          return { kind: 'retry', error };
        }
      });
    } catch (cause) {
      throw new AtollError(
        'unavailable',
        `Revision ${revision} of the fleet map in ${this.#directory} was made, but it is not known whether it will outlive a crash (${messageOf(last ?? cause)}): look at the map before anything is tried again.`,
        { cause },
      );
    }
  }

  watch(listener: (map: FleetMap) => void): Unsubscribe {
    const watching = new AbortController();
    void this.#follow(listener, watching.signal);
    return () => watching.abort();
  }

  /**
   * Looks after every notice and at least every POLL_MS; a directory that is away, or a map that cannot be read, is looked at
   * again. What is there at first is shown as well: nobody knows whether it came before or after the listener's own read.
   */
  async #follow(listener: (map: FleetMap) => void, stopped: AbortSignal): Promise<void> {
    const bell = new Bell(this.#directory, stopped);
    let seen: number | undefined;
    let unread: number | undefined;
    while (!stopped.aborted) {
      await bell.wait(this.#parts.clock);
      const newest = stopped.aborted ? undefined : await this.#revisionOrUndefined();
      if (newest === undefined || newest === seen) continue;
      try {
        const map = await this.read(stopped);
        seen = map.revision;
        if (!stopped.aborted) listener(map);
      } catch (error) {
        if (stopped.aborted) return;
        if (unread === newest) continue; // said once, not at every poll
        unread = newest;
        this.#parts.log.error({ error: messageOf(error) }, 'The fleet map cannot be read.');
      }
    }
  }

  async #revisionOrUndefined(): Promise<number | undefined> {
    try {
      return newestRevision(await this.#list());
    } catch {
      return undefined;
    }
  }

  async #list(): Promise<readonly string[]> {
    try {
      return await readdir(this.#directory);
    } catch (error) {
      throw this.#away(error);
    }
  }

  /** The map of that revision, or undefined if it has been deleted meanwhile. */
  async #load(revision: number): Promise<FleetMap | undefined> {
    const path = this.#path(revision);
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw this.#away(error);
    }
    const decoded = decodeFleetMap(text);
    const why = decoded.kind === 'corrupt' ? decoded.why : wrongRevision(decoded.map, revision);
    if (decoded.kind === 'map' && why === undefined) return decoded.map;
    throw new AtollError(
      'data-loss',
      `${path} is not a fleet map: ${why}. Nothing was changed. Restore the file from a backup, or move it away to go back to the revision before it.`,
    );
  }

  async #deleteOld(newest: number): Promise<void> {
    const oldest = newest - KEPT_REVISIONS;
    for (const name of await this.#list()) {
      const revision = Number(
        (REVISION_FILE.exec(name) ?? TEMPORARY_FILE.exec(name))?.[1] ?? Infinity,
      );
      if (revision <= oldest) await unlink(join(this.#directory, name)).catch(() => {}); // another process was faster
    }
  }

  #path(revision: number): string {
    return join(this.#directory, `${digits(revision)}.json`);
  }

  #away(cause: unknown): unknown {
    if (cause instanceof AtollError || !(cause instanceof Error && 'code' in cause)) return cause;
    return new AtollError(
      'unavailable',
      `The fleet map in ${this.#directory} cannot be reached (${cause.message}): check that the directory exists, is writable and has room.`,
      { cause },
    );
  }
}

/** Rings when the directory changes, and every POLL_MS. Holds at most one ring that nobody has waited for. */
class Bell {
  readonly #stopped: AbortSignal;
  #rung = false;
  #wake: () => void = () => {};

  constructor(directory: string, stopped: AbortSignal) {
    this.#stopped = stopped;
    const watcher = openWatcher(directory, () => this.#ring());
    stopped.addEventListener('abort', () => {
      watcher?.close();
      this.#ring();
    });
  }

  async wait(clock: Clock): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(POLL_MS, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      if (this.#rung && !this.#stopped.aborted) await sleep(clock, SETTLE_MS);
    }
    this.#rung = false;
  }

  #ring(): void {
    this.#rung = true;
    this.#wake();
  }
}

/** The file system's own notices, if it gives any: the poll goes on without them. */
function openWatcher(directory: string, notice: () => void): FSWatcher | undefined {
  try {
    const watcher = watchDirectory(directory, { persistent: false }, notice);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

function newestRevision(names: readonly string[]): number {
  let newest = 0;
  for (const name of names) newest = Math.max(newest, Number(REVISION_FILE.exec(name)?.[1] ?? 0));
  return newest;
}

function wrongRevision(map: FleetMap, revision: number): string | undefined {
  return map.revision === revision ? undefined : `it holds revision ${map.revision}`;
}

function digits(revision: number): string {
  return String(revision).padStart(12, '0');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
