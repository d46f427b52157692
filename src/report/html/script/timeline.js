// Draws one step on both sides on a canvas: the lag curve, then the baseline's lanes above the candidate's. On the
// aligned axis, matched calls start at the same position, and hatching fills the time in which one side has finished a
// section while the other has not. All calls can be reached with the pointer and with the keyboard, and a list shows
// the visible calls.
//
//   lag        ／￣￣＼
//   baseline   [host call        ]
//              [kernel ]/////[kernel]
//               |      \  ribbons  \
//   candidate  [kernel     ] [kernel    ]
//              [host call        ]

const TICK = 100; // unit of the times in the data, in ns
const SLICE_HEIGHT = 13;
const GPU_HEIGHT = 20;
const HOST_ROWS = 6;
const LANE_HEAD = 15;
const AXIS = 20;
const CURVE = 72;
const RIBBONS = 76;
const LISTED = 40;
const KERNELS_NAMED = 3;
const NEAREST = 100; // width of the view at maximum zoom, in ns
const HUES = [4, 205, 130, 275, 35, 180, 330, 85];

const timeline = page.timeline ? layTimeline(page.timeline) : null;
const timelineView = document.getElementById("timeline-view");
const timelineInfo = document.getElementById("timeline-info");
let pointed = -1;

// Restores the slices from the columns: rows of consecutive slices, sorted by start, and the counterpart of each slice.
function layTimeline(data) {
  const node = fromSteps(data.slices.node, 0), size = node.length;
  const [start, end] = [new Float64Array(size), new Float64Array(size)];
  const [lane, row, position] = [new Uint8Array(size), new Uint8Array(size), Int32Array.from(node, (id) => positionOf(id))];
  let at = 0;
  const rowsOf = data.lanes.map((known, ofLane) => known.rows.map((count, ofRow) => {
    const first = at;
    for (let last = 0; at < first + count; at++) {
      start[at] = (last + data.slices.gap[at]) * TICK;
      end[at] = start[at] + data.slices.time[at] * TICK;
      last = end[at] / TICK;
      [lane[at], row[at]] = [ofLane, ofRow];
    }
    return [first, at];
  }));
  const byNode = new Map(), other = new Int32Array(size).fill(-1);
  node.forEach((id, one) => {
    const first = byNode.get(id)?.[0];
    if (first === undefined) return byNode.set(id, [one]);
    byNode.get(id).push(one);
    [other[one], other[first]] = [first, one];
  });
  const [host, ends] = [data.host, data.end].map((times) => times.map((time) => time * TICK));
  const outside = new Set(data.slices.outside);
  const made = { ...data, node, start, end, lane, row, position, rowsOf, byNode, other, outside, host, ends, size };
  return { ...made, axes: [alignedAxis(made, data.anchors), clockAxis(made)] };
}

// The axis with both clocks: the positions of the slices are their times.
function clockAxis({ start, end, host, ends, anchors }) {
  const [one] = anchorTimes(anchors);
  return { from: start, to: end, host, anchors: one, end: ends[0], hatches: [[], []], whole: Math.max(...ends, ...host, 1) };
}

function anchorTimes(anchors) {
  return [anchors.start1, anchors.start2].map((steps) => fromSteps(steps, 0).map((time) => time * TICK));
}

// The axis on which both sides pass each anchor at the same position. A section between two anchors is as long as on
// the side that takes longer; the other side's rest is hatched.
function alignedAxis({ start, end, lane, lanes, host, ends }, anchors) {
  const inner = anchorTimes(anchors), count = inner[0].length;
  const times = inner.map((list, side) => [0, ...list, Math.max(ends[side], host[side], list[count - 1] ?? 0)]);
  const places = [0], hatches = [[], []];
  for (let at = 0; at <= count; at++) {
    const lengths = times.map((list) => list[at + 1] - list[at]), most = Math.max(...lengths, 0);
    lengths.forEach((length, side) => { if (length < most) hatches[side].push([places[at] + length, places[at] + most]); });
    places.push(places[at] + most);
  }
  // The number of the first anchor after a time; an end at an anchor belongs to the section before the anchor.
  const after = (list, time, isEnd) => {
    let low = 0, high = count + 1;
    while (low < high - 1) {
      const middle = (low + high) >> 1;
      if (isEnd ? list[middle] < time : list[middle] <= time) low = middle;
      else high = middle;
    }
    return high;
  };
  const place = (side, time, isEnd) => {
    const last = after(times[side], time, isEnd) - 1;
    return places[last] + time - times[side][last];
  };
  const sideOf = (at) => lanes[lane[at]].side - 1;
  // A GPU event that runs into the next section ends before the hatched time unless most of it comes after that.
  const endOf = (at, time) => {
    const list = times[sideOf(at)];
    for (let next = lanes[lane[at]].is_gpu ? after(list, start[at]) : count + 2; next <= count && list[next] < time; next++) {
      const finished = places[next - 1] + list[next] - list[next - 1];
      if (places[next] - finished > time - list[next]) return finished;
    }
    return place(sideOf(at), time, true);
  };
  return {
    from: start.map((time, at) => place(sideOf(at), time, false)),
    to: end.map((time, at) => Math.max(endOf(at, time), place(sideOf(at), start[at], false))),
    host: host.map((time, side) => place(side, time, true)), anchors: Float64Array.from(places.slice(1, -1)), end: places[count + 1], hatches, whole: Math.max(places[count + 1], 1),
  };
}

