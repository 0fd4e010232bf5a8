/** Waiting for a condition of an engine in another process: asked again until it holds, never longer than a bound. */

export async function until(
  holds: () => Promise<boolean> | boolean,
  { withinMs = 30_000, what = 'the condition' } = {},
): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`${what} did not hold within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
