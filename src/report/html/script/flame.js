// Draws the merged tree as icicles: calls with the same stack of names form one frame, and the width of a frame
// represents the frame's time. The two-sided view shows the baseline above the candidate, with frames in the same order
// and to the same scale; the differential view is a single icicle. If a frame has only one child and the child takes
// the same time, the two are drawn as one frame.

const FRAME_HEIGHT = 18;
const GAP = 30;
const LEAST_WIDTH = 0.0006;
const VIEWS = [["", "both sides"], ["diff", "differential"], ["up", "from the kernels up"], ["sandwich", "callers and callees"]];
const WIDTHS = [["", page.names[1]], ["trace1", page.names[0]]];
const CHAINS = [["", "as one frame"], ["all", "each call"]];
const IDLE = "(idle)";

const flameView = document.getElementById("flame-view");
const flameInfo = document.getElementById("flame-info");

// The view of the flame graph as selected by the page state. The state is read once per drawing.
let flame = readFlame();
function readFlame() {
  const known = VIEWS.some(([value]) => value === state.get("view"));
  const view = known ? state.get("view") : "";
  return {
    view, up: view === "up", layers: state.get("apart") !== "1", whole: state.get("chains") === "all",
    idle: measure() === "step" && view !== "up" && view !== "sandwich",
  };
}

function view() {
  return flame.view;
}

// Makes a frame. `nodes` lists the frame's nodes as pairs [node, leaf]. In the top-down view, the two are the same
// node, and the time of the frame includes all nodes below it. In the bottom-up view, the frame counts the leaf's own
// time, and the node is the ancestor of the leaf that the frame shows. The root frame covers all nodes.
function frameOf(key, nodes, parent, up = flame.up) {
  const whole = parent?.whole ?? false;
  const frame = { key, title: key, chain: [key], nodes, last: nodes, parent, time1: 0, time2: 0, up, whole };
  const [one, two] = up && !whole ? [tree.own1, tree.own2] : [tree.all1, tree.all2];
  for (const [node, leaf] of nodes) {
    const at = up ? leaf : node;
    frame.time1 += one[at];
    frame.time2 += two[at];
  }
  return frame;
}

function rootFrame() {
  const nodes = flame.up ? leaves() : childrenOf(-1).map((node) => [node, node]);
  return { ...frameOf(flame.up ? "all calls that took time" : "all threads", nodes, null), root: true };
}

// The nodes that have their own time.
function leaves() {
  const list = [];
  for (let at = 0; at < tree.size; at++) if (tree.own1[at] || tree.own2[at]) list.push([at, at]);
  return list;
}

// The key of a call; calls with the same key form one frame. If layers are merged, all instances of a module class
// have the same key.
function keyOf(node) {
  if (!flame.layers || !isModule(node)) return nodeName(node);
  const id = tree.name[node];
  if (!classNames.has(id)) classNames.set(id, nodeName(node).replace(/nn\.Module: (.*?)_[0-9]+(?= \| |$)/g, "nn.Module: $1_*"));
  return classNames.get(id);
}
const classNames = new Map();

// The child frames of a frame, in call order.
function framesBelow(frame) {
  const groups = new Map();
  // Comparing name ids is faster than comparing names.
  const key = flame.layers ? keyOf : (node) => tree.name[node];
  const add = (node, leaf) => {
    const known = groups.get(key(node));
    if (known) known.push([node, leaf]);
    else groups.set(key(node), [[node, leaf]]);
  };
  const idle = [0, 0];
  for (const [node, leaf] of frame.last) {
    if (frame.up) {
      const above = frame.root && !frame.whole ? leaf : tree.parent[node];
      if (above >= 0) add(above, leaf);
      continue;
    }
    if (flame.idle && !frame.root && tree.ownIdle.has(node)) {
      tree.ownIdle.get(node).forEach((time, side) => { idle[side] += time; });
    }
    if (frame.root) {
      add(node, node);
      continue;
    }
    for (let below = node + 1; below < tree.end[node]; below = tree.end[below]) {
      if (tree.all1[below] || tree.all2[below]) add(below, below);
    }
  }
  const frames = [...groups.values()].map((members) => frameOf(keyOf(members[0][0]), members, frame, frame.up));
  if (idle[0] || idle[1]) {
    frames.push({ ...frameOf(IDLE, [], frame, false), time1: idle[0], time2: idle[1], isIdle: true });
  }
  return frames;
}

// The child frames of a frame, computed only once.
function below(frame) {
  return (frame.below ??= framesBelow(frame));
}