function hasAnchors() {
  return timeline.anchors.start1.length > 2;
}

function timelineAxis() {
  return timeline.axes[hasAnchors() && state.get("axis") !== "clock" ? 0 : 1];
}

function sliceSide(at) {
  return timeline.lanes[timeline.lane[at]].side;
}

// The matching slice on the opposite side, or -1 if there is none.
function counterpartOf(at) {
  return timeline.other[at];
}

function isKernel(at) {
  return tree.kind[timeline.position[at]] === "g";
}

function sliceTime(at) {
  return timeline.end[at] - timeline.start[at];
}

function sliceName(at) {
  return sideName(timeline.position[at], sliceSide(at)) ?? nodeName(timeline.position[at]);
}

function sliceLabel(at) {
  return isKernel(at) ? shortKernel(sliceName(at)) : shortName(sliceName(at));
}

// The visible range of the axis as [from, to], in ns.
function timelineRange() {
  const found = /^(-?\d+)\.\.(-?\d+)$/.exec(state.get("t") || ""), { whole } = timelineAxis();
  const [from, to] = found ? [Number(found[1]), Number(found[2])] : [0, whole];
  return to > from ? [from, to] : [0, whole];
}

function setRange(from, to) {
  const { whole } = timelineAxis();
  const length = Math.min(Math.max(to - from, Math.min(NEAREST, whole)), whole);
  const middle = (from + to) / 2;
  const begin = Math.round(Math.min(Math.max(middle - length / 2, -0.02 * whole), whole * 1.02 - length));
  setState({ t: length >= whole ? "" : `${begin}..${Math.round(begin + length)}` });
  askForTimeline();
}

// Zooms by a factor around a position, by default the middle of the visible range.
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

// ---- colors

// The groups that slices are colored by: for each slice the number of its group or -1, and the names of the groups.
const GROUPINGS = { change: groupByChange, op: groupByOp, class: groupByClass };
const grouped = new Map();
function grouping() {
  const found = GROUPINGS[state.get("colour") || "change"];
  const key = found ? state.get("colour") || "change" : "";
  if (!grouped.has(key)) grouped.set(key, found ? found() : { of: new Int16Array(timeline.size).fill(-1), names: [] });
  return grouped.get(key);
}

// Gives each slice the value of its nearest call that has one, for a map from positions to values.
function inherited(values) {
  return Array.from(timeline.position, (at) => {
    while (at >= 0 && !values.has(at)) at = tree.parent[at];
    return values.get(at);
  });
}

function groupByChange() {
  const values = new Map();
  page.changes.forEach(({ nodes, rows: ofChange }, change) => {
    const known = new Set(ofChange);
    for (const node of nodes) if (!values.has(node)) values.set(node, change);
    rows.id.forEach((id, row) => { if (known.has(id) && !values.has(rows.node[row])) values.set(rows.node[row], change); });
  });
  const changes = inherited(values);
  const used = page.changes.map((_, change) => change).filter((change) => changes.includes(change)).slice(0, HUES.length);
  return { of: Int16Array.from(changes, (change) => used.indexOf(change)), names: used.map(changeName), changes: used };
}

function groupByOp() {
  const values = new Map();
  for (const at of timeline.position) {
    let op = at;
    while (op >= 0 && tree.kind[op] !== "o") op = tree.parent[op];
    if (op >= 0) values.set(op, nodeName(op));
  }
  return largestGroups(inherited(values));
}

function groupByClass() {
  const facet = rows.facets.find(({ key }) => key === "class") ?? rows.facets[0];
  const values = new Map();
  if (facet) rows.node.forEach((at, row) => values.set(at, page.texts[facet.value[row]]));
  return largestGroups(inherited(values));
}

// The groups with the most time; the others have no color.
function largestGroups(names) {
  const sums = new Map();
  names.forEach((name, at) => { if (name && isKernel(at) === hasKernels()) sums.set(name, (sums.get(name) || 0) + sliceTime(at)); });
  const largest = [...sums].sort((a, b) => b[1] - a[1]).slice(0, HUES.length).map(([name]) => name);
  return { of: Int16Array.from(names, (name) => largest.indexOf(name)), names: largest };
}

function hasKernels() {
  return (timeline.hasKernels ??= timeline.position.some((at) => tree.kind[at] === "g"));
}

// The number of the chosen group, or -1.
function chosenGroup() {
  const { names, changes } = grouping();
  return changes ? changes.indexOf(stateNumber("change") ?? -1) : names.indexOf(state.get("pick"));
}

function timelineColours() {
  const style = getComputedStyle(document.documentElement);
  const read = (key) => style.getPropertyValue("--" + key).trim();
  const keys = ["card", "text", "dim", "line", "same", "more", "less", "more1", "more2", "more3", "less1", "less2", "less3", "replaced", "focus", "hit"];
  return Object.fromEntries(keys.map((key) => [key, read(key)]));
}

