// Draws one step on both sides as lanes on a canvas; both sides are aligned at the start of the step. All calls can be
// reached with the pointer and with the keyboard, and a list shows the visible calls.

const SLICE_HEIGHT = 13;
const LANE_HEAD = 15;
const SIDE_HEAD = 22;
const AXIS = 20;
const LISTED = 40;
const NEAREST = 100; // width of the view at maximum zoom, in ns

const timeline = page.timeline ? layTimeline(page.timeline) : null;
const timelineView = document.getElementById("timeline-view");
const timelineInfo = document.getElementById("timeline-info");
let pointed = -1;

// Computes the position of each lane, the slices in each row (sorted by start), and the slices of each node (sorted by
// side).
function layTimeline(data) {
  const slices = data.slices;
  const rowsOf = data.lanes.map((lane) => Array.from({ length: lane.rows }, () => []));
  const byNode = new Map();
  let whole = Math.max(...data.end, ...data.host, 1);
  slices.node.forEach((node, at) => {
    rowsOf[slices.lane[at]][slices.row[at]].push(at);
    if (!byNode.has(node)) byNode.set(node, []);
    byNode.get(node).push(at);
  });
  const tops = [];
  let top = AXIS, side = 0;
  for (const lane of data.lanes) {
    if (lane.side !== side) top += SIDE_HEAD;
    side = lane.side;
    tops.push(top + LANE_HEAD);
    top += LANE_HEAD + lane.rows * SLICE_HEIGHT + 4;
  }
  return { ...data, rowsOf, byNode, tops, height: top + 4, whole };
}

function sliceSide(at) {
  return timeline.lanes[timeline.slices.lane[at]].side;
}

// The matching slice on the opposite side, or -1 if there is none.
function partnerOf(at) {
  return timeline.byNode.get(timeline.slices.node[at]).find((other) => sliceSide(other) !== sliceSide(at)) ?? -1;
}

function sliceName(at) {
  return page.texts[timeline.slices.name[at]];
}

function sliceLabel(at) {
  return timeline.slices.kind[at] === "g" ? shortKernel(sliceName(at)) : shortName(sliceName(at));
}

// The visible range as [from, to], in ns since the start of the step.
function timelineRange() {
  const found = /^(-?\d+)\.\.(-?\d+)$/.exec(state.get("t") || "");
  const [from, to] = found ? [Number(found[1]), Number(found[2])] : [0, timeline.whole];
  return to > from ? [from, to] : [0, timeline.whole];
}

function setRange(from, to) {
  const least = Math.min(NEAREST, timeline.whole);
  const length = Math.min(Math.max(to - from, least), timeline.whole);
  const middle = (from + to) / 2;
  const begin = Math.round(Math.min(Math.max(middle - length / 2, -0.02 * timeline.whole), timeline.whole * 1.02 - length));
  const isWhole = length >= timeline.whole;
  setState({ t: isWhole ? "" : `${begin}..${Math.round(begin + length)}` });
  askForTimeline();
}

// Zooms by a factor around a point in time, by default the middle of the visible range.
function zoomTimeline(factor, around) {
  const [from, to] = timelineRange();
  const at = around ?? (from + to) / 2;
  setRange(at - (at - from) * factor, at + (to - at) * factor);
}

function panTimeline(part) {
  const [from, to] = timelineRange();
  setRange(from + (to - from) * part, to + (to - from) * part);
}

function chosenSlice() {
  const node = stateNumber("slice");
  return node === null ? -1 : (timeline.byNode.get(node) || [-1])[0];
}

// ---- drawing

function timelineColours() {
  const style = getComputedStyle(document.documentElement);
  const read = (key) => style.getPropertyValue("--" + key).trim();
  const keys = ["card", "text", "dim", "line", "same", "more1", "more2", "more3", "less1", "less2", "less3", "replaced", "focus", "hit"];
  return Object.fromEntries(keys.map((key) => [key, read(key)]));
}