// Merges a frame with its only child, as long as there is only one child and it takes the same time. This function is
// called when the frame is drawn.
function collapse(frame) {
  if (frame.isCollapsed || flame.whole) return;
  frame.isCollapsed = true;
  for (;;) {
    const found = below(frame);
    const [only] = found;
    if (found.length !== 1 || only.isIdle || only.time1 !== frame.time1 || only.time2 !== frame.time2) break;
    frame.chain.push(only.key);
    frame.last = only.last;
    frame.all = (frame.all || frame.nodes).concat(only.nodes);
    frame.below = undefined;
  }
  if (frame.chain.length > 1) {
    const between = frame.chain.length - 2;
    const last = frame.last.length && tree.kind[frame.last[0][0]] === "g" ? shortKernel : shortName;
    frame.title = `${shortName(frame.chain[0])} ›${between ? ` … ${between} …  ›` : ""} ${last(frame.chain[frame.chain.length - 1])}`;
  }
}

// The time that determines the width of a frame in a drawing.
function breadth(frame, side) {
  return scaled(side === 1 ? frame.time1 : frame.time2, side);
}

// The frame that represents a node's stack. In the bottom-up view, this frame is directly below the root and has the
// name of the node.
function frameAt(node) {
  let frame = rootFrame();
  if (flame.up) return below(frame).find((one) => one.key === keyOf(node)) || frame;
  const holds = (candidate, step) => (candidate.all || candidate.nodes).some(([at]) => at === step);
  for (const step of pathTo(node)) {
    if (!frame.root && holds(frame, step)) continue;
    const next = below(frame).find((one) => holds(one, step));
    if (!next) break;
    frame = next;
    collapse(frame);
  }
  return frame;
}

function zoomedFrame() {
  const id = stateNumber("zoom");
  const at = id === null ? -1 : positionOf(id);
  return at < 0 ? rootFrame() : frameAt(at);
}

// ---- drawing

// The icicles of a view as { top, title, side, above, up }: `above` says whether the frames above `top` are drawn. `up`
// says whether the icicle grows upward. All icicles of a view are drawn to the same scale.
function drawings() {
  if (view() === "sandwich") return sandwich();
  const top = zoomedFrame();
  const one = { top, title: page.names[0], side: 1, above: true };
  const two = { top, title: page.names[1], side: 2, above: true };
  if (view() === "") return [one, two];
  return [state.get("width") === "trace1" ? one : two];
}

function drawFlame() {
  flame = readFlame();
  const list = drawings();
  const whole = Math.max(...list.map(({ top, side }) => breadth(top, side)), 0);
  const made = [];
  let y = 0;
  list.forEach((drawing, at) => {
    if (list.length > 1) {
      const words = `${drawing.title}: ${drawing.side ? decimals(breadth(drawing.top, drawing.side)) : ""} ${unitWords()}`;
      const line = element("p", { class: "flame-title" }, words);
      line.style.top = y + "px";
      made.push(line);
      y += GAP - 8;
    }
    y = drawIcicle(drawing, whole, y, made, at) + 8;
  });
  flameView.style.height = y + "px";
  flameView.replaceChildren(...made);
  markFlame();
  if (whole === 0) flameInfo.textContent = "No time in this view.";
}

// Draws one icicle below the vertical position `y`. The icicle of the callers in the sandwich view grows upward, so the
// selected op is at its lower edge.
function drawIcicle({ top, side, above, up }, whole, y, made, drawing) {
  const ancestors = [];
  if (above) for (let frame = top.parent; frame; frame = frame.parent) ancestors.unshift(frame);
  const levels = [];
  let current = [[top, 0, whole ? breadth(top, side) / whole : 1]];
  while (current.length) {
    levels.push(current);
    current = current.flatMap(([frame, left]) => placeBelow(frame, left, whole, side));
  }
  ancestors.forEach((frame, level) => made.push(frameButton(frame, level, y + level * FRAME_HEIGHT, 0, 1, "above", drawing)));
  const first = y + ancestors.length * FRAME_HEIGHT;
  levels.forEach((list, level) => {
    const row = up ? levels.length - 1 - level : level;
    for (const [frame, left, width] of list) {
      made.push(frameButton(frame, ancestors.length + level, first + row * FRAME_HEIGHT, left, width, "", drawing));
    }
  });
  return first + levels.length * FRAME_HEIGHT;
}

// The child frames, with position and width as fractions of the whole; frames that are too narrow
// are omitted.
function placeBelow(frame, left, whole, side) {
  const placed = [];
  if (frame.isIdle) return placed;
  if (!frame.root) collapse(frame);
  for (const one of below(frame)) {
    const width = whole ? breadth(one, side) / whole : 0;
    if (width > LEAST_WIDTH) placed.push([one, left, width]);
    left += width;
  }
  return placed;
}

