/** Bounded concurrency, twice: over a list, and for whoever comes. */

/** Runs `work` over `items`, at most `limit` at a time, in order of the list. Rejects with the first failure. */
export async function inParallel<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const entries = items.entries();
  const lane = async () => {
    for (const [index, item] of entries) await work(item, index);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
}

/** Lets at most `limit` pieces of work run; the others wait their turn. */
export type Gate = <Answer>(work: () => Promise<Answer>) => Promise<Answer>;

/** Makes a gate. */
export function gate(limit: number): Gate {
  let free = limit;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
