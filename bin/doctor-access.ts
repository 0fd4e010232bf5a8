/** What `atoll doctor` looks at of certificates and rights: the flags of a cell's or router's port, and of TLS to cells. */
import { systemClock } from '../kernel/clock.ts';
import { silentLog, type Log } from '../kernel/log.ts';
import { portAccess, type PortOptions } from './access.ts';
import type { Finding } from './doctor-finding.ts';
import { checkCells } from './doctor-fleet.ts';
import { cellTlsFiles, clientTls, type CellTlsOptions } from './tls.ts';

/** Whether a port with these flags would start, and who could then call it. Rejects with what is wrong. */
export async function checkAccess(
  options: PortOptions & { readonly host: string },
): Promise<Finding> {
  const heard = listening();
  const { tls, rights } = await portAccess(options, { clock: systemClock, log: heard.log });
  const callers = tls?.requestCert === true ? 'TLS, callers show a certificate' : 'TLS';
  const parts = [
    tls === undefined ? 'cleartext' : callers,
    rights === undefined ? 'no rights file: who gets in may do everything' : 'by the rights file',
    ...heard.warnings,
  ];
  const says = parts.join('; ');
  return { what: 'who may call', state: heard.warnings.length > 0 ? 'wrong' : 'fine', says };
}

/** The cells of the map, asked as routers and other cells ask them. Rejects if the flags for that cannot work. */
export async function checkCellsAsRouter(
  options: CellTlsOptions & PortOptions & { readonly fleet: string },
): Promise<readonly Finding[]> {
  const heard = listening();
  const tls = await clientTls(cellTlsFiles(options), { clock: systemClock, log: heard.log });
  const late = heard.warnings.map((says): Finding => ({
    what: 'TLS to cells',
    state: 'wrong',
    says,
  }));
  const cells = await checkCells(options.fleet, tls);
  const isAlone = cells.length === 0;
  return [...late, ...(isAlone || tls !== undefined ? [] : cleartextToCells(options)), ...cells];
}

/** All cells of a fleet are under TLS, or none: what is so itself calls the others so, too. */
function cleartextToCells({ tlsCert = '' }: PortOptions): readonly Finding[] {
  if (tlsCert === '') return [];
  const says =
    'this port is under TLS, and calls to cells are not: give --cell-tls-ca to cells, routers and admins, and --cell-tls-cert and --cell-tls-key where cells ask for certificates';
  return [{ what: 'TLS to cells', state: 'wrong', says }];
}

/** A log that keeps its warnings as sentences. */
function listening(): { readonly log: Log; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  const warn: Log['warn'] = (fields, message) => {
    const facts = Object.entries(fields).map(([name, value]) => `${name} ${String(value)}`);
    warnings.push(`${message} (${facts.join(', ')})`);
  };
  return { log: { ...silentLog, warn }, warnings };
}
