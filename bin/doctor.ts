/**
 * `atoll doctor`: looks at what a cell, a router or a dev server of this machine would need, and says what is wrong and
 * what to do. It changes nothing: no folder is made, no database is migrated.
 *
 * Invariants
 *  1. Every check ends within its time, whatever it looks at.
 *  2. Nothing of a database URL is printed but host, port and database.
 */
import { systemClock } from '../kernel/clock.ts';
import { withDeadline } from '../kernel/deadline.ts';
import type { PortOptions } from './access.ts';
import { checkAccess, checkCellsAsRouter } from './doctor-access.ts';
import { checkFleetFolder } from './doctor-fleet.ts';
import type { Finding } from './doctor-finding.ts';
import { checkNode, checkPort, checkPostgresBinaries } from './doctor-machine.ts';
import { checkDatabase } from './doctor-database.ts';
import type { CellTlsOptions } from './tls.ts';

export type DoctorOptions = {
  readonly host: string;
  readonly port: number;
  readonly fleet: string;
  /** Empty: no database is looked at. */
  readonly postgresUrl: string;
} & PortOptions &
  CellTlsOptions;

const CHECK_MS = 10_000;

/** All findings, in the order of the checks. Never rejects. */
export async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  const checks: readonly [string, () => Promise<readonly Finding[]>][] = [
    ['Node', async () => [checkNode(process.versions.node)]],
    ['PostgreSQL from npm', async () => [await checkPostgresBinaries()]],
    ['port', async () => [await checkPort(options.host, options.port)]],
    ['fleet folder', async () => [await checkFleetFolder(options.fleet)]],
    ['who may call', async () => [await checkAccess(options)]],
    ['cells', () => checkCellsAsRouter(options)],
    ['database', () => checkDatabase(options.postgresUrl)],
  ];
  return (await Promise.all(checks.map(([what, check]) => inTime(what, check)))).flat();
}

/** One line a finding, and one for the whole. */
export function report(findings: readonly Finding[]): string {
  const signs = { fine: 'ok     ', wrong: 'WRONG  ', skipped: 'skipped' };
  const lines = findings.map(({ what, state, says }) => `${signs[state]} ${what}: ${says}`);
  const wrong = findings.filter(({ state }) => state === 'wrong').length;
  const sum = wrong === 0 ? 'Nothing is wrong.' : `${wrong} of ${findings.length} are wrong.`;
  return `${lines.join('\n')}\n${sum}\n`;
}

async function inTime(
  what: string,
  check: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await withDeadline(systemClock, { what, timeoutMs: CHECK_MS }, check);
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    return [{ what, state: 'wrong', says }];
  }
}