function sliceColour(at, colours) {
  if (timeline.slices.relation[at] === "o") return colours.line;
  const other = partnerOf(at);
  if (other < 0) return colours.replaced;
  const [one, two] = sliceSide(at) === 1 ? [at, other] : [other, at];
  const style = changeOf(timeline.slices.time[one], timeline.slices.time[two], false).style;
  return style === "same0" ? colours.same : colours[style];
}

// However often the user moves or zooms, the timeline is redrawn at most once per animation frame.
let isAsked = false;
function askForTimeline() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    drawTimeline();
  });
}

function drawTimeline() {
  if (!timeline || !timelineView.clientWidth) return;
  const width = timelineView.clientWidth, ratio = devicePixelRatio || 1;
  timelineView.style.height = timeline.height + "px";
  timelineView.width = Math.round(width * ratio);
  timelineView.height = Math.round(timeline.height * ratio);
  const pen = timelineView.getContext("2d");
  pen.scale(ratio, ratio);
  const [from, to] = timelineRange();
  const view = { pen, width, from, to, colours: timelineColours(), x: (ns) => (ns - from) / (to - from) * width };
  pen.fillStyle = view.colours.card;
  pen.fillRect(0, 0, width, timeline.height);
  drawAxis(view);
  timeline.lanes.forEach((lane, at) => drawLane(view, lane, at));
  drawParts(view);
  drawEnds(view);
  const marked = pointed >= 0 ? pointed : chosenSlice();
  if (marked >= 0) drawPair(view, marked);
  drawMap(view);
  timelineView.setAttribute("aria-label", timelineText());
  drawTimelineList();
}

// Draws axis marks at round times, at least about 130 pixels apart.
function drawAxis({ pen, width, from, to, colours, x }) {
  const raw = (to - from) / Math.max(2, width / 130);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  pen.font = "11px system-ui, sans-serif";
  for (let ns = Math.ceil(from / step) * step; ns <= to; ns += step) {
    pen.fillStyle = colours.line;
    pen.fillRect(Math.round(x(ns)), 0, 1, timeline.height);
    pen.fillStyle = colours.dim;
    pen.fillText(span(ns, step), x(ns) + 3, 13);
  }
}

// Formats a time. Its unit depends on `step`, the distance between two axis marks; without `step`, it depends on the
// time itself.
function span(ns, step) {
  const size = Math.abs(step ?? ns);
  const [unit, scale] = size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  return `${Number(step ? (ns / scale).toFixed(1) : (ns / scale).toPrecision(4))} ${unit}`;
}

function drawLane({ pen, width, from, to, colours, x }, lane, at) {
  const top = timeline.tops[at];
  if (at === 0 || timeline.lanes[at - 1].side !== lane.side) {
    pen.font = "600 12px system-ui, sans-serif";
    pen.fillStyle = colours.text;
    pen.fillText(sideText(lane.side, width), 4, top - LANE_HEAD - 6);
  }
  pen.font = "10.5px system-ui, sans-serif";
  pen.fillStyle = colours.dim;
  pen.fillText(page.texts[lane.name], 4, top - 4);
  pen.font = "10px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
  const { start, time } = timeline.slices;
  timeline.rowsOf[at].forEach((slices, row) => {
    const y = top + row * SLICE_HEIGHT;
    for (const slice of slices) {
      if (start[slice] > to) break;
      if (start[slice] + time[slice] < from) continue;
      const left = Math.max(x(start[slice]), -2);
      const size = Math.max(Math.min(x(start[slice] + time[slice]), width + 2) - left, 0.75);
      pen.fillStyle = sliceColour(slice, colours);
      pen.fillRect(left, y, Math.max(size - (size > 3 ? 1 : 0), 0.75), SLICE_HEIGHT - 1);
      const badges = timeline.parts.filter(({ node }) => node === timeline.slices.node[slice]).length;
      const room = Math.floor((size - 5 - 11 * badges) / 6.1);
      if (room < 3) continue;
      pen.fillStyle = colours.text;
      const text = sliceLabel(slice);
      pen.fillText(text.length > room ? text.slice(0, room - 1) + "…" : text, Math.max(left, 0) + 2 + 11 * badges, y + 9);
    }
  });
}