// The color of a group, light enough or dark enough for the text on it.
function hueColour(group) {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  return `hsl(${HUES[group]} 55% ${isDark ? 36 : 72}%)`;
}

// The color of each slice in the current grouping. If a group is chosen, all other slices are gray.
function sliceColours(colours) {
  const { of, names } = grouping(), chosen = chosenGroup();
  const hues = names.map((_, group) => hueColour(group));
  if (names.length) return (at) => (timeline.outside.has(at) ? colours.line : of[at] < 0 || (chosen >= 0 && of[at] !== chosen) ? colours.same : hues[of[at]]);
  return (at) => {
    if (timeline.outside.has(at)) return colours.line;
    const other = counterpartOf(at);
    if (other < 0) return colours.replaced;
    const [one, two] = sliceSide(at) === 1 ? [at, other] : [other, at];
    const style = changeOf(sliceTime(one), sliceTime(two), false).style;
    return style === "same0" ? colours.same : colours[style];
  };
}

// ---- drawing

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

// The vertical positions: the baseline's threads, then its streams, the ribbons, the candidate's streams, its threads.
function timelineRows() {
  const most = state.get("deep") === "1" ? Infinity : HOST_ROWS;
  const order = timeline.lanes.map((lane, at) => at).sort((a, b) => {
    const [one, two] = [a, b].map((at) => timeline.lanes[at]);
    const rank = (lane) => (lane.side === 1 ? (lane.is_gpu ? 1 : 0) : lane.is_gpu ? 2 : 3);
    return rank(one) - rank(two) || a - b;
  });
  let top = AXIS + (hasAnchors() ? CURVE : 0);
  const lanes = [], gap = [0, 0];
  for (const at of order) {
    const lane = timeline.lanes[at];
    if (lane.side === 2 && !gap[1]) {
      gap[0] = top;
      gap[1] = top += RIBBONS;
    }
    const height = lane.is_gpu ? GPU_HEIGHT : SLICE_HEIGHT;
    const shown = lane.is_gpu ? lane.rows.length : Math.min(lane.rows.length, most);
    lanes[at] = { top: top + LANE_HEAD, height, shown, bottom: top + LANE_HEAD + shown * height };
    top = lanes[at].bottom + 4;
  }
  return { lanes, gap: gap[1] ? gap : [top, top], height: top + 4 };
}

function timelineLook() {
  const width = timelineView.clientWidth, [from, to] = timelineRange();
  return { ...timelineRows(), width, from, to, axis: timelineAxis(), x: (place) => (place - from) / (to - from) * width };
}

function drawTimeline() {
  if (!timeline || !timelineView.clientWidth) return;
  const look = timelineLook(), ratio = devicePixelRatio || 1;
  timelineView.style.height = look.height + "px";
  timelineView.width = Math.round(look.width * ratio);
  timelineView.height = Math.round(look.height * ratio);
  const pen = timelineView.getContext("2d"), colours = timelineColours();
  pen.scale(ratio, ratio);
  const view = { ...look, pen, colours, colour: sliceColours(colours) };
  pen.fillStyle = colours.card;
  pen.fillRect(0, 0, look.width, look.height);
  drawAxis(view);
  drawHatches(view);
  drawRibbons(view);
  timeline.lanes.forEach((lane, at) => drawLane(view, lane, at));
  drawMarks(view);
  drawCurve(view);
  const marked = pointed >= 0 ? pointed : chosenSlice();
  if (marked >= 0) drawPair(view, marked);
  timelineView.setAttribute("aria-label", timelineText());
  drawTimelineList();
}

// Draws axis marks at round times, at least about 130 pixels apart.
function drawAxis({ pen, width, from, to, height, colours, x }) {
  const raw = (to - from) / Math.max(2, width / 130);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  pen.font = "11px system-ui, sans-serif";
  for (let ns = Math.ceil(from / step) * step; ns <= to; ns += step) {
    pen.fillStyle = colours.line;
    pen.fillRect(Math.round(x(ns)), 0, 1, height);
    pen.fillStyle = colours.dim;
    pen.fillText(span(ns, step), x(ns) + 3, 13);
  }
}

// Formats a time. Its unit depends on `step`, the distance between two axis marks; without `step`, it depends on the
// time itself.
function span(ns, step) {
  const size = Math.abs(step ?? ns);
  const [unit, scale] = size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  return `${Number(step || scale === 1 ? (ns / scale).toFixed(1) : (ns / scale).toPrecision(4))} ${unit}`.replace("-", "−");
}

// Hatches, in the lanes of the side that has finished a section, the time that the other side still needs.
function drawHatches({ pen, width, lanes, axis, colours, x }) {
  pen.strokeStyle = colours.dim;
  pen.globalAlpha = 0.45;
  pen.lineWidth = 1;
  axis.hatches.forEach((list, side) => {
    const of = lanes.filter((_, at) => timeline.lanes[at].side === side + 1 && timeline.lanes[at].is_gpu === hasKernels());
    if (!of.length) return;
    const [top, bottom] = [Math.min(...of.map((lane) => lane.top)), Math.max(...of.map((lane) => lane.bottom))];
    pen.save();
    pen.beginPath();
    let isAny = false;
    for (const [from, to] of list) {
      const [left, right] = [Math.max(x(from), 0), Math.min(x(to), width)];
      if (right - left < 1) continue;
      pen.rect(left, top, right - left, bottom - top);
      isAny = true;
    }
    pen.clip();
    pen.beginPath();
    for (let at = top - bottom; isAny && at < width; at += 6) {
      pen.moveTo(at, bottom);
      pen.lineTo(at + bottom - top, top);
    }
    pen.stroke();
    pen.restore();
  });
  pen.globalAlpha = 1;
}

