/**
 * PROTOCOLS 1-4 for one shard: two hosts, late statements, lost answers, checkpoints that truncate, sleeping owners, one read.
 * An append lands in one step and its answer is heard in another: in between another host may take over, one seq behind.
 * A standby that lacks the newest claim may be promoted once: what the claim's owner believes is then nowhere stored.
 * Run: node shard-log.mjs [ops takeovers checkpoints] [--traces]     (defaults 2 3 2: 335,000 states, a minute)
 */
import { check } from './explore.mjs';

const HOSTS = [0, 1];
const [ops = 2, MAX_TAKEOVERS = 3, MAX_CHECKPOINTS = 2] = process.argv
  .slice(2)
  .filter((a) => /^\d+$/.test(a))
  .map(Number);
const OPS = Array.from({ length: ops }, (_, i) => i + 1);
const clone = (s) => structuredClone(s);

/** What a fresh owner would rebuild: the view, then the log rows above it. */
function truth(db) {
  return [...db.view.ops, ...db.log.filter((r) => r.seq > db.view.seq && r.op).map((r) => r.op)];
}

function model(rule) {
  const initial = () => ({
    db: { log: [], range: 0, ckpt: 0, view: { seq: 0, ops: [] } },
    wire: [], // append statements that may still land, at any time, in any order
    answers: [], // outcomes of landed appends that their owner has not heard yet
    hosts: HOSTS.map(() => ({ mode: 'idle' })),
    acked: [],
    submitted: [],
    read: undefined, // { knew: acked when the read began, host, proof }
    stale: undefined,
    takeovers: 0,
    checkpoints: 0,
    timeouts: 0,
    life: 1, // which primary: sessions of an older one send nothing more
    unclaimed: undefined, // the range before the newest claim, while that is the newest change
    lostRange: undefined, // the claim that a promoted standby lacked
  });

  const tailEnd = (db) => db.log.reduce((m, r) => Math.max(m, r.seq), db.ckpt);
  const lose = () => ({ mode: 'idle' });

  function actions(s) {
    const out = [];
    const add = (label, f) => {
      const n = clone(s);
      f(n);
      if (JSON.stringify(n.db) !== JSON.stringify(s.db) && n.db.range === s.db.range)
        delete n.unclaimed; // Something was stored since: a standby that has it has the claim too.
      out.push([label, n]);
    };
    if (s.unclaimed !== undefined && s.life === 1) {
      add('a standby without the newest claim becomes primary', (n) => {
        n.life += 1;
        n.lostRange = n.db.range;
        n.db.range = n.unclaimed;
        delete n.unclaimed;
        n.wire = []; // Statements on their way never land on another primary.
      });
    }
    for (const h of HOSTS) {
      const me = s.hosts[h];
      // Takeover may start at any time, also while the other host believes it owns the shard.
      if (me.mode === 'idle' && s.takeovers < MAX_TAKEOVERS) {
        add(`h${h} starts a takeover`, (n) => {
          n.takeovers += 1;
          n.hosts[h] = { mode: rule['range row first'] ? 'claim' : 'seek' };
        });
      }
      // A range is drawn above the old one, at random: after a lost claim it may be above or below that, never the same.
      let steps = rule['no range is handed out twice'] ? [2] : [1];
      if (s.lostRange === s.db.range + 2) steps = [1, 3];
      for (const step of me.mode === 'claim' ? steps : []) {
        add(`h${h} raises the shard row's range by ${step}`, (n) => {
          n.unclaimed = n.db.range;
          n.db.range += step;
          n.hosts[h] = rule['range row first']
            ? { mode: 'seek', range: n.db.range }
            : { ...me, mode: 'load', range: n.db.range };
        });
      }
      if (me.mode === 'seek') {
        add(`h${h} reads the shard row and the tail's end`, (n) => {
          const outranged =
            rule['range row first'] &&
            rule['another range in the shard row means lost'] &&
            n.db.range !== me.range;
          n.hosts[h] = outranged
            ? lose()
            : { ...me, mode: 'fence', seq: tailEnd(n.db) + 1, life: n.life };
        });
      }
      if (me.mode === 'fence') {
        add(`h${h} appends its takeover row at ${me.seq}`, (n) => {
          const range = me.range ?? Math.max(n.db.range, ...n.db.log.map((r) => r.range)) + 1;
          const elsewhere =
            rule['the fence goes to the primary that was looked at'] && me.life !== n.life;
          if (elsewhere || n.db.log.some((r) => r.seq === me.seq)) n.hosts[h].mode = 'seek';
          else {
            n.db.log.push({ seq: me.seq, range, kind: 'takeover' });
            n.hosts[h] = { ...me, mode: rule['range row first'] ? 'load' : 'claim', range };
          }
        });
      }
      if (me.mode === 'load') {
        add(`h${h} reads checkpoint and tail`, (n) => {
          const tail = n.db.log.filter((r) => r.seq > n.db.ckpt).sort((a, b) => a.seq - b.seq);
          const sound = tail.every(
            (r, i) => r.seq === n.db.ckpt + 1 + i && (i === 0 || r.range >= tail[i - 1].range),
          );
          if (!sound) n.unsound = 'the tail has a hole or its range falls';
          if (rule['another range in the shard row means lost'] && n.db.range !== me.range)
            n.hosts[h] = lose();
          else n.hosts[h] = { ...me, mode: 'replay', ckpt: n.db.ckpt, tail };
        });
      }
      if (me.mode === 'replay') {
        add(`h${h} loads the view and replays`, (n) => {
          const from = rule['replay skips what the view holds']
            ? Math.max(n.db.view.seq, 0)
            : me.ckpt;
          const ops = [
            ...n.db.view.ops,
            ...me.tail.filter((r) => r.seq > from && r.op).map((r) => r.op),
          ];
          n.hosts[h] = {
            mode: 'owner',
            range: me.range,
            done: Math.max(me.seq, ...me.tail.map((r) => r.seq)),
            ckpt: me.ckpt,
            ops,
          };
        });
      }
      if (me.mode === 'owner' && !me.flight) {
        const op = OPS.find((o) => !s.submitted.includes(o));
        if (op) {
          add(`h${h} sends op ${op} at ${me.done + 1}`, (n) => {
            n.submitted.push(op);
            const row = { seq: me.done + 1, range: me.range, op };
            n.hosts[h].flight = row;
            n.wire.push({ ...row, host: h });
            if (!rule['answer after commit']) n.acked.push(op);
          });
        }
      }
      if (me.mode === 'owner' && me.flight && s.timeouts < 1) {
        add(`h${h} gets no answer for op ${me.flight.op}`, (n) => {
          n.timeouts += 1;
          if (rule['unknown is sent again']) n.wire.push({ ...me.flight, host: h });
          else delete n.hosts[h].flight; // taken for failed: the seq is free again, the caller is told so
        });
        add(`h${h} gives up on op ${me.flight.op}, to take over from itself`, (n) => {
          n.timeouts += 1;
          n.hosts[h] = lose();
        });
      }
      if (
        me.mode === 'owner' &&
        !me.flight &&
        s.checkpoints < MAX_CHECKPOINTS &&
        me.done > me.ckpt
      ) {
        add(`h${h} checkpoints to ${me.done} and truncates`, (n) => {
          n.checkpoints += 1;
          if (rule['checkpoint compares'] && (n.db.range !== me.range || n.db.ckpt !== me.ckpt)) {
            n.hosts[h] = lose();
            return;
          }
          n.db.ckpt = me.done;
          n.db.view = { seq: me.done, ops: [...me.ops] };
          n.db.log = n.db.log.filter(
            (r) => r.seq > me.done || (rule['takeover rows stay'] && r.kind === 'takeover'),
          );
          n.hosts[h].ckpt = me.done;
        });
      }
      if (me.mode === 'owner' && !s.read && s.acked.length > 0) {
        add(`a read reaches h${h}`, (n) => {
          n.read = { host: h, knew: [...n.acked], behind: me.flight?.op };
        });
      }
      // A row that was in flight when the read came in may have landed, and a takeover behind it: that row is waited for.
      const waits =
        rule['reads wait for the row in flight'] && me.flight && s.read?.behind === me.flight.op;
      if (me.mode === 'owner' && s.read && s.read.host === h && !s.read.done && !waits) {
        add(`h${h} answers the read`, (n) => {
          const next = n.db.log.find((r) => r.seq === me.done + 1);
          const owns = !next || next.range === me.range; // our own append in flight may be there already
          n.read.done = true;
          if (rule['reads prove ownership'] && !owns) n.hosts[h] = lose();
          else if (n.read.knew.some((o) => !me.ops.includes(o)))
            n.stale = 'P13: a read was older than an acknowledged write';
        });
      }
    }
    s.wire.forEach((stmt, i) => {
      add(`the append of op ${stmt.op} at ${stmt.seq} by h${stmt.host} lands`, (n) => {
        n.wire.splice(i, 1);
        const hit = n.db.log.find((r) => r.seq === stmt.seq);
        const ours = hit && hit.op === stmt.op && hit.range === stmt.range;
        if (!hit) n.db.log.push({ seq: stmt.seq, range: stmt.range, op: stmt.op });
        n.answers.push({ ...stmt, committed: !hit || Boolean(ours) });
      });
    });
    s.answers.forEach((answer, i) => {
      add(`h${answer.host} hears of op ${answer.op} at ${answer.seq}`, (n) => {
        n.answers.splice(i, 1);
        const owner = n.hosts[answer.host];
        if (
          owner.mode !== 'owner' ||
          !owner.flight ||
          owner.flight.op !== answer.op ||
          owner.range !== answer.range
        )
          return; // nobody waits for it
        if (answer.committed) {
          owner.done = answer.seq;
          owner.ops.push(answer.op);
          delete owner.flight;
          if (!n.acked.includes(answer.op)) n.acked.push(answer.op);
        } else n.hosts[answer.host] = lose();
      });
    });
    return out;
  }

  function broken(s) {
    if (s.stale) return s.stale;
    const strict = { ...rule, 'the fence goes to the primary that was looked at': true };
    if (s.unsound && Object.values(strict).every(Boolean)) return s.unsound;
    const t = truth(s.db);
    const lost = s.acked.find((o) => !t.includes(o));
    if (lost) return `P1: acknowledged op ${lost} is lost`;
    const twice = t.find((o, i) => t.indexOf(o) !== i);
    if (twice) return `P4: op ${twice} applied twice`;
    for (const h of s.hosts) {
      if (h.mode !== 'owner') continue;
      const again = h.ops.find((o, i) => h.ops.indexOf(o) !== i);
      if (again) return `P4: op ${again} applied twice in memory`;
    }
    return undefined;
  }
  return { initial, actions, broken };
}

check('shard log', model, [
  'takeover rows stay',
  'another range in the shard row means lost',
  'unknown is sent again',
  'answer after commit',
  'reads prove ownership',
  'reads wait for the row in flight',
  'checkpoint compares',
  'range row first',
  'replay skips what the view holds',
  'no range is handed out twice',
  'the fence goes to the primary that was looked at',
]);
