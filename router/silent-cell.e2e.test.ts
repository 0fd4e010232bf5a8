import { afterEach, describe, expect, it } from 'vitest';
import { must, registration, twoCells } from '../fleet/conformance/sample.ts';
import { MemoryFleetMap } from '../fleet/memory/fleet-map.ts';
import { opossumBreakers } from '../kernel/breaker-opossum.ts';
import { silentLink, type SilentLink } from '../kernel/testing/silent-link.ts';
import { registerNamespace } from '../fleet/table.ts';
import { methodOf } from '../wire/services.ts';
import { echo, startFakeCell, type FakeCell } from './testing/fake-cell.ts';
import { cleanups, cleanUp, followed, router } from './testing/fleet.ts';
import { framed, RawClient, type RawAnswer } from './testing/raw-client.ts';

const SERVICE = '/temporal.api.workflowservice.v1.WorkflowService';
const START = `${SERVICE}/StartWorkflowExecution`;
const POLL = `${SERVICE}/PollWorkflowTaskQueue`;
/** Two seconds until a ping, three for its answer, and a busy machine. */
const NOTICED_MS = 15_000;

afterEach(cleanUp);

describe('a cell whose host falls silent without a word', () => {
  it('ends its parked polls, which have no deadline, with UNAVAILABLE, and others notice nothing', async () => {
    const { client, east, link } = await fleet();
    const parked = Array.from({ length: 20 }, () => call(client, POLL, 'orders'));
    await east.seen(20);
    let open = true;
    const ended = Promise.all(parked).finally(() => (open = false));
    link.fallSilent();
    const others: string[] = [];
    while (open) others.push(statusOf(await call(client, START, 'others')));
    expect((await ended).map(statusOf)).toEqual(Array(20).fill('14'));
    expect(new Set(others)).toEqual(new Set(['0']));
  }, 30_000);

  it('is refused at once soon, without a connection for each call, and serves by itself when it is back', async () => {
    const { client, link } = await fleet();
    expect(statusOf(await call(client, START, 'orders'))).toBe('0');
    link.fallSilent();
    await until(async () => isRefused(await call(client, START, 'orders')));
    const made = link.made();
    for (let i = 0; i < 200; i++) expect(isRefused(await call(client, START, 'orders'))).toBe(true);
    expect(link.made() - made, 'attempts of the breaker alone').toBeLessThan(20);
    link.passAgain();
    await until(async () => statusOf(await call(client, START, 'orders')) === '0');
  }, 45_000);
});

/** Namespace `orders` on east, behind a link; `others` on west. */
async function fleet(): Promise<{ client: RawClient; east: FakeCell; link: SilentLink }> {
  const east = await startFakeCell((seen) => {
    if (seen.path === START) echo(seen);
  });
  cleanups.push(() => east.kill());
  const west = await startFakeCell(echo);
  cleanups.push(() => west.kill());
  const link = await silentLink(east.address);
  cleanups.push(() => link.close());
  const map = must(registerNamespace(twoCells('orders'), registration('others', 'west')));
  const cells = {
    east: { region: 'e', shards: 4, address: link.address },
    west: { region: 'w', shards: 4, address: west.address },
  };
  const followedMap = await followed(new MemoryFleetMap({ ...map, cells }));
  const makeBreaker = opossumBreakers({ failures: 3, resetMs: 500 });
  const client = new RawClient(await router(followedMap, 0, { makeBreaker }));
  cleanups.push(() => client.close());
  return { client, east, link };
}

function call(client: RawClient, path: string, namespace: string): Promise<RawAnswer> {
  const body = framed(methodOf(START).request.encode({ namespace, workflowId: 'w' }));
  return client.call(path, body, { headers: { 'temporal-namespace': namespace } });
}

function statusOf({ trailers }: RawAnswer): string {
  return String(trailers['grpc-status']);
}

/** By the breaker, so without waiting. */
function isRefused(answer: RawAnswer): boolean {
  const { 'grpc-message': message } = answer.trailers;
  return statusOf(answer) === '14' && String(message).includes('does not answer now');
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + NOTICED_MS;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error('it did not come to hold');
  }
}
