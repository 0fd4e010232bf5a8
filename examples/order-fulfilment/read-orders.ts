/** Reads the input file. Place: ledger and driver read the same file, each for its own part. */
import { readFile } from 'node:fs/promises';
import type { Order } from './order.ts';

/** The committed 1,000 orders. */
export const ORDERS_FILE = new URL('orders.json', import.meta.url).pathname;

/** Reads the first `count` orders of the file, or all. */
export async function readOrders(path = ORDERS_FILE, count = Infinity): Promise<readonly Order[]> {
  const orders = JSON.parse(await readFile(path, 'utf8')) as readonly Order[];
  if (orders.length === 0) throw new Error(`${path} holds no orders`);
  return count < orders.length ? orders.slice(0, count) : orders;
}