// Joins matched calls by ribbons: GPU events if there are any, otherwise the outermost host calls. Ribbons that would
// cover the same pixels are drawn once.
function drawRibbons({ pen, width, gap: [top, bottom], axis, colour, x }) {
  const middle = (top + bottom) / 2, paths = new Map(), drawn = new Set();
  timeline.lanes.forEach((lane, ofLane) => {
    if (lane.side !== 1 || lane.is_gpu !== hasKernels()) return;
    for (const [first, end] of lane.is_gpu ? timeline.rowsOf[ofLane] : timeline.rowsOf[ofLane].slice(0, 1)) {
      for (let at = first; at < end; at++) {
        const other = counterpartOf(at);
        if (other < 0) continue;
        const [a, b, c, d] = [axis.from[at], axis.to[at], axis.from[other], axis.to[other]].map(x);
        if (Math.max(b, d) < 0 || Math.min(a, c) > width) continue;
        const fill = colour(at);
        if (b - a < 1 && d - c < 1) {
          const key = fill + Math.round(a) + "," + Math.round(c);
          if (drawn.has(key)) continue;
          drawn.add(key);
        }
        if (!paths.has(fill)) paths.set(fill, new Path2D());
        const path = paths.get(fill);
        path.moveTo(a, top);
        path.bezierCurveTo(a, middle, c, middle, c, bottom);
        path.lineTo(Math.max(d, c + 0.5), bottom);
        path.bezierCurveTo(Math.max(d, c + 0.5), middle, Math.max(b, a + 0.5), middle, Math.max(b, a + 0.5), top);
        path.closePath();
      }
    }
  });
  pen.globalAlpha = 0.5;
  for (const [fill, path] of paths) {
    pen.fillStyle = fill;
    pen.fill(path);
  }
  pen.globalAlpha = 1;
}

