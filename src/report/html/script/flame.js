// The merged tree -> an icicle: calls with the same stack of names are one frame, and width is time.
// A frame with a single child of the same time is merged with it, since the stack does not branch there.

const FRAME_HEIGHT = 18;
const LEAST_WIDTH = 0.0006;
const WIDTHS = [["", page.names[1]], ["trace1", page.names[0]]];
const VIEWS = [["", "from the thread down"], ["up", "from the kernels up"]];
const CHAINS = [["", "as one frame"], ["all", "each call"]];
const IDLE = "(idle)";

const flameView = document.getElementById("flame-view");
const flameInfo = document.getElementById("flame-info");

// A frame: pairs of [node, node whose own time counts]. From the thread down the two are the same, and all
// time below a node counts; from the kernels up the first one walks towards the thread. The root has all.
function frameOf(key, nodes, parent) {
  const frame = { key, title: key, chain: [key], nodes, last: nodes, parent, time1: 0, time2: 0, idle: 0 };
  for (const [node, leaf] of nodes) {
    frame.time1 += isUp() ? tree.own1[leaf] : tree.all1[node] + idleOf(tree.idle1, node);
    frame.time2 += isUp() ? tree.own2[leaf] : tree.all2[node] + idleOf(tree.idle2, node);
  }
  return frame;
}

function isUp() {
  return state.get("view") === "up";
}

function withIdle() {
  return state.get("idle") === "1" && !isUp();
}

function idleOf(column, node) {
  return withIdle() ? column[node] : 0;
}

function rootFrame() {
  const nodes = isUp() ? leaves() : childrenOf(-1).map((node) => [node, node]);
  return { ...frameOf(isUp() ? "everything that took time" : "all threads", nodes, null), root: true };
}

// The nodes with time of their own.
function leaves() {
  const list = [];
  for (let at = 0; at < tree.size; at++) if (tree.own1[at] || tree.own2[at]) list.push([at, at]);
  return list;
}

// The key that calls share to become one frame; with layers merged, instances of one module class share one.
function keyOf(node) {
  const text = nodeName(node);
  return state.get("layers") === "1" && isModule(node)
    ? text.replace(/nn\.Module: (.*?)_[0-9]+(?= \| |$)/g, "nn.Module: $1_*") : text;
}

// The frames directly below, in call order.
function framesBelow(frame, join = collapsed) {
  const groups = new Map();
  const add = (key, pair) => groups.has(key) ? groups.get(key).push(pair) : groups.set(key, [pair]);
  const idle = [0, 0];
  for (const [node, leaf] of frame.last) {
    if (isUp()) {
      const above = frame.root ? leaf : tree.parent[node];
      if (above >= 0) add(keyOf(above), [above, leaf]);
      continue;
    }
    if (withIdle() && !frame.root && tree.ownIdle.has(node)) {
      tree.ownIdle.get(node).forEach((time, side) => { idle[side] += time; });
    }
    for (const below of frame.root ? [node] : childrenOf(node)) {
      if (tree.all1[below] || tree.all2[below] || idleOf(tree.idle1, below) || idleOf(tree.idle2, below)) {
        add(keyOf(below), [below, below]);
      }
    }
  }
  const frames = [...groups].map(([key, members]) => join(frameOf(key, members, frame)));
  if (idle[0] || idle[1]) {
    frames.push({ ...frameOf(IDLE, [], frame), time1: idle[0], time2: idle[1], isIdle: true });
  }
  return frames;
}

// A frame merged with the chain of only children below it that have the same time.
function collapsed(frame) {
  if (state.get("chains") === "all") return frame;
  for (;;) {
    const below = framesBelow(frame, (single) => single);
    const [only] = below;
    if (below.length !== 1 || only.isIdle || only.time1 !== frame.time1 || only.time2 !== frame.time2) break;
    frame.chain.push(only.key);
    frame.last = only.last;
    frame.all = (frame.all || frame.nodes).concat(only.nodes);
  }
  if (frame.chain.length > 1) {
    const between = frame.chain.length - 2;
    frame.title = `${shortName(frame.chain[0])} ›${between ? ` … ${between} …  ›` : ""} ${shortName(frame.chain[frame.chain.length - 1])}`;
  }
  return frame;
}

