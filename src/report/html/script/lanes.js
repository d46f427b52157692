// Draws the kernels of a call to scale, with their launch times, in one lane per side. Also shows how certain the match
// of the call is.
//
// baseline   ╷   ╷  [wgrad]   [dgrad]        ╷ launch   [] kernel
// candidate  ╷ ╷ [wgrad_alg0        ]

const LANE_WIDTH = 1000;
const LANE_BAR = 16;
const LANES_MOST = 2000;
const LANES_LISTED = 12;

// The GPU events of a side at or below a node, sorted by start.
function eventsBelow(at, side) {
  const { start, launch } = gpuTimesOf(side);
  const list = [];
  for (let node = at; node < tree.end[at]; node++) {
    if (start[node] >= 0 && list.length < LANES_MOST) {
      list.push({ node, start: start[node] * 100, end: start[node] * 100 + timesOf(RECORDED)["own" + side][node], launch: launch[node] < 0 ? null : launch[node] * 100 });
    }
  }
  return list.sort((a, b) => a.start - b.start || a.node - b.node);
}

// Puts overlapping events into different rows.
function stackEvents(events) {
  const ends = [];
  for (const event of events) {
    let row = ends.findIndex((end) => end <= event.start + 50);
    if (row < 0) row = ends.length;
    event.row = row;
    ends[row] = event.end;
  }
  return ends.length;
}

