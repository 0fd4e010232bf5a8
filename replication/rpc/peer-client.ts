/** Another cell as a lane's peer, over gRPC. Images that are too large for a call go in parts. */
import { AtollError } from '../../kernel/errors.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { RunRef } from '../../cell/shard/engine.ts';
import type { ApplyOutcome, RunDigest } from '../../cell/shard/replicas/replicas.ts';
import {
  DIGESTS,
  PROBE,
  PUSH_IMAGE_PART,
  PUSH_IMAGES,
  PUSH_STEPS,
  REMOVE,
  RUNS,
  type ReplicationMethod,
} from '../../wire/atoll/replication.ts';
import { imagesMs, type ReplicationConfig } from '../config.ts';
import type { ImagePush, LaneBacklog, ReplicaPeer, RunsPage, StepPush } from '../peer.ts';
import type { CellCalls } from './cell-calls.ts';
import {
  accusedToWire,
  backlogToWire,
  digestFromWire,
  outcomeFromWire,
  runsFromWire,
} from './wire-forms.ts';

export class PeerClient implements ReplicaPeer {
  readonly #cellId: string;
  readonly #calls: Pick<CellCalls, 'call'>;
  readonly #rng: Rng;
  readonly #config: ReplicationConfig;

  constructor(
    cellId: string,
    parts: {
      readonly calls: Pick<CellCalls, 'call'>;
      readonly rng: Rng;
      readonly config: ReplicationConfig;
    },
  ) {
    this.#cellId = cellId;
    this.#calls = parts.calls;
    this.#rng = parts.rng;
    this.#config = parts.config;
  }

  async pushSteps(push: StepPush, signal: AbortSignal): Promise<readonly ApplyOutcome[]> {
    const request = { ...backlogToWire(push), steps: push.steps };
    const { outcomes } = await this.#call(PUSH_STEPS, request, { signal });
    return outcomes.map(outcomeFromWire);
  }

  async pushImages(push: ImagePush, signal: AbortSignal): Promise<readonly ApplyOutcome[]> {
    const { namespaceId, images, repair } = push;
    const outcomes: ApplyOutcome[] = [];
    for (const group of groupsOf(images, this.#config.imagePartBytes)) {
      const [first] = group;
      if (first !== undefined && first.length > this.#config.imagePartBytes) {
        outcomes.push(await this.#pushParts({ namespaceId, repair }, first, signal));
        continue;
      }
      const answer = await this.#call(PUSH_IMAGES, { ...push, images: group }, { signal });
      if (answer.outcomes.length !== group.length) throw miscounted();
      outcomes.push(...answer.outcomes.map(outcomeFromWire));
    }
    return outcomes;
  }

  async digests(
    ask: {
      readonly namespaceId: string;
      readonly runs: readonly RunRef[];
      readonly recompute: boolean;
    },
    signal: AbortSignal,
  ): Promise<readonly (RunDigest | undefined)[]> {
    const { digests } = await this.#call(DIGESTS, ask, { signal });
    if (digests.length !== ask.runs.length) throw miscounted();
    return ask.runs.map((run, i) => digestFromWire(run, digests[i]));
  }

  async remove(
    { namespaceId, runs }: { readonly namespaceId: string; readonly runs: readonly RunDigest[] },
    signal: AbortSignal,
  ): Promise<readonly ApplyOutcome[]> {
    const request = { namespaceId, runs: runs.map(accusedToWire) };
    const { outcomes } = await this.#call(REMOVE, request, { signal });
    if (outcomes.length !== runs.length) throw miscounted();
    return outcomes.map(outcomeFromWire);
  }

  async runs(
    ask: {
      readonly namespaceId: string;
      readonly shard: number;
      readonly after?: string | undefined;
      readonly limit: number;
    },
    signal: AbortSignal,
  ): Promise<RunsPage> {
    const page = await this.#call(RUNS, { ...ask, after: ask.after ?? '' }, { signal });
    const next = page.next === '' ? undefined : page.next;
    return { runs: runsFromWire(ask.namespaceId, page.runs), next, shards: page.shards };
  }

  probe(backlogs: readonly LaneBacklog[], signal: AbortSignal): Promise<{ readonly now: number }> {
    return this.#call(PROBE, { backlogs: backlogs.map(backlogToWire) }, { signal });
  }

  async #pushParts(
    of: Omit<ImagePush, 'images'>,
    image: Uint8Array,
    signal: AbortSignal,
  ): Promise<ApplyOutcome> {
    const size = this.#config.imagePartBytes;
    const count = Math.ceil(image.length / size);
    const upload = this.#rng.uuid();
    for (let index = 0; index < count; index += 1) {
      const bytes = image.subarray(index * size, (index + 1) * size);
      const part = { ...of, upload, index, count, bytes };
      // With the last part the whole image is stored there: that, too, takes as long as it is large.
      const timeoutMs = imagesMs(index === count - 1 ? image.length : 0, this.#config);
      const { outcomes } = await this.#call(PUSH_IMAGE_PART, part, { signal, timeoutMs });
      const [outcome] = outcomes;
      if (outcome !== undefined) return outcomeFromWire(outcome);
    }
    // The other side had to make room for other images: the lane sends it again.
    throw new AtollError('unavailable', `cell ${this.#cellId} did not keep the parts of an image`);
  }

  #call<Request, Response>(
    method: ReplicationMethod<Request, Response>,
    request: Request,
    {
      signal,
      timeoutMs = this.#config.callMs,
    }: { readonly signal: AbortSignal; readonly timeoutMs?: number },
  ): Promise<Response> {
    return this.#calls.call(this.#cellId, method, { request, signal, timeoutMs });
  }
}

/** In order, each group within the size of a call; a larger image is a group of its own. */
function groupsOf(images: readonly Uint8Array[], limit: number): readonly Uint8Array[][] {
  const groups: Uint8Array[][] = [];
  let room = 0;
  for (const image of images) {
    const last = groups.at(-1);
    if (last === undefined || image.length > room) {
      groups.push([image]);
      room = limit - image.length;
    } else {
      last.push(image);
      room -= image.length;
    }
  }
  invariant(groups.flat().length === images.length, 'every image is in one group');
  return groups;
}

function miscounted(): AtollError {
  return new AtollError('internal', 'the other cell answered for another number of items');
}