// Describes how the time of a frame changed. The color depends on the frame's share of its parent's change: the frame's
// difference divided by the sum of the absolute differences of all children of the parent. Even if every frame slowed
// down, the strongly colored frames thus form a path to the frames that slowed down the most.
function frameChange(frame) {
  const own = difference(frame.time1, frame.time2);
  const above = frame.parent;
  const sum = above ? (above.sizes ??= below(above).reduce((sum, { time1, time2 }) => sum + Math.abs(difference(time1, time2)), 0)) : Math.abs(own);
  const how = change(frame.time1, frame.time2);
  if (how.word === "same") return how;
  const part = sum ? Math.abs(own) / sum : 0;
  const strength = part < 0.1 ? 1 : part < 0.5 ? 2 : 3;
  return { ...how, style: how.word + strength };
}

function drawFlameLegend() {
  const sample = (style, text) => element("span", { class: style }, text);
  document.getElementById("flame-legend").replaceChildren(
    "Share of the parent frame's change: ",
    sample("more1", "▲ below 10%"), " ", sample("more2", "▲ 10–50%"), " ", sample("more3", "▲ above 50%"), " more time; ",
    sample("less1", "▼ below 10%"), " ", sample("less2", "▼ 10–50%"), " ", sample("less3", "▼ above 50%"), " less; ",
    sample("same0", "· no change"), " ", sample("replaced", "◇ replaces or is replaced by other calls"));
}

function frameButton(frame, level, y, left, width, kind, drawing) {
  const how = frameChange(frame);
  const style = frame.isIdle ? "idle" : isReplacedFrame(frame) ? "replaced" : how.style;
  const hit = isFound(frame) ? " hit" : "";
  const title = frame.chain.length > 1 ? frame.title : shortName(frame.isKernel ?? (frame.isKernel = isKernelFrame(frame)) ? shortKernel(frame.key) : frame.key);
  const button = element("button", {
    type: "button", class: `frame ${style} ${kind}${hit}`, "data-level": level, "data-drawing": drawing, "data-zoom": zoomOf(frame), tabindex: level === 0 && drawing === 0 ? "0" : "-1",
    onclick: () => zoomTo(frame), onmouseenter: () => describe(frame, how), onfocus: () => describe(frame, how),
  }, (style === "replaced" ? "◇ " : how.sign + " ") + title);
  button.frame = frame;
  button.style.top = y + "px";
  button.style.left = 100 * left + "%";
  button.style.width = 100 * width + "%";
  return button;
}

function isKernelFrame(frame) {
  return !frame.root && frame.nodes.length > 0 && tree.kind[frame.nodes[0][0]] === "g";
}

// ---- sandwich: the callers of an op are above it, its callees below

function sandwich() {
  const key = state.get("of") || biggestOp();
  const nodes = [];
  const fits = flame.layers ? (at) => keyOf(at) === key : (at) => tree.name[at] === number;
  const number = page.texts.indexOf(key);
  // If a call to the selected op is nested in another call to this op, only the outer call is
  // counted.
  for (let at = 0; at < tree.size; at++) {
    if (!fits(at)) continue;
    nodes.push([at, at]);
    at = tree.end[at] - 1;
  }
  const callers = { ...frameOf(key, nodes, null, false), root: true, whole: true, up: true };
  const callees = { ...frameOf(key, nodes, null, false), root: false };
  const side = state.get("width") === "trace1" ? 1 : 2;
  const word = page.names[side - 1];
  return [{ top: callers, title: `Callers of ${shortName(key)}, ${word}`, side, up: true }, { top: callees, title: `Callees of ${shortName(key)}, ${word}`, side }];
}

// The name of the op with the largest total difference, summed over its outermost calls.
let biggest = null;
function biggestOp() {
  return (biggest ??= findBiggestOp());
}

function findBiggestOp() {
  const sums = new Map();
  for (let at = 0; at < tree.size; at++) {
    if (tree.kind[at] !== "o" || !tree.events[at]) continue;
    const above = tree.parent[at];
    if (above >= 0 && tree.kind[above] === "o") continue;
    const sum = sums.get(tree.name[at]) || [0, 0];
    sums.set(tree.name[at], [sum[0] + tree.all1[at], sum[1] + tree.all2[at]]);
  }
  const size = ([, [one, two]]) => Math.abs(difference(one, two)) + 1e-9 * (one + two);
  const best = [...sums].reduce((best, entry) => (best && size(best) >= size(entry) ? best : entry), null);
  return best ? page.texts[best[0]] : tree.size ? nodeName(0) : "";
}

function zoomOf(frame) {
  return frame.root || !frame.nodes.length ? "" : idOf(frame.nodes[0][0]);
}

// Whether every call in the frame replaced other calls or was replaced. Such a frame is not colored as slower or
// faster.
function isReplacedFrame(frame) {
  return !frame.root && frame.nodes.length > 0 && frame.nodes.every(([node]) => isReplaced(node));
}