function svg(tag, properties, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The lanes of a call; null if the call has no GPU events on either side.
function kernelLanes(at) {
  const sides = [1, 2].map((side) => ({ side, events: eventsBelow(at, side) }));
  if (sides.every(({ events }) => !events.length)) return null;
  for (const lane of sides) {
    const times = lane.events.flatMap(({ start, launch, end }) => [launch ?? start, end]);
    lane.from = Math.min(...times);
    lane.to = Math.max(...times);
    lane.length = lane.events.length ? lane.to - lane.from : 0;
    lane.rows = Math.max(stackEvents(lane.events), 1);
  }
  const longest = Math.max(...sides.map((lane) => lane.length), 1);
  const box = element("div", { class: "lanes" });
  for (const lane of sides) box.append(kernelLane(lane, longest));
  return box;
}

function kernelLane({ side, events, from, length, rows: count }, longest) {
  const height = count * LANE_BAR + 8;
  const x = (ns) => ((ns - from) / longest) * LANE_WIDTH;
  const busy = events.reduce((sum, { start, end }) => sum + end - start, 0);
  const words = events.length
    ? `${events.length} ${events.length === 1 ? "GPU event" : "GPU events"}, ${span(busy)} busy; ${span(length)} from the first launch to the end`
    : "no GPU events on this side";
  const drawing = svg("svg", { viewBox: `0 0 ${LANE_WIDTH} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${page.names[side - 1]}: ${words}` });
  for (const event of events) {
    const title = svg("title", {}, `${sideName(event.node, side)}\n${span(event.end - event.start)}${event.launch === null ? ", launch unknown" : `, launched ${span(event.start - event.launch)} before`}`);
    if (event.launch !== null) drawing.append(svg("rect", { class: "launch", x: x(event.launch), y: 0, width: 1.2, height }));
    drawing.append(svg("rect", {
      class: "gpu " + laneStyle(event.node, side), x: x(event.start), y: 4 + event.row * LANE_BAR,
      width: Math.max(x(event.end) - x(event.start), 1), height: LANE_BAR - 2,
    }, title));
  }
  const listed = [...events].sort((a, b) => (b.end - b.start) - (a.end - a.start)).slice(0, LANES_LISTED);
  const list = element("ol", { class: "kernel-list" }, ...listed.map((event) => element("li", {},
    kernelName(sideName(event.node, side)), element("span", { class: "time" }, span(event.end - event.start)))));
  const more = events.length - listed.length;
  return element("div", { class: "lane" },
    element("p", { class: "lane-head" }, element("b", {}, page.names[side - 1]), " ", element("span", { class: "dim" }, words)),
    drawing,
    events.length ? element("details", {}, element("summary", {}, "kernels, longest first"), list, more > 0 ? element("p", { class: "dim" }, `${more} more`) : "") : "");
}

// The style of an event, which shows whether it is longer or shorter than its counterpart;
// `replaced` if it has no counterpart.
function laneStyle(node) {
  if ("12".includes(tree.relation[node])) return "replaced";
  return changeOf(timesOf(RECORDED).own1[node], timesOf(RECORDED).own2[node], false).style;
}

const CONFIDENCES = {
  firm: ["firm match", "Both sides have the same number of calls with this name or content at this position, in the same order."],
  likely: ["likely match", "This is the best match found, but other matches are possible."],
  interchangeable: ["interchangeable match", "One side has more calls with exactly this content at this position, and nothing in the traces shows which of them is the counterpart."],
};

// How certain the match of a call is: `firm`, `likely` or `interchangeable`; an empty string if the call has no
// counterpart.
function confidenceOf(at) {
  if ("12".includes(tree.relation[at])) return "";
  const group = tree.unsure.get(at);
  return group === undefined ? "firm" : group < 0 ? "likely" : "interchangeable";
}

function confidenceTag(at) {
  const known = CONFIDENCES[confidenceOf(at)];
  return known ? element("span", { class: "tag confidence", title: known[1] }, known[0])
    : element("span", { class: "tag confidence" }, `only in ${page.names[Number(tree.relation[at]) - 1]}`);
}

// The panel next to the tree, which shows the times, the match and the kernels of the selected
// call.
function drawCall(at) {
  const box = document.getElementById("call");
  if (at < 0 || at === undefined) {
    box.replaceChildren(element("p", { class: "dim" }, "Select a call to see its match and its kernels."));
    return;
  }
  const uids = [1, 2].map((side) => tree["uid" + side][at]);
  const uid = (side) => (uids[side - 1] < 0 ? "–" : uidText(side, uids[side - 1]));
  const isEmpty = tree.events[at] === 0;
  const isOnly = "12".includes(tree.relation[at]);
  const [one, two] = [tree.all1[at], tree.all2[at]];
  const how = changeOf(one, two, false);
  // The rows of the tree divide the time of each call by the number of steps.
  const inTree = hasSteps() && perStep() && !isEmpty ? `; ${isOnly ? time(one || two, one ? 1 : 2) : signed(one, two)} ${unitWords()}, if shared among all steps` : "";
  const lanes = kernelLanes(at);
  box.replaceChildren(
    element("h3", {}, nodeLabel(at)),
    element("p", {}, confidenceTag(at), " ", element("span", { class: "dim" }, `uid ${uid(1)} → ${uid(2)}`)),
    element("p", {}, isEmpty ? "no attributed work" : isOnly ? `this call: ${span(one || two)}` : `this call: ${span(one)} → ${span(two)}, `,
      isEmpty || isOnly ? "" : element("span", { class: how.word }, `${how.sign} ${signedSpan(two - one)}`),
      element("span", { class: "dim" }, inTree)),
    lanes ? element("div", {}, element("h4", {}, "Kernels of this call, to scale"), element("p", { class: "dim small" }, "Each lane starts at its first launch; thin lines are launches."), lanes) : element("p", { class: "dim" }, "No GPU events below this call."),
    element("div", { class: "actions" },
      element("button", { type: "button", onclick: () => showInFlame(at) }, "in the flame graph"),
      timeline && sliceOf(at) >= 0 ? element("button", { type: "button", onclick: () => showNodeInTimeline(at) }, "in the timeline") : "",
      copyButton("path query", () => queryOf(at)),
      reproButton(at),
      uids[0] >= 0 ? copyButton("baseline uid", () => uid(1)) : "", uids[1] >= 0 ? copyButton("candidate uid", () => uid(2)) : ""));
}
