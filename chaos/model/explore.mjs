/**
 * Explicit-state exploration: every interleaving of a small model, breadth first, so a counterexample is a shortest one.
 * A model is {initial, actions(state) -> [[label, nextState]], broken(state) -> string | undefined}.
 */

export function explore(model, { maxStates = 3_000_000 } = {}) {
  const key = (s) => JSON.stringify(s);
  const start = model.initial();
  const seen = new Set([key(start)]);
  let frontier = [{ state: start, label: 'start', from: undefined }];
  let depth = 0;
  while (frontier.length > 0) {
    const next = [];
    for (const node of frontier) {
      const what = model.broken(node.state);
      if (what) return { states: seen.size, depth, broken: what, trace: traceOf(node) };
      for (const [label, state] of model.actions(node.state)) {
        const k = key(state);
        if (seen.has(k)) continue;
        seen.add(k);
        next.push({ state, label, from: node });
      }
      if (seen.size > maxStates) return { states: seen.size, depth, truncated: true };
    }
    frontier = next;
    depth += 1;
  }
  return { states: seen.size, depth };
}

function traceOf(node) {
  const labels = [];
  for (let n = node; n.from; n = n.from) labels.unshift(n.label);
  return labels;
}

/** Explores the model with all rules on (must hold), then with each rule off (must break). Exits 1 on a surprise. */
export function check(name, makeModel, rules, options) {
  let surprises = 0;
  const show = (title, result, expectBreak) => {
    const ok = expectBreak ? Boolean(result.broken) : !result.broken && !result.truncated;
    if (!ok) surprises += 1;
    const verdict = result.broken ?? (result.truncated ? 'not explored to the end' : 'holds');
    console.log(
      `${ok ? 'ok  ' : 'BAD '} ${name}: ${title}: ${verdict} (${result.states} states, depth ${result.depth})`,
    );
    if (result.trace && (expectBreak ? process.argv.includes('--traces') : true)) {
      for (const [i, step] of result.trace.entries()) console.log(`       ${i + 1}. ${step}`);
    }
  };
  const all = Object.fromEntries(rules.map((r) => [r, true]));
  show('all rules on', explore(makeModel(all), options), false);
  for (const rule of rules)
    show(`without "${rule}"`, explore(makeModel({ ...all, [rule]: false }), options), true);
  process.exitCode = surprises ? 1 : (process.exitCode ?? 0);
}
