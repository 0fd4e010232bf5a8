/** Two hosts that keep one namespace, a shard each, on virtual time: what one decided is shipped to the other by hand. */
import type { PlacementView } from '../mark.ts';
import type { Loss, LossKeeper } from '../replicas/loss.ts';
import type { ApplyOutcome, RunDigest, RunImage } from '../replicas/replicas.ts';
import { type Host, NS, ShardLab, wf } from './shard-lab.ts';

export const forever = new AbortController().signal;
/** How a lane brings an image. */
export const asIs = { repair: false };

/** `revision@epoch`, and `active`, `handover` where they hold. */
export function placed(at: string): PlacementView {
  const [revision = 0, epoch = 0] = at.split(' ')[0]?.split('@').map(Number) ?? [];
  const active = at.includes('active');
  const handover = at.includes('handover');
  return { active, replica: true, handover, epoch, revision, owner: active ? 'here' : 'there' };
}

/** Two cells that keep one namespace, active in `a` at first. */
export async function twoCells(config: ConstructorParameters<typeof ShardLab>[0] = {}) {
  const [labA, labB] = [new ShardLab(config), new ShardLab(config)];
  const [a, b] = [await labA.host(), await labB.host()];
  a.placement = placed('1@1 active');
  b.placement = placed('1@1');
  const sent = { a: 0, b: 0 };
  const losses: Loss[] = [];
  const replicas = {
    a: a.shards.replicas(keeperIn(losses)),
    b: b.shards.replicas(keeperIn(losses)),
  };
  /** Sends what a cell decided since the last time to the other one. */
  const ship = async (from: 'a' | 'b'): Promise<readonly ApplyOutcome[]> => {
    const [source, target] = from === 'a' ? [a, replicas.b] : [b, replicas.a];
    const steps = source.fed.slice(sent[from]).flatMap((row) => row.steps);
    sent[from] = source.fed.length;
    return target.apply(steps, forever);
  };
  const move = (text: string, to: 'a' | 'b') => {
    a.placement = placed(to === 'a' ? `${text} active` : text);
    b.placement = placed(to === 'b' ? `${text} active` : text);
  };
  /** The same, and both have heard of it. */
  const moveHeard = async (text: string, to: 'a' | 'b') => {
    move(text, to);
    for (const { shards } of [a, b]) await shards.replicas().observe(NS, forever);
  };
  return { a, b, labA, labB, ship, move, moveHeard, losses };
}

function keeperIn(losses: Loss[]): LossKeeper {
  return {
    kept: () => Promise.resolve(undefined),
    keep: (loss) => Promise.resolve(void losses.push(loss)),
  };
}

/** Of the current run of a workflow id. */
export const digest = async (host: Host, id: string, recompute = false) => {
  const { execution } = await host.ownership.at(wf(id), forever, (found) => found);
  const ref = { namespaceId: NS, workflowId: id, runId: execution.current.runId };
  const [one] = await host.shards.replicas().digests([ref], { recompute }, forever);
  return one;
};

export const image = async (host: Host, id: string): Promise<RunImage> => {
  const { execution } = await host.ownership.at(wf(id), forever, (found) => found);
  const ref = { namespaceId: NS, workflowId: id, runId: execution.current.runId };
  return host.shards.replicas().image(ref, forever);
};

export const kinds = (outcomes: readonly ApplyOutcome[]) => outcomes.map(({ kind }) => kind);

/** What `a` has decided of the run `w` is stored in both cells. */
export async function storedInBoth<Cells extends Awaited<ReturnType<typeof twoCells>>>(
  cells: Cells,
): Promise<Cells & { readonly ref: RunDigest }> {
  await cells.ship('a');
  await cells.a.settle();
  await cells.b.settle();
  const ref = await digest(cells.a, 'w');
  if (!ref) throw new Error('the run is not there');
  return { ...cells, ref };
}