function sideText(side, room = Infinity) {
  const step = timeline.steps[side - 1];
  const name = `${page.names[side - 1]}${step ? ": " + step : ""}`;
  return room < 500 ? `${name}, ${span(timeline.end[side - 1])}` : `${name}, host ${span(timeline.host[side - 1])}, done after ${span(timeline.end[side - 1])}`;
}

// Draws a mark on each side at the time when the host finished the step; GPU work to the right of the mark ran after
// that time.
function drawEnds({ pen, colours, x }) {
  timeline.lanes.forEach((lane, at) => {
    pen.fillStyle = colours.dim;
    const top = timeline.tops[at];
    pen.fillRect(Math.round(x(timeline.host[lane.side - 1])), top - 2, 1, lane.rows * SLICE_HEIGHT + 3);
  });
}

// Marks the parts of the lag curve: draws each part's number at its calls on both sides.
function drawParts(view) {
  const { pen, colours, width } = view;
  pen.font = "600 10px system-ui, sans-serif";
  const beside = new Map();
  for (const { part, node } of timeline.parts) {
    for (const at of timeline.byNode.get(node) || []) {
      const box = sliceBox(view, at);
      if (box.right < 0 || box.left > width) continue;
      pen.fillStyle = colours.hit;
      pen.fillRect(box.left, box.top + SLICE_HEIGHT - 3, Math.max(box.right - box.left, 2), 2);
      // If several parts are at the same call, their numbers are drawn side by side.
      const left = beside.get(at) ?? Math.max(box.left, 0);
      pen.fillRect(left, box.top - 2, 10, 11);
      pen.fillStyle = colours.card;
      pen.fillText(String(part + 1), left + 2, box.top + 7);
      beside.set(at, left + 11);
    }
  }
}

function sliceBox({ x }, at) {
  const { start, time, lane, row } = timeline.slices;
  const left = x(start[at]);
  return { left, right: Math.max(x(start[at] + time[at]), left + 1), top: timeline.tops[lane[at]] + row[at] * SLICE_HEIGHT };
}

// Outlines a slice and its counterpart, and connects them.
function drawPair(view, at) {
  const { pen, colours, width } = view;
  const boxes = [at, partnerOf(at)].filter((one) => one >= 0).map((one) => sliceBox(view, one));
  pen.strokeStyle = colours.focus;
  pen.lineWidth = 2;
  for (const box of boxes) {
    const left = Math.max(box.left, -4), right = Math.min(box.right, width + 4);
    pen.strokeRect(left, box.top - 0.5, Math.max(right - left, 1), SLICE_HEIGHT);
  }
  if (boxes.length < 2) return;
  const [above, below] = boxes[0].top < boxes[1].top ? boxes : [boxes[1], boxes[0]];
  pen.lineWidth = 1;
  for (const end of ["left", "right"]) {
    pen.beginPath();
    pen.moveTo(above[end], above.top + SLICE_HEIGHT);
    pen.lineTo(below[end], below.top);
    pen.stroke();
  }
}

// ---- telling

function timelineText() {
  const [from, to] = timelineRange();
  const shown = from === 0 && to === timeline.whole ? "everything" : `${span(from)} to ${span(to)}`;
  return `Timeline: ${sideText(1)}, above ${sideText(2)}; in view: ${shown}. The left and right arrow keys move the view, + and − zoom, and 0 shows everything. With Shift, the arrow keys move from call to call. Enter zooms to the selected call, and Escape deselects it. The list below contains the same calls.`;
}