// The index of the first slice of a row that ends after `from`; the slices of a row follow each other.
function firstVisible([first, end], to, from) {
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (to[middle] < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

function drawLane({ pen, width, from, to, lanes, axis, colours, colour, x }, lane, at) {
  const { top, height, shown } = lanes[at];
  pen.font = "10.5px system-ui, sans-serif";
  pen.fillStyle = colours.dim;
  pen.fillText(`${page.names[lane.side - 1]} · ${page.texts[lane.name]}`, 4, top - 4);
  pen.font = "10px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
  for (let row = 0; row < shown; row++) {
    const y = top + row * height, [, end] = timeline.rowsOf[at][row];
    let [covered, last] = [-Infinity, ""];
    for (let slice = firstVisible(timeline.rowsOf[at][row], axis.to, from); slice < end && axis.from[slice] <= to; slice++) {
      const left = Math.max(x(axis.from[slice]), -2);
      const size = Math.max(Math.min(x(axis.to[slice]), width + 2) - left, 0.75);
      const fill = colour(slice);
      // A slice below a pixel in width is not drawn over its neighbor of the same color.
      if (left + size <= covered && fill === last) continue;
      [covered, last] = [Math.ceil(left + size), fill];
      pen.fillStyle = fill;
      pen.fillRect(left, y, Math.max(size - (size > 3 ? 1 : 0), 0.75), height - 1);
      const room = Math.floor((size - 5) / 6.1);
      if (room < 3) continue;
      pen.fillStyle = colours.text;
      const text = sliceLabel(slice);
      pen.fillText(text.length > room ? text.slice(0, room - 1) + "…" : text, Math.max(left, 0) + 2, y + height / 2 + 3);
    }
  }
  // The host finished the step here; GPU work to the right of this mark ran after that time.
  pen.fillStyle = colours.dim;
  pen.fillRect(Math.round(x(axis.host[lane.side - 1])), top - 2, 1, shown * height + 3);
}

// Marks on the ribbons where another phase or layer begins, if its title has room.
function drawMarks({ pen, width, gap: [top, bottom], axis, colours, x }) {
  pen.font = "11px system-ui, sans-serif";
  const visible = timeline.anchors.marks.map(([anchor, title]) => [x(axis.anchors[anchor]), page.texts[title]]).filter(([left]) => left >= 0 && left < width);
  let covered = 0, last = "";
  visible.forEach(([left, title], at) => {
    const room = (visible[at + 1]?.[0] ?? width) - left;
    if (title === last || left < covered || room < 24) return;
    const size = pen.measureText(title).width + 8;
    if (left + size > width) return;
    [covered, last] = [left + size, title];
    pen.fillStyle = colours.dim;
    pen.fillRect(Math.round(left), top, 1, bottom - top);
    pen.fillStyle = colours.card;
    pen.fillRect(left + 2, (top + bottom) / 2 - 8, size - 4, 15);
    pen.fillStyle = colours.text;
    pen.fillText(title, left + 4, (top + bottom) / 2 + 4);
  });
}

// How far the candidate is behind at each anchor, at the end, and before the first one.
function lagPoints() {
  const [one, two] = (timeline.times ??= anchorTimes(timeline.anchors));
  return (timeline.behind ??= one.map((time, at) => two[at] - time));
}

// The curve of the lag above the lanes: red where it climbs, blue where it falls.
function drawCurve({ pen, width, axis, colours, x }) {
  if (!hasAnchors()) return;
  // The curve begins and ends with the step.
  const behind = [0, ...lagPoints(), timeline.ends[1] - timeline.ends[0]], places = [0, ...axis.anchors, axis.end];
  const [least, most] = behind.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [0, 0]);
  const [top, bottom] = [AXIS + 8, AXIS + CURVE - 12];
  const y = (value) => bottom - (value - least) / Math.max(most - least, 1) * (bottom - top);
  const paths = [new Path2D(), new Path2D()];
  let [left, height] = [x(0), y(0)];
  for (let at = 1; at < behind.length; at++) {
    const [right, next] = [x(places[at]), y(behind[at])];
    if (right - left < 0.7 && Math.abs(next - height) < 0.7 && at < behind.length - 1) continue;
    if (right >= 0 && left <= width) {
      const path = paths[next < height ? 0 : 1];
      path.moveTo(left, height);
      path.lineTo(right, next);
    }
    [left, height] = [right, next];
  }
  pen.fillStyle = colours.line;
  pen.fillRect(0, Math.round(y(0)), width, 1);
  pen.lineWidth = 2;
  paths.forEach((path, at) => {
    pen.strokeStyle = at ? colours.less : colours.more;
    pen.stroke(path);
  });
  pen.font = "10.5px system-ui, sans-serif";
  pen.fillStyle = colours.dim;
  pen.fillText(`${page.names[1]} behind ${page.names[0]}: ${signedSpan(least)} to ${signedSpan(most)}`, 4, AXIS + 8);
}

function sliceBox({ x, lanes, axis }, at) {
  const { top, height } = lanes[timeline.lane[at]], left = x(axis.from[at]);
  return { left, right: Math.max(x(axis.to[at]), left + 1), top: top + timeline.row[at] * height, height };
}

function isSliceShown({ lanes }, at) {
  return timeline.row[at] < lanes[timeline.lane[at]].shown;
}

// Outlines a slice and its counterpart, and connects them.
function drawPair(view, at) {
  const { pen, colours, width } = view;
  const boxes = [at, counterpartOf(at)].filter((one) => one >= 0 && isSliceShown(view, one)).map((one) => sliceBox(view, one));
  pen.strokeStyle = colours.focus;
  pen.lineWidth = 2;
  for (const box of boxes) {
    const left = Math.max(box.left, -4), right = Math.min(box.right, width + 4);
    pen.strokeRect(left, box.top - 0.5, Math.max(right - left, 1), box.height);
  }
  if (boxes.length < 2) return;
  const [above, below] = boxes[0].top < boxes[1].top ? boxes : [boxes[1], boxes[0]];
  pen.lineWidth = 1;
  for (const end of ["left", "right"]) {
    pen.beginPath();
    pen.moveTo(above[end], above.top + above.height);
    pen.lineTo(below[end], below.top);
    pen.stroke();
  }
}

// ---- words

function sideText(side) {
  const step = timeline.steps[side - 1];
  return `${page.names[side - 1]}${step ? ": " + step : ""}, host ${span(timeline.host[side - 1])}, done after ${span(timeline.ends[side - 1])}`;
}

function timelineText() {
  const [from, to] = timelineRange();
  const shown = from === 0 && to === timelineAxis().whole ? "everything" : `${span(from)} to ${span(to)}`;
  return `Timeline: ${sideText(1)}, above ${sideText(2)}; in view: ${shown}. The left and right arrow keys move the view, + and − zoom, and 0 shows everything. With Shift, the arrow keys move from call to call; [ and ] go to the next worst call. Enter zooms to the selected call, and Escape deselects it. The list below contains the same calls.`;
}

// How much the candidate falls behind from the start of an anchor to the next anchor; undefined for other slices.
function lostAt(at) {
  return (timeline.lost ??= findLost()).get(at);
}

function findLost() {
  const behind = lagPoints(), [one, two] = timeline.times, known = new Map();
  one.forEach((time, anchor) => known.set(time + "," + two[anchor], (behind[anchor + 1] ?? timeline.ends[1] - timeline.ends[0]) - behind[anchor]));
  const lost = new Map();
  timeline.other.forEach((other, at) => {
    if (other < 0 || sliceSide(at) !== 1 || isKernel(at) !== hasKernels()) return;
    const found = known.get(timeline.start[at] + "," + timeline.start[other]);
    if (found === undefined) return;
    lost.set(at, found);
    lost.set(other, found);
  });
  return lost;
}

// Formats a difference with its sign.
function signedSpan(ns) {
  const text = span(Math.abs(ns));
  return (text.startsWith("0 ") ? "±" : ns > 0 ? "+" : "−") + text;
}

// For a matched pair, the times on both sides; for an unmatched call, the name of the side that has the call.
function sliceFigures(at) {
  const other = counterpartOf(at), { start } = timeline;
  if (timeline.outside.has(at)) return `${span(sliceTime(at))} at ${span(start[at])}, launched outside this step`;
  if (other < 0) {
    const paired = "12".includes(tree.relation[timeline.position[at]]) ? `only in ${page.names[sliceSide(at) - 1]}` : "its counterpart is outside the visible range";
    return `${span(sliceTime(at))} at ${span(start[at])}, ${paired}`;
  }
  const [one, two] = sliceSide(at) === 1 ? [at, other] : [other, at];
  const [before, after] = [sliceTime(one), sliceTime(two)];
  const factor = before > 0 && after > 0 ? `, ${(after / before).toFixed(2)}x` : "";
  const lost = lostAt(at), behind = lost === undefined ? "" : `; ${signedSpan(lost)} behind until the next matched call`;
  return `${span(before)} → ${span(after)}, ${changeOf(before, after, false).sign} ${signedSpan(after - before)}${factor}; begins at ${span(start[one])} → ${span(start[two])}${behind}`;
}

// The kernels of the call on each side; the call of a matched kernel is the one that launched it.
function kernelTexts(at) {
  let above = timeline.position[at];
  const isOnly = "12".includes(tree.relation[above]);
  while (!isOnly && above >= 0 && (tree.kind[above] === "g" || "12".includes(tree.relation[above]))) above = tree.parent[above];
  if (above < 0) return [];
  return [1, 2].map((side) => {
    if (isOnly && side !== sliceSide(at)) return element("span", { class: "line" }, element("b", {}, page.names[side - 1]), " no counterpart");
    const events = eventsBelow(above, side).sort((a, b) => b.end - b.start - (a.end - a.start));
    const shown = events.slice(0, KERNELS_NAMED).map((event) => `${shortKernel(sideName(event.node, side))} ${span(event.end - event.start)}`);
    const more = events.length - shown.length;
    return element("span", { class: "line" }, element("b", {}, page.names[side - 1]), ` ${shown.join(", ") || "no kernels"}${more > 0 ? `, ${more} more` : ""}`);
  });
}

function describeSlice(at) {
  if (at < 0) {
    return timelineInfo.replaceChildren(...[1, 2].map((side) => element("span", { class: "line" }, sideText(side))),
      "Point at a call to see its times and kernels on both sides. Drag to move, turn the wheel to zoom, double-click to open a call in the tree.");
  }
  const node = timeline.node[at];
  const buttons = at === chosenSlice()
    ? [" ", element("button", { type: "button", class: "copy", onclick: () => showInTree(positionOf(node)) }, "show in the merged tree")] : [];
  timelineInfo.replaceChildren(element("span", { class: "line" }, name(cut(sliceName(at)))),
    element("span", { class: "line" }, sliceFigures(at), ...buttons), ...kernelTexts(at));
}

function chooseSlice(at) {
  setState({ slice: at < 0 ? "" : timeline.node[at] });
  pointed = -1;
  describeSlice(at);
  drawTimeline();
}

// The visible calls, one line per matched pair, largest difference first.
function listedPairs() {
  const [from, to] = timelineRange(), axis = timelineAxis();
  const inView = (at) => axis.from[at] < to && axis.to[at] > from;
  const pairs = [...timeline.byNode.values()].filter((slices) => slices.some(inView));
  return pairs.map((slices) => [slices[0], pairSize(slices)])
    .sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([at]) => at);
}

