/** The wall clock below a millisecond, comparable between processes of one machine; and waiting. */

/** Milliseconds since 1970. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** What comes in time; undefined otherwise. */
export async function within<News>(news: Promise<News>, ms: number): Promise<News | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([news, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