// For a matched pair, the times on both sides; for an unmatched call, the name of the side that has the call.
function sliceFigures(at) {
  const { start, time: times, relation } = timeline.slices;
  const other = partnerOf(at);
  if (relation[at] === "o") return `${span(times[at])} at ${span(start[at])}, launched outside this step`;
  if (other < 0) {
    const paired = "12".includes(relation[at]) ? `only in ${page.names[sliceSide(at) - 1]}` : "its counterpart is outside the visible range";
    return `${span(times[at])} at ${span(start[at])}, ${paired}`;
  }
  const [one, two] = sliceSide(at) === 1 ? [at, other] : [other, at];
  const how = changeOf(times[one], times[two], false);
  const delta = times[two] - times[one];
  const sign = delta > 0 ? "+" : delta < 0 ? "−" : "±";
  const factor = times[one] > 0 && times[two] > 0 ? `, ${(times[two] / times[one]).toFixed(2)}x` : "";
  return `${span(times[one])} → ${span(times[two])}, ${how.sign} ${sign}${span(Math.abs(delta))}${factor}; begins at ${span(start[one])} → ${span(start[two])}`;
}

function describeSlice(at) {
  if (at < 0) return timelineInfo.replaceChildren("Point at a call to see its times and its counterpart. Drag to move, turn the wheel to zoom, double-click to zoom to a call.");
  const node = timeline.slices.node[at];
  const buttons = at === chosenSlice() && positionOf(node) >= 0
    ? [" ", element("button", { type: "button", onclick: () => showInTree(positionOf(node)) }, "show in the merged tree")] : [];
  timelineInfo.replaceChildren(name(cut(sliceName(at))), element("br"), sliceFigures(at), ...buttons);
}

function chooseSlice(at) {
  setState({ slice: at < 0 ? "" : timeline.slices.node[at] });
  pointed = -1;
  describeSlice(at);
  drawTimeline();
}

// The visible calls, one line per matched pair, largest difference first.
function listedPairs() {
  const [from, to] = timelineRange();
  const { start, time: times } = timeline.slices;
  const inView = (at) => start[at] < to && start[at] + times[at] > from;
  const pairs = [...timeline.byNode.values()].filter((slices) => slices.some(inView));
  const size = (slices) => {
    const [a, b] = slices.map((at) => times[at]);
    return slices.length === 1 ? a : Math.abs(a - b);
  };
  return pairs.map((slices) => [slices[0], size(slices)])
    .sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([at]) => at);
}

function drawTimelineList() {
  const box = document.getElementById("timeline-list");
  box.querySelector("div")?.remove();
  if (!box.open) return;
  const all = listedPairs();
  const chosen = chosenSlice();
  const line = (at) => element("li", { class: at === chosen ? "differs" : null },
    element("button", { type: "button", "data-slice": timeline.slices.node[at], "aria-pressed": String(at === chosen), onclick: () => {
      chooseSlice(at);
      box.querySelector(`[data-slice="${timeline.slices.node[at]}"]`)?.focus();
    } }, name(cut(sliceLabel(at)))),
    element("span", { class: "dim" }, ` ${page.texts[timeline.lanes[timeline.slices.lane[at]].name]}: ${sliceFigures(at)}`));
  const more = all.length - LISTED;
  box.append(element("div", {},
    element("p", { class: "dim" }, `${Math.min(all.length, LISTED)} of ${all.length} calls in view, largest difference first${more > 0 ? "; zoom in to see the others" : ""}`),
    element("ol", { class: "timeline-lines" }, ...all.slice(0, LISTED).map(line))));
}

function cut(text) {
  return text.length > 2 * FOLD ? text.slice(0, 2 * FOLD - 1) + "…" : text;
}

// ---- pointing, dragging, keys

function sliceAt(event) {
  const box = timelineView.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const [from, to] = timelineRange();
  const perPixel = (to - from) / box.width;
  const ns = from + x * perPixel;
  const { start, time: times } = timeline.slices;
  const lane = timeline.tops.findIndex((top, at) => y >= top && y < top + timeline.lanes[at].rows * SLICE_HEIGHT);
  if (lane < 0) return -1;
  const row = timeline.rowsOf[lane][Math.floor((y - timeline.tops[lane]) / SLICE_HEIGHT)];
  const near = 2 * perPixel;
  const distance = (at) => Math.max(start[at] - ns, ns - start[at] - times[at], 0);
  return row.filter((at) => distance(at) <= near).sort((a, b) => distance(a) - distance(b) || times[a] - times[b])[0] ?? -1;
}

