/** What `atoll doctor` looks at of the fleet: the folder of its map, and whether the cells of the map answer. */
import { access, constants, readdir, readFile } from 'node:fs/promises';
import type { SecureClientSessionOptions } from 'node:http2';
import { join } from 'node:path';
import { decodeFleetMap } from '../fleet/codec.ts';
import type { Cell, FleetMap } from '../fleet/map.ts';
import { RpcChannel } from '../kernel/rpc/client.ts';
import { HEALTH_CHECK_PATH } from '../wire/health.ts';
import type { Finding } from './doctor-finding.ts';

const CALL_MS = 3_000;
/** A file per revision (fleet/file/fleet-map.ts); the largest one counts. */
const REVISION_FILE = /^\d{12}\.json$/;

/** Readable, writable, and its map is one of ours. A folder that is not there yet is made at the first start. */
export async function checkFleetFolder(folder: string): Promise<Finding> {
  const what = `fleet folder ${folder}`;
  const wrong = (says: string): Finding => ({ what, state: 'wrong', says });
  try {
    await access(folder, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (isMissing(error)) return { what, state: 'skipped', says: 'it is made at the first start' };
    return wrong('this user cannot read and write it: run as its owner, or name another --fleet');
  }
  const read = await readMap(folder);
  if (typeof read === 'string') return wrong(read);
  if (read === undefined) return { what, state: 'fine', says: 'no map yet' };
  const { cells, namespaces, revision } = read;
  const counts = `${Object.keys(cells).length} cells, ${Object.keys(namespaces).length} namespaces`;
  return { what, state: 'fine', says: `revision ${revision}, ${counts}` };
}

/** Asks every cell of the map whether it serves, as a router would: over TLS if that is how it calls cells. */
export async function checkCells(
  folder: string,
  tls: SecureClientSessionOptions | undefined,
): Promise<readonly Finding[]> {
  const map = await readMap(folder);
  if (map === undefined || typeof map === 'string') return [];
  return Promise.all(Object.entries(map.cells).map(([id, cell]) => checkCell(id, cell, tls)));
}

async function checkCell(
  id: string,
  { address }: Cell,
  tls: SecureClientSessionOptions | undefined,
): Promise<Finding> {
  const what = `cell ${id} at ${address}`;
  const channel = new RpcChannel(address, { tls });
  const how = tls === undefined ? 'in cleartext' : 'over TLS';
  try {
    await channel.call(HEALTH_CHECK_PATH, {}, new Uint8Array(0), { timeoutMs: CALL_MS });
    return { what, state: 'fine', says: `it serves ${how}` };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const whatToDo =
      tls === undefined
        ? 'is it running, and is TLS on? Then give --cell-tls-ca, as to a router'
        : 'is it running, is TLS on there, and did that authority sign its certificate for this address?';
    return { what, state: 'wrong', says: `it does not answer ${how} (${why}): ${whatToDo}` };
  } finally {
    channel.close();
  }
}

/** The map, a sentence on what is wrong with it, or undefined if there is none. */
async function readMap(folder: string): Promise<FleetMap | string | undefined> {
  try {
    const names = (await readdir(folder)).filter((name) => REVISION_FILE.test(name));
    const newest = names.toSorted().at(-1);
    if (newest === undefined) return undefined;
    const decoded = decodeFleetMap(await readFile(join(folder, newest), 'utf8'));
    return decoded.kind === 'map' ? decoded.map : `${newest} is damaged: ${decoded.why}`;
  } catch (error) {
    return isMissing(error) ? undefined : `its map cannot be read: ${String(error)}`;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
