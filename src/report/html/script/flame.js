// The merged tree -> an icicle: calls of one name below one stack are one frame, width is time.

const FRAME_HEIGHT = 18;
const LEAST_WIDTH = 0.0006;
const WIDTHS = [["", page.names[1]], ["trace1", page.names[0]]];

const flameView = document.getElementById("flame-view");
const flameInfo = document.getElementById("flame-info");

// A frame: all nodes of one name below one frame, with their sums. The root holds every thread.
function frameOf(title, key, nodes, parent) {
  const frame = { title, key, nodes, parent, time1: 0, time2: 0 };
  for (const node of nodes) {
    frame.time1 += tree.all1[node];
    frame.time2 += tree.all2[node];
  }
  return frame;
}

function rootFrame() {
  return { ...frameOf("all threads", "", childrenOf(-1), null), root: true };
}

// The frames directly below, largest first by the chosen width.
function framesBelow(frame) {
  const nodes = frame.root ? frame.nodes : frame.nodes.flatMap(childrenOf);
  const groups = new Map();
  for (const node of nodes) {
    if (tree.all1[node] === 0 && tree.all2[node] === 0) continue;
    const key = nodeName(node);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(node);
  }
  return [...groups].map(([key, members]) => frameOf(key, key, members, frame));
}

function breadth(frame) {
  return state.get("width") === "trace1" ? frame.time1 : frame.time2;
}

// The frame of the stack of one node.
function frameAt(node) {
  let frame = rootFrame();
  for (const step of pathTo(node)) {
    const next = framesBelow(frame).find((below) => below.key === nodeName(step));
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
  if (total === 0) flameInfo.textContent = "No time on this side here: switch the width to the other trace.";
}

// Frames below with their place as parts of the whole width; what is too narrow is left out.
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
  const tell = () => describe(frame, how);
  const button = element("button", {
    type: "button", class: `frame ${how.style} ${extra}`, tabindex: extra || level ? "-1" : "0",
    "data-zoom": frame.root ? "" : idOf(frame.nodes[0]), "data-level": level,
    "aria-label": `${frame.title}: ${time(frame.time1)} to ${time(frame.time2)} ${page.unit}, ${how.word}`,
    onmouseenter: tell, onfocus: tell, onclick: () => zoomTo(frame),
  }, how.sign + " " + shortName(frame.title));
  button.style.cssText = `left:${left * 100}%;width:${width * 100}%;top:${level * FRAME_HEIGHT}px`;
  return button;
}

// What tells most in little room: no folders, no prefix that all modules have.
function shortName(title) {
  return title.replace(/^nn\.Module: /, "").replace(/^(?:[^\s():]*\/)+(?=[^\s():]+\(\d+\): )/, "");
}

function describe(frame, how) {
  const figures = `${time(frame.time1)} → ${time(frame.time2)} ${page.unit}, ${how.sign} ${signed(frame.time2 - frame.time1)}`;
  const factor = ratio(frame.time1, frame.time2);
  const calls = frame.nodes.length === 1 ? "1 call" : `${frame.nodes.length} calls`;
  flameInfo.replaceChildren(name(frame.title), element("br"), `${figures}${factor ? ", " + factor : ""}, ${calls}`);
}

function zoomTo(frame) {
  setState({ zoom: frame.root ? "" : idOf(frame.nodes[0]) });
  drawFlame();
  const target = flameView.querySelector(`[data-zoom="${frame.root ? "" : idOf(frame.nodes[0])}"]`);
  if (target) target.focus({ preventScroll: true });
}

function showInFlame(at) {
  setState({ at: "flame", zoom: idOf(at) });
  drawFlame();
  document.getElementById("flame").scrollIntoView();
}

// Arrow keys move between frames by place; Escape zooms out.
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

function drawFlameControls() {
  const redraw = (value) => {
    setState({ width: value });
    drawFlame();
  };
  const reset = element("button", { type: "button", onclick: () => zoomTo(rootFrame()) }, "reset zoom");
  document.getElementById("flame-controls").replaceChildren(
    choice("width is the time of", "width", WIDTHS, "", redraw), reset);
}