let dragged = null;
function timelinePointer(event) {
  if (event.type === "pointerdown") {
    dragged = { x: event.clientX, range: timelineRange(), moved: false };
    timelineView.setPointerCapture?.(event.pointerId);
  } else if (event.type === "pointermove" && dragged) {
    const far = event.clientX - dragged.x;
    if (Math.abs(far) > 3) dragged.moved = true;
    const [from, to] = dragged.range;
    const ns = far / timelineView.clientWidth * (to - from);
    if (dragged.moved) setRange(from - ns, to - ns);
  } else if (event.type === "pointermove") {
    point(sliceAt(event));
  } else if (event.type === "pointerup") {
    if (dragged && !dragged.moved) chooseSlice(sliceAt(event));
    dragged = null;
  } else {
    dragged = null;
    point(-1);
  }
}

function point(at) {
  if (at === pointed) return;
  pointed = at;
  describeSlice(at >= 0 ? at : chosenSlice());
  askForTimeline();
}

// The wheel zooms around the pointer and scrolls sideways. If the timeline cannot zoom out any
// further, the page scrolls.
function timelineWheel(event) {
  const box = timelineView.getBoundingClientRect();
  const [from, to] = timelineRange();
  const around = from + (event.clientX - box.left) / box.width * (to - from);
  const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
  const isWhole = from === 0 && to === timeline.whole;
  if (sideways && Math.abs(sideways) >= Math.abs(event.shiftKey ? 0 : event.deltaY)) panTimeline(sideways / box.width);
  else if (isWhole && event.deltaY > 0) return;
  else zoomTimeline(Math.exp(Math.max(-240, Math.min(240, event.deltaY)) / 300), around);
  event.preventDefault();
}

// Moves from call to call: to the neighbor in the same row, or to the nearest call in the next
// non-empty row.
function stepSlice(key) {
  const at = chosenSlice();
  if (at < 0) return chooseSlice(listedPairs()[0] ?? -1);
  const { start, time: times, lane, row } = timeline.slices;
  const rows = timeline.rowsOf.flat();
  const here = rows.indexOf(timeline.rowsOf[lane[at]][row[at]]);
  const middle = start[at] + times[at] / 2;
  const distance = (other) => Math.max(start[other] - middle, middle - start[other] - times[other], 0);
  const nearest = (list) => list.reduce((best, other) => (distance(other) < distance(best) ? other : best));
  const beside = rows[here], place = beside.indexOf(at);
  const next = { ArrowLeft: beside[place - 1], ArrowRight: beside[place + 1],
    ArrowUp: here > 0 ? nearest(rows[here - 1]) : undefined,
    ArrowDown: here + 1 < rows.length ? nearest(rows[here + 1]) : undefined }[key];
  if (next === undefined) return;
  // The page state identifies a slice only by its node, which both slices of a matched pair share. The slice on the
  // chosen side is therefore moved to the front of the pair.
  const node = timeline.slices.node[next];
  timeline.byNode.set(node, [next, ...timeline.byNode.get(node).filter((other) => other !== next)]);
  chooseSlice(next);
  bringIntoView(next);
}

function bringIntoView(at) {
  const [from, to] = timelineRange();
  const { start, time: times } = timeline.slices;
  if (start[at] < to && start[at] + times[at] > from) return;
  const middle = start[at] + times[at] / 2;
  setRange(middle - (to - from) / 2, middle + (to - from) / 2);
}

function zoomToSlice(at) {
  const pair = timeline.byNode.get(timeline.slices.node[at]);
  const { start, time: times } = timeline.slices;
  const from = Math.min(...pair.map((one) => start[one]));
  const to = Math.max(...pair.map((one) => start[one] + times[one]));
  setRange(from - (to - from) * 0.25, to + (to - from) * 0.25);
}

function timelineKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const chosen = chosenSlice();
  const keys = {
    ArrowLeft: () => panTimeline(-0.2), ArrowRight: () => panTimeline(0.2),
    "+": () => zoomTimeline(0.5), "=": () => zoomTimeline(0.5), "-": () => zoomTimeline(2),
    0: () => setRange(0, timeline.whole), Home: () => setRange(0, timeline.whole),
    Enter: () => chosen >= 0 && zoomToSlice(chosen), Escape: () => chooseSlice(-1),
  };
  const act = event.shiftKey && event.key.startsWith("Arrow") ? () => stepSlice(event.key) : keys[event.key];
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

// ---- parts of the lag curve, and controls

// Zooms to a part, with a margin of half the part's length to its left and right.
function showInTimeline({ node, from, to }) {
  openPanel("timeline", { slice: node });
  const around = Math.max((to - from) / 2, timeline.whole / 500);
  setRange(from - around, to + around);
  describeSlice(chosenSlice());
  timelineView.focus({ preventScroll: true });
}

// The slice of a node, or of the first drawn call below the node; -1 if neither is drawn.
function sliceOf(at) {
  for (let node = at; node < tree.end[at]; node++) {
    const slices = timeline.byNode.get(idOf(node));
    if (slices) return slices[0];
  }
  return -1;
}

function showNodeInTimeline(at) {
  const slice = sliceOf(at);
  openPanel("timeline", { slice: timeline.slices.node[slice] });
  zoomToSlice(slice);
  describeSlice(slice);
  timelineView.focus({ preventScroll: true });
}

function drawTimelineControls() {
  if (!timeline) return;
  const button = (text, title, act) => element("button", { type: "button", "aria-label": title, title, onclick: act }, text);
  const places = timeline.parts.map((place, at) => [String(at), `${place.part + 1}. ${partName(place.part)}`]);
  const controls = [element("span", { class: "buttons" },
    button("−", "zoom out", () => zoomTimeline(2)), button("+", "zoom in", () => zoomTimeline(0.5)),
    button("←", "earlier", () => panTimeline(-0.4)), button("→", "later", () => panTimeline(0.4)),
    button("all", "show all of the step", () => setRange(0, timeline.whole))),
  ];
  if (places.length) {
    controls.push(choice("go to part", "part", [["", "…"], ...places], "", (value) => {
      if (value !== "") showInTimeline(timeline.parts[Number(value)]);
    }));
  }
  document.getElementById("timeline-controls").replaceChildren(...controls);
  describeSlice(chosenSlice());
}

function partName(at) {
  return document.querySelectorAll("[data-part]")[at]?.querySelector(".name").textContent ?? "";
}

// Registers the event handlers of the canvas, and adds a button for each part shown on it. Called
// once.
function startTimeline() {
  if (!timeline) return;
  for (const type of ["pointerdown", "pointermove", "pointerup", "pointerleave", "pointercancel"]) {
    timelineView.addEventListener(type, timelinePointer);
  }
  const map = document.getElementById("timeline-map");
  for (const type of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) map.addEventListener(type, mapPointer);
  timelineView.addEventListener("wheel", timelineWheel, { passive: false });
  timelineView.addEventListener("keydown", timelineKey);
  timelineView.addEventListener("dblclick", (event) => {
    const at = sliceAt(event);
    if (at >= 0) zoomToSlice(at);
  });
  document.getElementById("timeline-list").addEventListener("toggle", drawTimelineList);
  new ResizeObserver(drawTimeline).observe(timelineView.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTimeline);
  const lines = document.querySelectorAll("[data-part]");
  for (const place of timeline.parts) {
    lines[place.part]?.querySelector(".why").append(" ", element("button", {
      type: "button", class: "copy", "data-timeline": place.part, onclick: () => showInTimeline(place) }, "show in the timeline"));
  }
}
