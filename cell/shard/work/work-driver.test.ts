import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../kernel/log.ts';
import { VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import type { Work } from '../../history/work.ts';
import type { Matching, OfferedTask, QueueKey } from '../../matching/matching.ts';
import { shardConfig } from '../config.ts';
import { WorkDriver } from './work-driver.ts';

const RUN = { namespaceId: 'ns', workflowId: 'wf', runId: 'r1' };

function task(key: string, changed: Partial<Extract<Work, { kind: 'activity-task' }>> = {}): Work {
  const scheduledEventId = Number(key.split(':')[1]);
  const work = { kind: 'activity-task', key, taskQueue: 'q', scheduledEventId } as const;
  return { ...work, attempt: 1, scheduledAt: 0, notBefore: 0, ...changed };
}

class Scene {
  readonly clock = new VirtualClock(0);
  readonly log: string[] = [];
  readonly polled = new Set<string>();
  /** How many tasks a queue takes. */
  room = Number.POSITIVE_INFINITY;
  readonly driver: WorkDriver;

  constructor(changed: { readonly heldTaskLimit?: number; readonly timerWindow?: number } = {}) {
    const matching = {
      offer: (offered: OfferedTask) => {
        if (this.room === 0) return 'full';
        this.room -= 1;
        this.log.push(`offer ${offered.queue.name} ${offered.scheduledEventId}`);
        return 'accepted';
      },
      isPolled: (queue: QueueKey) => this.polled.has(queue.name),
    } as unknown as Matching;
    this.driver = new WorkDriver({
      shard: {
        now: () => this.clock.now(),
        send: async (_, input) => void this.log.push('key' in input ? input.key : input.kind),
        refill: (what) => this.log.push(`refill ${what}`),
      },
      clock: this.clock,
      matching,
      log: silentLog,
      config: shardConfig(changed),
    });
  }

  sync(...work: Work[]): number {
    return this.driver.sync(RUN, work);
  }

  /** What happened since the last look. */
  get news(): readonly string[] {
    return this.log.splice(0);
  }
}

const timer = (key: string, dueAt: number): Work => ({ kind: 'timer', key, dueAt });

describe('clocks', () => {
  test('ring once, in order, none early; an obsolete one is armed again by the sync after its answer', () => {
    const scene = new Scene();
    expect(scene.sync(timer('b', 20), timer('a', 10))).toBe(2);
    expect(scene.sync(timer('b', 20), timer('a', 10))).toBe(0);
    scene.clock.advance(9);
    expect(scene.news).toEqual([]);
    scene.clock.advance(100);
    expect(scene.news).toEqual(['a', 'b']);
    expect(scene.sync(timer('a', 10), timer('b', 20))).toBe(0);
    scene.clock.advance(0);
    expect(scene.news).toEqual([]);
    expect(scene.driver.answered(RUN, 'a')).toBe(true);
    scene.sync(timer('a', 10));
    scene.clock.advance(0);
    expect(scene.news).toEqual(['a']);
  });

  test('move with their state, and leave with it', () => {
    const scene = new Scene();
    scene.sync(timer('a', 10), timer('b', 15));
    scene.sync(timer('a', 30));
    scene.clock.advance(29);
    expect(scene.news).toEqual([]);
    scene.clock.advance(1);
    expect(scene.news).toEqual(['a']);
  });

  test('one that moves beyond the window and is dropped comes back from the view', () => {
    const scene = new Scene({ timerWindow: 4 });
    scene.sync(...[1, 2, 3, 4, 5].map((at) => timer(`t${at}`, at)));
    scene.driver.adopt(RUN, 't5', 5);
    scene.clock.advance(10);
    expect(scene.news.filter((each) => each === 't5')).toEqual(['t5']);
  });

  test('a jump of the wall clock is noticed within a minute', () => {
    const scene = new Scene();
    scene.sync(timer('a', 3_600_000));
    scene.clock.jumpWallBy(3_600_000);
    scene.clock.advance(60_000);
    expect(scene.news).toEqual(['a']);
  });

  test('nothing rings after the end', () => {
    const scene = new Scene();
    scene.sync(timer('a', 10));
    scene.driver.stop();
    scene.clock.advance(100);
    expect(scene.news).toEqual([]);
  });
});

describe('tasks', () => {
  test('are offered once, and when their time has come', () => {
    const scene = new Scene();
    scene.sync(task('a:5'), task('a:6', { notBefore: 50 }));
    scene.sync(task('a:5'), task('a:6', { notBefore: 50 }));
    expect(scene.news).toEqual(['offer q 5']);
    scene.clock.advance(50);
    expect(scene.news).toEqual(['offer q 6']);
  });

  test('wait in order while their queue is full, and one that is not wanted any more leaves', () => {
    const scene = new Scene();
    scene.room = 0;
    scene.sync(task('a:5'), task('a:6'), task('a:7'));
    scene.sync(task('a:5'), task('a:7'));
    expect(scene.driver.heldTasks).toBe(2);
    scene.room = 9;
    scene.driver.onRoom({ namespaceId: 'ns', kind: 'activity', name: 'q' });
    expect(scene.news).toEqual(['offer q 5', 'offer q 7']);
    expect(scene.driver.heldTasks).toBe(0);
  });

  test('beyond the limit of held ones are left to the view, which is read when there is room', () => {
    const scene = new Scene({ heldTaskLimit: 2 });
    scene.room = 0;
    scene.sync(task('a:5'), task('a:6'), task('a:7'));
    expect([scene.driver.heldTasks, scene.driver.holdsAllTasks]).toEqual([2, false]);
    scene.room = 9;
    scene.driver.onRoom({ namespaceId: 'ns', kind: 'activity', name: 'q' });
    expect(scene.news).toEqual(['offer q 5', 'offer q 6', 'refill tasks']);
    scene.sync(task('a:5'), task('a:6'), task('a:7'));
    expect(scene.news).toEqual(['offer q 7']);
  });

  test('held ones that leave make room too', () => {
    const scene = new Scene({ heldTaskLimit: 2 });
    scene.room = 0;
    scene.sync(task('a:5'), task('a:6'), task('a:7'));
    scene.sync(task('a:7'));
    expect(scene.news).toEqual(['refill tasks']);
  });

  test('of a sticky queue that nobody polls are sent to the normal one by the run', () => {
    const scene = new Scene();
    const sticky: Work = {
      kind: 'workflow-task',
      key: 'w:5:1:s',
      taskQueue: 'q',
      stickyQueue: 'sticky',
      scheduledEventId: 5,
      attempt: 1,
      scheduledAt: 0,
      notBefore: 0,
    };
    scene.sync(sticky);
    expect(scene.news).toEqual(['sticky-gone']);
    scene.sync();
    scene.polled.add('sticky');
    scene.sync(sticky);
    expect(scene.news).toEqual(['offer sticky 5']);
  });
});