function breadth(frame) {
  return state.get("width") === "trace1" ? frame.time1 : frame.time2;
}

// The frame for a node's stack; from the kernels up, the frame for its name.
function frameAt(node) {
  let frame = rootFrame();
  if (isUp()) return framesBelow(frame).find((below) => below.key === keyOf(node)) || frame;
  const holds = (candidate, step) => (candidate.all || candidate.nodes).some(([at]) => at === step);
  for (const step of pathTo(node)) {
    if (!frame.root && holds(frame, step)) continue;
    const next = framesBelow(frame).find((below) => holds(below, step));
    if (!next) break;
    frame = next;
  }
  return frame;
}

function zoomedFrame() {
  const id = stateNumber("zoom");
  const at = id === null ? -1 : positionOf(id);
  return at < 0 ? rootFrame() : frameAt(at);
}

function drawFlame() {
  const top = zoomedFrame();
  const above = [];
  for (let frame = top.parent; frame; frame = frame.parent) above.unshift(frame);
  const made = above.map((frame, level) => frameButton(frame, level, 0, 1, "above"));
  const total = breadth(top);
  let level = above.length;
  let current = [[top, 0, 1]];
  while (current.length) {
    const next = [];
    for (const [frame, left, width] of current) {
      made.push(frameButton(frame, level, left, width, ""));
      next.push(...placeBelow(frame, left, total));
    }
    current = next;
    level++;
  }
  flameView.style.height = level * FRAME_HEIGHT + 2 + "px";
  flameView.replaceChildren(...made);
  if (total === 0) flameInfo.textContent = "This side has no time here. Set the width to the other trace.";
}

// The frames below with their position and width as fractions of the whole; those too narrow are left out.
function placeBelow(frame, left, total) {
  const placed = [];
  for (const below of framesBelow(frame)) {
    const width = total > 0 ? breadth(below) / total : 0;
    if (width >= LEAST_WIDTH) placed.push([below, left, width]);
    left += width;
  }
  return placed;
}

function frameButton(frame, level, left, width, extra) {
  const how = change(frame.time1, frame.time2);
  const style = frame.isIdle ? "idle" : isReplacedFrame(frame) ? "replaced" : how.style;
  const found = isFound(frame) ? "hit" : "";
  const tell = () => describe(frame, how);
  const button = element("button", {
    type: "button", class: `frame ${style} ${extra} ${found}`, tabindex: extra || level ? "-1" : "0",
    "data-zoom": zoomOf(frame), "data-level": level,
    "aria-label": `${frame.title}: ${time(frame.time1)} to ${time(frame.time2)} ${page.unit}, ${how.word}`,
    onmouseenter: tell, onfocus: tell, onclick: () => zoomTo(frame),
  }, (style === "replaced" ? "◇" : how.sign) + " " + (frame.chain.length > 1 ? frame.title : shortName(frame.title)));
  button.style.cssText = `left:${left * 100}%;width:${width * 100}%;top:${level * FRAME_HEIGHT}px`;
  return button;
}

function zoomOf(frame) {
  return frame.root || !frame.nodes.length ? "" : idOf(frame.nodes[0][0]);
}

// Whether all calls of the frame are unmatched and replace others, or were replaced: new does not mean
// slower.
function isReplacedFrame(frame) {
  return !frame.root && frame.nodes.length > 0 && frame.nodes.every(([node]) => isReplaced(node));
}

function isFound(frame) {
  const wanted = (state.get("seek") || "").toLowerCase();
  return wanted !== "" && frame.chain.some((title) => title.toLowerCase().includes(wanted));
}

// The most informative part of a name: without folders and without the prefix that all modules have.
function shortName(title) {
  return title.replace(/^nn\.Module: /, "").replace(/^(?:[^\s():]*\/)+(?=[^\s():]+\(\d+\): )/, "");
}

