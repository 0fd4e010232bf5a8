/**
 * PROTOCOLS 8: a planned move of one namespace from cell A to cell B: orchestrators that die and are
 * followed by others, compare-and-sets that land late, shard owners that crash, cells that hear of the map late.
 * The steps are those of fleet/handover.ts: one handover per move; flip and rollback compare the same record.
 * Run: node move.mjs [moves orchestrators crashes wire shards] [--traces]     (defaults 1 2 1 2 1: seconds; also tried: 1 2 1 2 2 and 2 3 1 2 1, minutes)
 */
import { check } from './explore.mjs';

const OPS = [1, 2];
const [MAX_MOVES = 1, MAX_BOSSES = 2, MAX_CRASHES = 1, MAX_WIRE = 2, shards = 1] = process.argv
  .slice(2)
  .filter((a) => /^\d+$/.test(a))
  .map(Number);
const SHARDS = Array.from({ length: shards }, (_, i) => i);
const clone = (s) => structuredClone(s);

function model(rule) {
  const initial = () => ({
    map: { at: 'A', rev: 1, move: 0 }, // at: A | handover | B
    wire: [], // compare-and-sets of the map that may still land
    shards: SHARDS.map(() => ({ log: [], closed: false, gateRev: 0, heard: 1 })), // log: ops and gates, durable; closed: in memory
    lane: SHARDS.map(() => 0), // how much of each log B has applied
    b: { open: false, ops: [] },
    boss: undefined, // the orchestrator's memory: { move, gated: [] }
    acked: [],
    sent: 0,
    bosses: 0,
    crashes: 0,
    moves: 0,
    broken: undefined,
  });

  const appliedAtB = (s) =>
    SHARDS.flatMap((i) =>
      s.shards[i].log
        .slice(0, s.lane[i])
        .filter((e) => e.op)
        .map((e) => e.op),
    );

  function actions(s) {
    const out = [];
    const add = (label, f) => {
      const n = clone(s);
      f(n);
      out.push([label, n]);
    };
    // Clients write: at A through any shard that thinks it may, at B once B is open. One write, then its acknowledgement.
    if (s.sent < OPS.length) {
      for (const i of SHARDS) {
        if (!s.shards[i].closed) {
          add(`A shard ${i} commits and acknowledges op ${s.sent + 1}`, (n) => {
            n.sent += 1;
            n.shards[i].log.push({ op: n.sent });
            n.acked.push(n.sent);
            if (n.map.at === 'B') n.broken = 'P2: the old cell acknowledged a write after the flip';
          });
        }
      }
      if (s.b.open) {
        add(`B commits and acknowledges op ${s.sent + 1}`, (n) => {
          n.sent += 1;
          n.b.ops.push(n.sent);
          n.acked.push(n.sent);
        });
      }
    }
    for (const i of SHARDS) {
      const sh = s.shards[i];
      if (s.lane[i] < sh.log.length)
        add(`lane applies the next record of shard ${i}`, (n) => void (n.lane[i] += 1));
      // The owner of a shard crashes; the next one knows what the log says, and the map as of some earlier revision.
      if (s.crashes < MAX_CRASHES) {
        add(`A shard ${i} changes owner`, (n) => {
          n.crashes += 1;
          const last = [...sh.log].reverse().find((e) => e.gate);
          n.shards[i].closed = rule['the gate is in the log'] ? last?.gate === 'close' : false;
        });
      }
      // A closed shard opens again.
      if (sh.closed) {
        const may = rule['opens only by the map']
          ? s.map.at === 'A' && s.map.rev > sh.gateRev
          : true;
        if (may && s.map.at !== 'B') {
          add(
            `A shard ${i} opens again (${rule['opens only by the map'] ? 'it saw the rollback' : 'its timer'})`,
            (n) => {
              n.shards[i].closed = false;
              n.shards[i].log.push({ gate: 'open' });
            },
          );
        }
      }
    }
    if (!s.boss && s.bosses < MAX_BOSSES) {
      add('an orchestrator starts and reads the map', (n) => {
        n.bosses += 1;
        n.boss = { rev: n.map.rev, at: n.map.at, move: n.map.move, gated: [] };
      });
    }
    if (s.boss) {
      const boss = s.boss;
      const roomOnWire = s.wire.length < MAX_WIRE;
      add('the orchestrator dies', (n) => void delete n.boss);
      if (boss.at === 'A' && s.moves < MAX_MOVES && s.wire.length < MAX_WIRE) {
        add('it asks for handover', (n) => {
          n.moves += 1;
          n.wire.push({ to: 'handover', ifRev: boss.rev, move: n.moves });
          n.boss = { ...boss, at: 'asked' };
        });
      }
      if (boss.at === 'asked' || boss.at === 'handover') {
        add('it reads the map', (n) => {
          const same = n.map.rev === boss.rev;
          n.boss = {
            rev: n.map.rev,
            at: boss.at === 'asked' && same ? 'asked' : n.map.at,
            move: n.map.move,
            gated: same ? boss.gated : [],
          };
        });
      }
      if (boss.at === 'handover') {
        for (const i of SHARDS) {
          if (!boss.gated.includes(i)) {
            add(`shard ${i} appends its gate for move ${boss.move}`, (n) => {
              const sh = n.shards[i];
              if (n.map.rev < boss.rev) return;
              sh.closed = true;
              sh.gateRev = boss.rev;
              sh.log.push({ gate: 'close', rev: boss.rev });
              n.boss.gated.push(i);
            });
          }
        }
        const gatesDone =
          !rule['flip needs every gate'] || SHARDS.every((i) => boss.gated.includes(i));
        const barrier = (i) => s.shards[i].log.findLastIndex((e) => e.gate === 'close') + 1;
        const caughtUp =
          !rule['flip needs every barrier applied'] || SHARDS.every((i) => s.lane[i] >= barrier(i));
        if (gatesDone && caughtUp && roomOnWire) {
          add('it sends the flip', (n) => {
            n.wire.push({ to: 'B', ifRev: boss.rev, move: boss.move });
            n.boss = { ...boss, at: 'asked' };
          });
        }
        if (roomOnWire)
          add('it gives up and sends the rollback', (n) => {
            n.wire.push({ to: 'A', ifRev: boss.rev, move: boss.move });
            n.boss = { ...boss, at: 'asked' };
          });
      }
    }
    s.wire.forEach((w, k) => {
      add(`the compare-and-set to ${w.to} lands`, (n) => {
        n.wire.splice(k, 1);
        const ok = rule['flip and rollback compare the same record'] ? n.map.rev === w.ifRev : true;
        if (!ok) return;
        n.map = { at: w.to, rev: n.map.rev + 1, move: w.move };
        if (w.to === 'B') {
          const have = appliedAtB(n);
          const missing = n.acked.find((o) => !have.includes(o) && !n.b.ops.includes(o));
          if (missing) n.broken = `P5: op ${missing} was acknowledged and is not at the new cell`;
        }
      });
    });
    if (s.map.at === 'B' && !s.b.open)
      add('B hears of the flip and opens', (n) => void (n.b.open = true));
    return out;
  }
  return { initial, actions, broken: (s) => s.broken };
}

check('planned move', model, [
  'the gate is in the log',
  'opens only by the map',
  'flip needs every gate',
  'flip needs every barrier applied',
  'flip and rollback compare the same record',
]);
