/**
 * What the bench and its two helpers, the thin worker and the load generator, tell each other over the channel between
 * their processes.
 */
import type { Summary } from './samples.ts';

type Common = {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  /** HTTP/2 connections. */
  readonly sessions: number;
};

export type WorkerOptions = Common & {
  /** Parallel polls of each kind; a poller polls again before its task is answered. */
  readonly pollers: number;
  readonly activities: boolean;
  /** Asks for the eager dispatch of activities. */
  readonly eager: boolean;
  readonly sticky: boolean;
};

/** What the generator does once it is told to go. */
export type Work =
  /** `clients` start workflows and wait for their ends. */
  | { readonly kind: 'closed-loop'; readonly type: string; readonly clients: number }
  /** As many starts a second, however long each takes. */
  | { readonly kind: 'open-loop'; readonly type: string; readonly perSecond: number }
  /** Starts that many, waits for none. */
  | {
      readonly kind: 'start';
      readonly type: string;
      readonly count: number;
      readonly clients: number;
    }
  /** Starts that many, each to fire a timer at `dueAt` (milliseconds since 1970). */
  | {
      readonly kind: 'timers';
      readonly count: number;
      readonly dueAt: number;
      readonly clients: number;
    }
  /** Signals to one open run; the next run when it holds as many signals as a run may. */
  | { readonly kind: 'signals'; readonly signalsPerRun: number; readonly clients: number }
  /** Calls that a cell answers from memory: `clients` of them in flight, or so many a second. */
  | { readonly kind: 'calls'; readonly clients: number; readonly perSecond: number };

export type LoadOptions = Common & { readonly work: Work };

export type WorkerReport = {
  readonly workflowTasks: number;
  readonly activityTasks: number;
  readonly eagerActivities: number;
  readonly fired: number;
  readonly stale: number;
  readonly errors: number;
  readonly lastError: string;
  /** Milliseconds since 1970; 0 before the first timer. */
  readonly lastFiredAt: number;
  /** Answer that schedules an activity sent → activity task received. */
  readonly dispatch: Summary | undefined;
  /** Started minus scheduled time of activities, the server's own clock. */
  readonly scheduleToStart: Summary | undefined;
  /** Timer due → workflow task received. */
  readonly timerLag: Summary | undefined;
};

export type LoadReport = {
  /** Since the start of the process. */
  readonly started: number;
  readonly completed: number;
  readonly inFlight: number;
  readonly errors: number;
  readonly retries: number;
  readonly lastError: string;
  /** Ends, signals or calls in the recorded window. */
  readonly recorded: number;
  readonly start: Summary | undefined;
  readonly endToEnd: Summary | undefined;
  readonly signal: Summary | undefined;
  readonly call: Summary | undefined;
  /** How late an open loop sent, behind its own timetable. */
  readonly lateness: Summary | undefined;
};

/** To a helper. */
export type Order =
  | { readonly kind: 'go' }
  /** Opens or closes the window whose samples count. */
  | { readonly kind: 'record'; readonly on: boolean }
  | { readonly kind: 'report' }
  /** The next task is told of, in milliseconds after `since`. */
  | { readonly kind: 'watch-first-task'; readonly since: number }
  /** No more starts; what was started is waited for. */
  | { readonly kind: 'drain' }
  | { readonly kind: 'stop' };

/** From a helper. */
export type News<Report> =
  | { readonly kind: 'ready' }
  | { readonly kind: 'report'; readonly report: Report }
  /** Signals have a run to go to. */
  | { readonly kind: 'opened' }
  /** All that was to be done is done. */
  | { readonly kind: 'finished' }
  | { readonly kind: 'first-task'; readonly afterMs: number };