function describe(frame, how) {
  const replaced = isReplacedFrame(frame) ? `, replaces or is replaced by other calls ${bothTimes(frame)}` : "";
  const figures = `${time(frame.time1)} → ${time(frame.time2)} ${page.unit}, ${how.sign} ${signed(frame.time2 - frame.time1)}`;
  const factor = ratio(frame.time1, frame.time2);
  const calls = frame.isIdle ? "all devices idle" : frame.nodes.length === 1 ? "1 call" : `${frame.nodes.length} calls`;
  const names = frame.chain.length > 4 ? [frame.chain[0], `${frame.chain.length - 2} calls`, frame.chain[frame.chain.length - 1]] : frame.chain;
  flameInfo.replaceChildren(name(names.join(" › ")), element("br"), `${figures}${factor ? ", " + factor : ""}, ${calls}${replaced}`);
}

// Both times of the nearest call above that both sides have.
function bothTimes(frame) {
  let above = frame.nodes[0][0];
  while (above >= 0 && "12".includes(tree.relation[above])) above = tree.parent[above];
  return above < 0 ? "" : `(${time(tree.all1[above])} → ${time(tree.all2[above])} ${page.unit} in total below ${shortName(nodeName(above))})`;
}

function zoomTo(frame) {
  if (frame.isIdle) return;
  setState({ zoom: zoomOf(frame) });
  drawFlame();
  const target = flameView.querySelector(`[data-zoom="${zoomOf(frame)}"]`);
  if (target) target.focus({ preventScroll: true });
}

function showInFlame(at) {
  setState({ at: "flame", zoom: idOf(at) });
  drawFlame();
  document.getElementById("flame").scrollIntoView();
}

// Arrow keys move between frames spatially; Escape zooms out.
function flameKey(event) {
  const current = event.target.closest(".frame");
  if (!current) return;
  const level = Number(current.dataset.level);
  const frames = [...flameView.querySelectorAll(".frame")];
  const at = (wanted) => frames.filter((frame) => Number(frame.dataset.level) === wanted);
  const left = (frame) => parseFloat(frame.style.left);
  const right = (frame) => left(frame) + parseFloat(frame.style.width);
  const beside = at(level);
  const targets = {
    ArrowLeft: () => beside[beside.indexOf(current) - 1],
    ArrowRight: () => beside[beside.indexOf(current) + 1],
    ArrowUp: () => at(level - 1).filter((frame) => left(frame) <= left(current) + 1e-6).pop(),
    ArrowDown: () => at(level + 1).find((frame) => left(frame) >= left(current) - 1e-6 && left(frame) < right(current)),
  };
  if (event.key === "Escape") {
    const parent = zoomedFrame().parent;
    if (parent) zoomTo(parent);
  } else if (targets[event.key]) {
    event.preventDefault();
    targets[event.key]()?.focus();
  }
}

// Marks the frames whose name matches, and shows their number and total time.
function seekInFlame(text) {
  setState({ seek: text });
  drawFlame();
  tellFound();
}

function tellFound() {
  const wanted = (state.get("seek") || "").toLowerCase();
  const line = document.getElementById("flame-found");
  if (!wanted) return line.replaceChildren();
  // Of nested matches only the outermost counts.
  let count = 0, one = 0, two = 0;
  for (let at = 0; at < tree.size; at++) {
    if (!nodeName(at).toLowerCase().includes(wanted)) continue;
    count++;
    one += tree.all1[at];
    two += tree.all2[at];
    at = tree.end[at] - 1;
  }
  line.textContent = count === 0 ? `no name matches “${state.get("seek")}”`
    : `${count === 1 ? "1 call" : count + " calls"}: ${time(one)} → ${time(two)} ${page.unit}`;
}

function drawFlameControls() {
  const redraw = (key) => (value) => {
    setState({ [key]: value, ...(key === "view" || key === "layers" ? { zoom: "" } : {}) });
    drawFlame();
  };
  const reset = element("button", { type: "button", onclick: () => zoomTo(rootFrame()) }, "reset zoom");
  const controls = [
    choice("width shows the time of", "width", WIDTHS, "", redraw("width")),
    choice("view", "view", VIEWS, "", redraw("view")),
    choice("chains of only children", "chains", CHAINS, "", redraw("chains")),
    field("highlight frames by name", "seek", seekInFlame),
    tick("merge layers of one class", "layers", redraw("layers")),
  ];
  if (page.idle.length) controls.push(tick("with idle time", "idle", redraw("idle")));
  document.getElementById("flame-controls").replaceChildren(...controls, reset,
    element("span", { id: "flame-found", role: "status" }));
  tellFound();
}
