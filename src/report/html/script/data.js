// Turns the embedded columns into rows and a tree with sums.

const page = JSON.parse(document.getElementById("data").textContent);
const tree = readTree(page.tree);
const rows = { ...page.rows, work: new Map(page.rows.work.map(([row, at]) => [row, page.rows.work_table[at]])) };

function readTree(columns) {
  const size = columns.depth.length;
  const numbers = () => new Float64Array(size);
  const result = {
    ...columns, size,
    id: fromSteps(columns.id, 0), uid1: uidsOf(columns.uid1), uid2: uidsOf(columns.uid2),
    parent: new Int32Array(size).fill(-1), end: new Int32Array(size).fill(size),
    own1: numbers(), own2: numbers(), all1: numbers(), all2: numbers(),
    events: new Int32Array(size), changes: new Int32Array(size),
    hiddenBelow: new Map(columns.hidden), unsure: new Map(columns.unsure),
  };
  for (const [at, time1, time2] of columns.own) {
    result.own1[at] = time1;
    result.own2[at] = time2;
  }
  nest(result);
  addUp(result);
  addIdle(result, page.idle);
  const roots = [];
  for (let at = 0; at < size; at = result.end[at]) roots.push(at);
  for (const side of [1, 2]) result["total" + side] = roots.reduce((sum, at) => sum + result["all" + side][at], 0);
  return result;
}

// Restores numbers from the differences between consecutive numbers.
function fromSteps(steps, first) {
  let last = first;
  return Float64Array.from(steps, (step) => (last += step));
}

// Restores uids from the differences between consecutive uids; 0 means that a node has no uid.
function uidsOf(steps) {
  let last = -1;
  return Int32Array.from(steps, (step) => (step ? (last += step) : -1));
}

// For each node, the start time and the launch time of its GPU event on one side, in units of 0.1 µs; -1 if a time is
// unknown or there is no such event.
const gpuTimes = [null, null];
function gpuTimesOf(side) {
  if (gpuTimes[side - 1]) return gpuTimes[side - 1];
  const flat = page.tree["gpu" + side];
  const [start, launch] = [new Float64Array(tree.size).fill(-1), new Float64Array(tree.size).fill(-1)];
  let last = 0, next = 0;
  const other = side === 1 ? "2" : "1";
  for (let at = 0; at < tree.size; at++) {
    if (tree.kind[at] !== "g" || tree.relation[at] === other) continue;
    last += flat[next];
    start[at] = last;
    launch[at] = flat[next + 1] < 0 ? -1 : last - flat[next + 1];
    next += 2;
  }
  gpuTimes[side - 1] = { start, launch };
  return gpuTimes[side - 1];
}

// Computes, for each node, its parent and the end of its subtree. The nodes are in preorder, so their depths are
// sufficient.
function nest(t) {
  const above = [];
  for (let at = 0; at < t.size; at++) {
    while (above.length > t.depth[at]) t.end[above.pop()] = at;
    if (above.length) t.parent[at] = above[above.length - 1];
    above.push(at);
  }
}

// Adds up the times, events and changes of each subtree. Nodes are visited in reverse preorder.
function addUp(t) {
  for (let at = t.size - 1; at >= 0; at--) {
    t.all1[at] += t.own1[at];
    t.all2[at] += t.own2[at];
    t.events[at] += t.own1[at] || t.own2[at] || t.kind[at] === "g" ? 1 : 0;
    t.changes[at] += t.relation[at] === "s" || t.relation[at] === "m" ? 0 : 1;
    const parent = t.parent[at];
    if (parent < 0) continue;
    t.all1[parent] += t.all1[at];
    t.all2[parent] += t.all2[at];
    t.events[parent] += t.events[at];
    t.changes[parent] += t.changes[at];
  }
}

// Adds the idle time of a node to its ancestors. Idle time is not part of GPU time, so it has a separate column.
function addIdle(t, entries) {
  t.idle1 = new Float64Array(t.size);
  t.idle2 = new Float64Array(t.size);
  t.ownIdle = new Map();
  for (const [at, time1, time2] of entries) {
    t.ownIdle.set(at, [time1, time2]);
    for (let above = at; above >= 0; above = t.parent[above]) {
      t.idle1[above] += time1;
      t.idle2[above] += time2;
    }
  }
}

// Whether an unmatched call replaces, or is replaced by, different calls. This is assumed if the nearest matched
// ancestor of the call contains unmatched work on both sides.
function isReplaced(at) {
  if (tree.relation[at] === "x") return true;
  let above = at;
  while (above >= 0 && "12".includes(tree.relation[above])) above = tree.parent[above];
  if (above < 0 || above === at) return false;
  if (!replacing.has(above)) replacing.set(above, hasBoth(above));
  return replacing.get(above);
}

const replacing = new Map();
function hasBoth(at) {
  const [one, two] = ["1", "2"].map((side) => childrenOf(at).some((below) =>
    tree.relation[below] === side && (tree.all1[below] > 0 || tree.all2[below] > 0)));
  return one && two;
}

// The direct children of a node; for -1, the roots.
function childrenOf(at) {
  const list = [];
  const end = at < 0 ? tree.size : tree.end[at];
  for (let child = at + 1; child < end; child = tree.end[child]) list.push(child);
  return list;
}

// A node with its ancestors, outermost first.
function pathTo(at) {
  const path = [];
  for (let node = at; node >= 0; node = tree.parent[node]) path.push(node);
  return path.reverse();
}

// These two functions convert between the position of a node on this page and its id in the merged tree. The position
// is -1 if the page does not contain the node.
function idOf(at) {
  return tree.id.length ? tree.id[at] : at;
}

function positionOf(id) {
  if (!tree.id.length) return id < tree.size ? id : -1;
  let low = 0, high = tree.id.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tree.id[middle] < id) low = middle + 1;
    else high = middle;
  }
  return tree.id[low] === id ? low : -1;
}

// The name of a node; `a | b` if the node was renamed.
function nodeName(at) {
  return page.texts[tree.name[at]];
}
