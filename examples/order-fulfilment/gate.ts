/** Bounded concurrency for whoever comes: a gate that lets a few in at a time. */

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