function pairSize([one, two]) {
  return two === undefined ? sliceTime(one) : Math.abs(sliceTime(two) - sliceTime(one));
}

function drawTimelineList() {
  const box = document.getElementById("timeline-list");
  box.querySelector("div")?.remove();
  if (!box.open) return;
  const all = listedPairs();
  const chosen = chosenSlice();
  const line = (at) => element("li", { class: at === chosen ? "differs" : null },
    element("button", { type: "button", "data-slice": timeline.node[at], "aria-pressed": String(at === chosen), onclick: () => {
      chooseSlice(at);
      box.querySelector(`[data-slice="${timeline.node[at]}"]`)?.focus();
    } }, name(cut(sliceLabel(at)))),
    element("span", { class: "dim" }, ` ${page.texts[timeline.lanes[timeline.lane[at]].name]}: ${sliceFigures(at)}`));
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
  const box = timelineView.getBoundingClientRect(), look = timelineLook();
  const y = event.clientY - box.top;
  const perPixel = (look.to - look.from) / box.width;
  const place = look.from + (event.clientX - box.left) * perPixel;
  const lane = look.lanes.findIndex(({ top, bottom }) => y >= top && y < bottom);
  if (lane < 0) return -1;
  const [first, end] = timeline.rowsOf[lane][Math.floor((y - look.lanes[lane].top) / look.lanes[lane].height)];
  const distance = (at) => Math.max(look.axis.from[at] - place, place - look.axis.to[at], 0);
  let best = -1;
  for (let at = first; at < end; at++) {
    if (distance(at) <= 2 * perPixel && (best < 0 || distance(at) < distance(best) || (distance(at) === distance(best) && sliceTime(at) < sliceTime(best)))) best = at;
  }
  return best;
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
  const isWhole = from === 0 && to === timelineAxis().whole;
  if (sideways && Math.abs(sideways) >= Math.abs(event.shiftKey ? 0 : event.deltaY)) panTimeline(sideways / box.width);
  else if (isWhole && event.deltaY > 0) return;
  else zoomTimeline(Math.exp(Math.max(-240, Math.min(240, event.deltaY)) / 300), around);
  event.preventDefault();
}

