// Turns the embedded columns into rows and a tree with sums.

const page = JSON.parse(document.getElementById("data").textContent);
// Positions and ids are stored as differences from the previous ones.
for (const list of [page.tree.own, page.tree.unsure, page.idle, page.overlap, page.host]) {
  let last = 0;
  for (const entry of list) entry[0] = last += entry[0];
}
for (const key of ["id", "node", "common", "uid1", "uid2"]) page.rows[key] = fromSteps(page.rows[key], 0);
const tree = readTree(page.tree);
// The measure of the recorded times: GPU time or, if there are no GPU events, host time.
const RECORDED = page.measure === "gpu_time" ? "gpu" : "host";
const rows = { ...page.rows, work: new Map(page.rows.work.map(([row, at]) => [row, page.rows.work_table[at]])) };

function readTree(columns) {
  const size = columns.depth.length;
  const result = {
    ...columns, size,
    id: fromSteps(columns.id, 0), uid1: uidsOf(columns.uid1), uid2: uidsOf(columns.uid2),
    parent: new Int32Array(size).fill(-1), end: new Int32Array(size).fill(size),
    changes: new Int32Array(size), of: {}, ownIdle: new Map(page.idle.map(([at, ...times]) => [at, times])),
    otherNames: new Map(columns.other_names.most), otherNamesAt: new Map(columns.other_names.rest),
    hiddenBelow: new Map(columns.hidden), unsure: new Map(columns.unsure),
  };
  nest(result);
  for (let at = size - 1; at >= 0; at--) {
    result.changes[at] += result.relation[at] === "s" || result.relation[at] === "m" ? 0 : 1;
    if (result.parent[at] >= 0) result.changes[result.parent[at]] += result.changes[at];
  }
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

// The times of all nodes in a measure, computed when they are first needed: each node's own times, those of its subtree,
// and the number of nodes below it that have time.
function timesOf(measure) {
  return (tree.of[measure] ??= addUp(measure === "host" && RECORDED !== "host" ? page.host : page.tree.own, measure));
}

function addUp(own, measure) {
  const numbers = () => new Float64Array(tree.size);
  const sums = { own1: numbers(), own2: numbers(), all1: numbers(), all2: numbers(), events: new Int32Array(tree.size), total1: 0, total2: 0 };
  for (const [at, time1, time2] of own) [sums.own1[at], sums.own2[at]] = [time1, time2];
  if (measure === "step") addStepTimes(sums);
  for (let at = tree.size - 1; at >= 0; at--) {
    sums.events[at] += sums.own1[at] || sums.own2[at] || (tree.kind[at] === "g" && measure !== "host") ? 1 : 0;
    const parent = tree.parent[at];
    for (const side of [1, 2]) {
      sums["all" + side][at] += sums["own" + side][at];
      if (parent >= 0) sums["all" + side][parent] += sums["all" + side][at];
      else sums["total" + side] += sums["all" + side][at];
    }
    if (parent >= 0) sums.events[parent] += sums.events[at];
  }
  return sums;
}

// Turns the recorded times into parts of the steps: shortens events that run at the same time, and adds idle time.
function addStepTimes({ own1, own2 }) {
  const sumOf = (own, at) => own.subarray(at, tree.end[at]).reduce((sum, time) => sum + time, 0);
  for (const [at, ...excess] of page.overlap) {
    [own1, own2].forEach((own, side) => {
      // The events of a call are not always below it.
      let top = at, sum = sumOf(own, at);
      while (sum + excess[side] < 0 && tree.parent[top] >= 0) sum = sumOf(own, top = tree.parent[top]);
      if (sum <= 0) return;
      for (let node = top; node < tree.end[top]; node++) own[node] *= Math.max(1 + excess[side] / sum, 0);
    });
  }
  for (const [at, time1, time2] of page.idle) {
    own1[at] += time1;
    own2[at] += time2;
  }
}

// The times of all rows in a measure, and the time that belongs to no row.
const rowsOf = {};
function rowTimesOf(measure) {
  return (rowsOf[measure] ??= measure === RECORDED ? { time1: page.rows.time1, time2: page.rows.time2, outside: [0, 0] } : rowTimes(measure));
}

// The rows of the recorded measure have their exact times. All other time belongs to the nearest row at or above its
// node or, if there is none, to the first row below the nearest op around it.
function rowTimes(measure) {
  const recorded = timesOf(RECORDED), of = timesOf(measure), isStep = measure === "step";
  const [here, below] = [0, 1].map(() => new Int32Array(tree.size).fill(-1));
  const places = [1, 2].map((side) => new Map(Array.from(tree["uid" + side], (uid, at) => [uid, at])));
  rows.node.forEach((node, row) => {
    const calls = [1, 2].map((side) => (rows["uid" + side][row] < 0 ? -1 : places[side - 1].get(rows["uid" + side][row]) ?? -1));
    for (let at of [node, ...calls]) {
      if (at < 0) continue;
      if (here[at] < 0) here[at] = row;
      for (; at >= 0 && below[at] < 0; at = tree.parent[at]) below[at] = row;
    }
  });
  for (let at = 0; at < tree.size; at++) if (here[at] < 0 && tree.parent[at] >= 0) here[at] = here[tree.parent[at]];
  const sums = { outside: [0, 0] };
  for (const side of [1, 2]) {
    const times = sums["time" + side] = isStep ? Float64Array.from(page.rows["time" + side]) : new Float64Array(rows.id.length);
    for (let at = 0; at < tree.size; at++) {
      const time = of["own" + side][at] - (isStep ? recorded["own" + side][at] : 0);
      if (!time) continue;
      let [row, op] = [here[at], at];
      for (; row < 0 && op >= 0 && "org".includes(tree.kind[op]); op = tree.parent[op]) row = below[op];
      if (row < 0) sums.outside[side - 1] += time;
      else times[row] += time;
    }
  }
  return sums;
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
