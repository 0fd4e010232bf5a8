/** One run of the driver: connect, drive, reconcile, say so. Place: under `driver-main.ts` and the demo. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { connectPatiently, type Calls } from './connect.ts';
import { Drive } from './drive.ts';
import { Journal } from './journal.ts';
import { LedgerClient } from './ledger/ask-ledger.ts';
import type { Pace } from './pace.ts';
import { showProgress } from './progress.ts';
import { readOrders } from './read-orders.ts';
import { describeReport, reconcile } from './reconcile.ts';

export type DriverOptions = {
  readonly address: string;
  readonly namespace: string;
  readonly ledgerUrl: string;
  /** How many orders of the file, from its beginning. */
  readonly orders: number;
  /** How long a paid order waits for its parcel. */
  readonly shipWithinMs: number;
  /** When orders start; as fast as the engine takes them if absent. */
  readonly pace?: Pace;
  /** Folder for `client.jsonl`, the journal of what the engine acknowledged. */
  readonly logDir?: string;
  /** Called once when half of the orders are started. */
  readonly onHalfway?: () => void;
  readonly signal: AbortSignal;
};

export type Driven = {
  /** The books reconcile. */
  readonly reconciled: boolean;
  readonly calls: Calls;
};

/** Runs the driver; the report goes to stdout, whether the books reconcile or not. */
export async function runDriver(options: DriverOptions): Promise<Driven> {
  const orders = await readOrders(undefined, options.orders);
  const journal = await openJournal(options.logDir);
  const patient = await connectPatiently(options.address);
  const client = new Client({ connection: patient.connection, namespace: options.namespace });
  try {
    const drive = new Drive(client, orders.length, {
      shipWithinMs: options.shipWithinMs,
      signal: options.signal,
      ...(options.pace ? { pace: options.pace } : {}),
      ...(journal ? { journal } : {}),
      ...(options.onHalfway ? { onHalfway: options.onHalfway } : {}),
    });
    const results = await shown(drive, options.signal, () => drive.run(orders));
    const totals = await new LedgerClient(options.ledgerUrl).totals();
    const report = reconcile(orders, { results, totals });
    process.stdout.write(`${describeReport(report)}\n`);
    return { reconciled: report.wrong.length === 0, calls: patient.calls };
  } finally {
    await patient.close();
    await journal?.close();
  }
}

async function openJournal(folder: string | undefined): Promise<Journal | undefined> {
  if (!folder) return undefined;
  await mkdir(folder, { recursive: true });
  return Journal.open(join(folder, 'client.jsonl'));
}

/** Shows the drive's progress for as long as `work` runs. */
async function shown<Answer>(
  drive: Drive,
  stop: AbortSignal,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const over = new AbortController();
  const showing = showProgress(
    drive.progress,
    process.stdout,
    AbortSignal.any([over.signal, stop]),
  );
  try {
    return await work();
  } finally {
    over.abort();
    await showing;
  }
}
