/**
 * The engine port, measured: how long it takes to decide and commit, and which tasks of workers fail, by cause.
 * Place: between frontend and shards, put there by bin/.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import { WorkflowTaskFailedCause } from '../../wire/enums.ts';
import type { Reply } from '../history/decision.ts';
import type { RunInput } from '../history/input.ts';
import type { Engine } from './engine.ts';

export function measuredEngine(engine: Engine, metrics: Metrics, clock: Clock): Engine {
  const tookMs = (what: string) => metrics.histogram('engine_ms', { what });
  const startMs = tookMs('start');
  const executeMs = tookMs('execute');
  const readMs = tookMs('read');
  const failures = new TaskFailures(metrics);
  const timed = async <T>(histogram: typeof startMs, call: Promise<T>): Promise<T> => {
    const begun = clock.monotonicMs();
    try {
      return await call;
    } finally {
      histogram.observe(clock.monotonicMs() - begun);
    }
  };
  return {
    start: (target, input, call) => timed(startMs, engine.start(target, input, call)),
    async execute(target, input, call) {
      const answered = await timed(executeMs, engine.execute(target, input, call));
      failures.count(input, answered.reply);
      return answered;
    },
    read: (target, call) => timed(readMs, engine.read(target, call)),
    history: (run, range, call) => engine.history(run, range, call),
    waitForEvents: (run, after, call) => engine.waitForEvents(run, after, call),
    assertActing: (namespaceId) => engine.assertActing(namespaceId),
    startTask: (task, poller, call) => engine.startTask(task, poller, call),
    query: (target, query, call) => engine.query(target, query, call),
    answerQuery: (run, queryId, answer) => engine.answerQuery(run, queryId, answer),
    askAgain: (run) => engine.askAgain(run),
  };
}

const CAUSES = new Map(
  Object.entries(WorkflowTaskFailedCause).map(([name, number]) => [number as number, name]),
);

/** Failed tasks by kind and cause. A cause that a newer worker sends counts as `Unknown`. */
class TaskFailures {
  readonly #metrics: Metrics;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  count(input: RunInput, reply: Reply): void {
    if (reply.kind === 'workflow-task-rejected') this.#inc('workflow-task', nameOf(reply.cause));
    else if (input.kind === 'fail-workflow-task') this.#inc('workflow-task', nameOf(input.cause));
    else if (input.kind === 'fail-activity') this.#inc('activity-task', 'Failed');
  }

  #inc(kind: string, cause: string): void {
    this.#metrics.counter('task_failures_total', { kind, cause }).inc();
  }
}

function nameOf(cause: number): string {
  return CAUSES.get(cause) ?? 'Unknown';
}
