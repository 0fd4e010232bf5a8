import { expect } from 'vitest';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { settlePromises, VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import type { MakeHarness } from '../conformance/harness.ts';
import { storageConformance } from '../conformance/storage-conformance.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';

const makeHarness: MakeHarness = async (isolation) => {
  const clock = new VirtualClock();
  const database = new MemoryDatabase({ clock, shardCount: 8, isolation });
  return {
    appendsApart: false,
    async connect() {
      const store = new MemoryStore(database, { clock, rng: new SeededRng(1) });
      return {
        log: store,
        views: store.views,
        breakConnections: async () => store.breakConnection(),
      };
    },
    async hold(row) {
      const held = database.hold(row);
      return { commit: async () => held.commit(), rollback: async () => held.rollback() };
    },
    untilBlocked: async () => {
      await settlePromises();
      expect(database.blocked).toBeGreaterThan(0);
    },
    landLate: async (row) => database.insert(row),
    promoteWithout: async () => database.promoteStandby(1),
    rows: async (shard) => database.dump().log.filter((row) => row.shard === shard),
    close: async () => {},
  };
};

storageConformance('memory', makeHarness);