// Moves from call to call: to the neighbor in the same row, or to the nearest call in the next
// row.
function stepSlice(key) {
  const at = chosenSlice();
  if (at < 0) return chooseSlice(listedPairs()[0] ?? -1);
  const { from, to } = timelineAxis();
  const rows = timeline.rowsOf.flat();
  const here = rows.findIndex(([first, end]) => at >= first && at < end);
  const middle = (from[at] + to[at]) / 2;
  const distance = (other) => Math.max(from[other] - middle, middle - to[other], 0);
  const nearest = (row) => {
    if (!row) return undefined;
    let best = row[0];
    for (let other = row[0]; other < row[1]; other++) if (distance(other) < distance(best)) best = other;
    return best;
  };
  const next = { ArrowLeft: at > rows[here][0] ? at - 1 : undefined, ArrowRight: at + 1 < rows[here][1] ? at + 1 : undefined,
    ArrowUp: nearest(rows[here - 1]), ArrowDown: nearest(rows[here + 1]) }[key];
  if (next === undefined) return;
  goToSlice(next);
  bringIntoView(next);
}

// Chooses a slice. The page state identifies a slice only by its node, which both slices of a matched pair share. The
// slice on the chosen side is therefore moved to the front of the pair.
function goToSlice(at) {
  const node = timeline.node[at];
  timeline.byNode.set(node, [at, ...timeline.byNode.get(node).filter((other) => other !== at)]);
  if (!isSliceShown(timelineRows(), at)) setState({ deep: "1" });
  chooseSlice(at);
}

function bringIntoView(at) {
  const [from, to] = timelineRange(), axis = timelineAxis();
  if (axis.from[at] < to && axis.to[at] > from) return;
  const middle = (axis.from[at] + axis.to[at]) / 2;
  setRange(middle - (to - from) / 2, middle + (to - from) / 2);
}

function zoomToSlice(at) {
  const pair = timeline.byNode.get(timeline.node[at]), axis = timelineAxis();
  const from = Math.min(...pair.map((one) => axis.from[one]));
  const to = Math.max(...pair.map((one) => axis.to[one]));
  setRange(from - (to - from) * 0.25, to + (to - from) * 0.25);
}

// The calls that cost most, in the chosen group if there is one: first those in which the candidate falls behind most
// or, if it is ahead at the end, gets ahead most.
function worstCalls() {
  const { of } = grouping(), chosen = chosenGroup();
  const sign = timeline.ends[1] < timeline.ends[0] ? -1 : 1;
  const pairs = [...timeline.byNode.values()].filter(([at]) =>
    isKernel(at) === hasKernels() && !timeline.outside.has(at) && (chosen < 0 || of[at] === chosen));
  const cost = ([at, other]) => sign * (lostAt(at) ?? (other === undefined ? (sliceSide(at) === 2 ? 1 : -1) * sliceTime(at)
    : sliceTime(timeline.byNode.get(timeline.node[at]).find((one) => sliceSide(one) === 2)) - sliceTime(timeline.byNode.get(timeline.node[at]).find((one) => sliceSide(one) === 1))));
  return pairs.map((pair) => [pair[0], cost(pair)]).sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([at]) => at);
}

// Goes to the next or the previous of the worst calls.
function goToWorst(by) {
  const calls = worstCalls(), here = calls.findIndex((at) => timeline.node[at] === stateNumber("slice"));
  const next = calls[here < 0 ? 0 : here + by];
  if (next === undefined) {
    describeSlice(chosenSlice());
    return timelineInfo.append(element("span", { class: "line" }, !calls.length ? "This step has no calls of the chosen color."
      : by > 0 ? "No further calls: this is the last one." : "This is the worst call."));
  }
  goToSlice(next);
  const { from, to, whole } = timelineAxis(), around = Math.max(3 * (to[next] - from[next]), whole / 40);
  // What is lost after the call is in view, too.
  setRange(from[next] - around, to[next] + Math.max(around, 1.1 * Math.abs(lostAt(next) ?? 0)));
}

function timelineKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const chosen = chosenSlice(), all = () => setRange(0, timelineAxis().whole);
  const keys = {
    ArrowLeft: () => panTimeline(-0.2), ArrowRight: () => panTimeline(0.2),
    "+": () => zoomTimeline(0.5), "=": () => zoomTimeline(0.5), "-": () => zoomTimeline(2), 0: all, Home: all,
    Enter: () => chosen >= 0 && zoomToSlice(chosen), Escape: () => chooseSlice(-1),
  };
  const act = event.shiftKey && event.key.startsWith("Arrow") ? () => stepSlice(event.key) : keys[event.key];
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