function isFound(frame) {
  const wanted = (state.get("seek") || "").toLowerCase();
  return wanted !== "" && frame.chain.some((title) => title.toLowerCase().includes(wanted));
}

// A name without folders and without the prefix `nn.Module: `.
function shortName(title) {
  return title.replace(/^nn\.Module: /, "").replace(/^(?:[^\s():]*\/)+(?=[^\s():]+\(\d+\): )/, "");
}

function describe(frame, how) {
  const replaced = isReplacedFrame(frame) ? `, replaces or is replaced by other calls ${bothTimes(frame)}` : "";
  const figures = `${time(frame.time1, 1)} → ${time(frame.time2, 2)} ${unitWords()}, ${how.sign} ${signed(frame.time1, frame.time2)}`;
  const factor = ratio(frame.time1, frame.time2);
  const calls = frame.isIdle ? "all devices idle" : frame.nodes.length === 1 ? "1 call" : `${frame.nodes.length} calls`;
  const names = frame.chain.length > 4 ? [frame.chain[0], `${frame.chain.length - 2} calls`, frame.chain[frame.chain.length - 1]] : frame.chain;
  flameInfo.replaceChildren(element("span", { class: "line" }, name(names.join(" › "))), element("span", { class: "line" }, `${figures}${factor ? ", " + factor : ""}, ${calls}${replaced}`));
}

// Formats the baseline and candidate times of the nearest matched call at or above the frame's
// first call.
function bothTimes(frame) {
  let above = frame.nodes[0][0];
  while (above >= 0 && "12".includes(tree.relation[above])) above = tree.parent[above];
  return above < 0 ? "" : `(${time(tree.all1[above], 1)} → ${time(tree.all2[above], 2)} ${unitWords()}, all below ${shortName(nodeName(above))})`;
}

function zoomTo(frame) {
  if (frame.isIdle) return;
  if (view() === "sandwich") {
    if (frame.nodes.length) goTo({ of: keyOf(frame.nodes[0][0]) });
  } else goTo({ zoom: zoomOf(frame) });
  drawFlame();
  const target = flameView.querySelector(`[data-zoom="${zoomOf(frame)}"]`);
  if (target) target.focus({ preventScroll: true });
}

function showInFlame(at) {
  openPanel("flame", { zoom: idOf(at), view: ["up", "sandwich"].includes(view()) ? "" : view() });
  drawFlameControls();
  drawFlame();
}

function showSandwich(key) {
  goTo({ view: "sandwich", of: key });
  drawFlameControls();
  drawFlame();
}

// Handles keys in the flame graph: arrow keys move to the adjacent frame in their direction, + and - zoom, Escape zooms
// out, s shows callers and callees.
function flameKey(event) {
  const current = event.target.closest(".frame");
  if (!current || event.ctrlKey || event.metaKey || event.altKey) return;
  const level = Number(current.dataset.level);
  const frames = [...flameView.querySelectorAll(`.frame[data-drawing="${current.dataset.drawing}"]`)];
  const at = (wanted) => frames.filter((frame) => Number(frame.dataset.level) === wanted);
  const left = (frame) => parseFloat(frame.style.left);
  const right = (frame) => left(frame) + parseFloat(frame.style.width);
  const beside = at(level);
  const upwards = () => at(level - 1).filter((frame) => left(frame) <= left(current) + 1e-6).pop();
  const downwards = () => at(level + 1).find((frame) => left(frame) >= left(current) - 1e-6 && left(frame) < right(current));
  // Callers grow upward.
  const isCallers = view() === "sandwich" && current.dataset.drawing === "0";
  const [goUp, goDown] = isCallers ? [downwards, upwards] : [upwards, downwards];
  const other = current.dataset.drawing === "0" ? "1" : "0";
  const across = () => flameView.querySelector(`.frame[data-drawing="${other}"][data-level="0"]`);
  const targets = {
    ArrowLeft: () => beside[beside.indexOf(current) - 1],
    ArrowRight: () => beside[beside.indexOf(current) + 1],
    ArrowUp: () => goUp() || across(),
    ArrowDown: () => goDown() || across(),
  };
  const out = () => {
    const parent = view() === "sandwich" ? null : zoomedFrame().parent;
    if (parent) zoomTo(parent);
  };
  const acts = {
    Escape: out, "-": out, "+": () => zoomTo(current.frame), "=": () => zoomTo(current.frame),
    0: () => view() !== "sandwich" && zoomTo(rootFrame()),
    s: () => current.frame.nodes.length && showSandwich(keyOf(current.frame.nodes[0][0])),
  };
  if (!acts[event.key] && !targets[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  if (acts[event.key]) acts[event.key]();
  else targets[event.key]()?.focus();
}