// ---- links and controls

// The slice of a node, or of the drawn call below the node that changed most; -1 if neither is drawn.
function sliceOf(at) {
  if (at < 0) return -1;
  const own = timeline.byNode.get(idOf(at)), drawn = (timeline.drawn ??= Float64Array.from(timeline.byNode.keys()).sort());
  let best = own, last = idOf(tree.end[at] - 1);
  for (let next = own ? drawn.length : firstVisible([0, drawn.length], drawn, idOf(at)); next < drawn.length && drawn[next] <= last; next++) {
    const slices = timeline.byNode.get(drawn[next]);
    if (!best || pairSize(slices) > pairSize(best)) best = slices;
  }
  return best ? best[0] : -1;
}

function showNodeInTimeline(at) {
  showSlice(sliceOf(at));
}

function showSlice(slice) {
  openPanel("timeline");
  goToSlice(slice);
  zoomToSlice(slice);
  timelineView.focus({ preventScroll: true });
}

// Selects the calls of a group, or all calls if the group is selected already.
function chooseGroup(group) {
  const { names, changes } = grouping(), value = group === chosenGroup() ? "" : changes ? changes[group] : names[group];
  goTo(changes ? { change: value, open: "", row: "" } : { pick: value });
  drawn.delete("differences");
  markChange();
  drawTimelineControls();
  drawTimeline();
}

function drawTimelineControls() {
  if (!timeline) return;
  const redraw = () => { drawTimelineControls(); drawTimeline(); };
  const button = (text, title, act) => element("button", { type: "button", "aria-label": title, title, onclick: act }, text);
  const controls = [element("span", { class: "buttons" },
    button("−", "zoom out", () => zoomTimeline(2)), button("+", "zoom in", () => zoomTimeline(0.5)),
    button("←", "earlier", () => panTimeline(-0.4)), button("→", "later", () => panTimeline(0.4)),
    button("all", "show all of the step", () => setRange(0, timelineAxis().whole)),
    button("[", "previous worst call", () => goToWorst(-1)), button("]", "next worst call", () => goToWorst(1))),
  ];
  if (hasAnchors()) controls.push(choice("axis", "axis", [["", "aligned by matched calls"], ["clock", "clock"]], "", (value) => { goTo({ axis: value, t: "" }); redraw(); }));
  controls.push(choice("color by", "colour", [["", "line of the bill"], ["op", "op"], ["class", "class"], ["time", "longer or shorter"]], "", (value) => { goTo({ colour: value, pick: "" }); redraw(); }));
  if (timeline.lanes.some((lane) => !lane.is_gpu && lane.rows.length > HOST_ROWS)) controls.push(tick("all levels of host calls", "deep", (value) => { goTo({ deep: value }); redraw(); }));
  document.getElementById("timeline-controls").replaceChildren(...controls);
  drawTimelineLegend();
  describeSlice(chosenSlice());
}

// The colors: a button per group, which selects the calls of the group.
function drawTimelineLegend() {
  const { names } = grouping(), chosen = chosenGroup();
  const sample = (style, text) => element("span", { class: style }, text);
  const groups = names.map((text, group) => {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = hueColour(group);
    return element("button", { type: "button", "data-group": group, "aria-pressed": String(group === chosen), onclick: () => chooseGroup(group) }, swatch, element("bdi", {}, text));
  });
  const styles = [["more1", "▲ longer"], ["less1", "▼ shorter"], ["same0", "· equally long"], ["replaced", "only on one side"]];
  const samples = names.length ? groups : styles.map(([style, text]) => sample(style, text));
  const hatched = timelineAxis().hatches.some((list) => list.length);
  document.getElementById("timeline-legend").replaceChildren(...samples,
    timeline.outside.size ? sample("outside", "launched outside the step") : "",
    ...(hatched ? [element("span", { class: "swatch hatched" }), "finished, the other side has not"] : []));
}

// Registers the event handlers of the canvas, and adds a button for each part shown on it. Called
// once.
function startTimeline() {
  if (!timeline) return;
  for (const type of ["pointerdown", "pointermove", "pointerup", "pointerleave", "pointercancel"]) {
    timelineView.addEventListener(type, timelinePointer);
  }
  timelineView.addEventListener("wheel", timelineWheel, { passive: false });
  timelineView.addEventListener("keydown", timelineKey);
  timelineView.addEventListener("dblclick", (event) => {
    const at = sliceAt(event);
    if (at >= 0) showInTree(timeline.position[at]);
  });
  document.getElementById("timeline-list").addEventListener("toggle", drawTimelineList);
  new ResizeObserver(drawTimeline).observe(timelineView.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawTimelineLegend(); drawTimeline(); });
  const lines = document.querySelectorAll("[data-part]");
  for (const { part, node } of timeline.parts) {
    if (!timeline.byNode.has(node)) continue;
    lines[part]?.querySelector(".why").append(" ", element("button", {
      type: "button", class: "copy", "data-timeline": part, onclick: () => showNodeInTimeline(positionOf(node)) }, "show in the timeline"));
  }
}
