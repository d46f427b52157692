// Shows one section at a time, draws each section when it first becomes visible, and follows the fragment of the
// page's URL.

const panels = [...document.querySelectorAll(".panel")];
const links = [...document.querySelectorAll("nav a")];

// The function that draws each panel. Each function is called when its panel is shown and the panel's content has
// changed.
const DRAWINGS = {
  differences: () => { groupsShown = PAGE_OF_GROUPS; drawFilters(); drawRows(); },
  tree: () => { drawTreeControls(); drawTree(); },
  flame: () => { drawFlameControls(); drawFlame(); },
  timeline: () => { drawTimelineControls(); drawTimeline(); },
};
const drawn = new Set();

function panelOf(id) {
  return document.getElementById(id)?.closest(".panel") ?? panels[0];
}

// Opens the panel of a section; the Back button returns to the previous section.
function openPanel(id, changes = {}) {
  goTo({ at: id, y: "", ...changes });
  if (panelOf(id).hidden) scrollTo({ top: 0, behavior: "instant" });
  showPanel(id);
}

function showPanel(id) {
  const shown = panelOf(id);
  for (const panel of panels) panel.hidden = panel !== shown;
  document.body.classList.toggle("is-first", shown === panels[0]);
  document.body.classList.toggle("is-wide", ["tree", "flame", "timeline"].includes(shown.dataset.panel));
  for (const link of links) {
    if (panelOf(link.getAttribute("href").slice(1)) === shown) {
      link.setAttribute("aria-current", "true");
      scrollBarTo(link);
    } else link.removeAttribute("aria-current");
  }
  drawTotal(shown.dataset.panel);
  drawPanel(shown.dataset.panel);
}

// Scrolls the bar of sections until the link is in view. `scrollIntoView` would also move the place from which the Tab
// key continues (Chromium 150), so that the first Tab on the page would pass over the skip link.
function scrollBarTo(link) {
  const [bar, place] = [link.parentElement, link].map((part) => part.getBoundingClientRect());
  link.parentElement.scrollLeft += Math.min(place.left - bar.left, 0) + Math.max(place.right - bar.right, 0);
}

function drawPanel(key) {
  if (drawn.has(key)) return;
  drawn.add(key);
  DRAWINGS[key]?.();
}

function drawAll() {
  readState();
  drawn.clear();
  useMeasure();
  retime();
  document.getElementById("tools").replaceChildren(drawMeasureSwitch(), drawUnitSwitch(), helpButton());
  markChange();
  const id = state.get("at") || "what";
  showPanel(id);
  const node = stateNumber("node");
  if (panelOf(id).dataset.panel === "tree" && node !== null && positionOf(node) >= 0) reveal(positionOf(node));
  else showPlace(id);
}

// Scrolls to the section that a link names, or to the saved scroll offset in the section.
function showPlace(id) {
  const part = document.getElementById(id);
  const below = Number(state.get("y"));
  if (!part || part.closest("section") === panelOf(id).querySelector("section")) scrollTo({ top: state.has("y") && Number.isFinite(below) ? below : 0, behavior: "instant" });
  else part.scrollIntoView();
}

// Saves the scroll offset in the address, shortly after scrolling stops.
let scrolling = 0;
function keepPlace() {
  clearTimeout(scrolling);
  scrolling = setTimeout(() => {
    if ((state.get("y") || "0") !== String(Math.round(scrollY))) setState({ y: scrollY > 0 ? Math.round(scrollY) : "" });
  }, 150);
}

// A link to a section opens its panel. If the link names a node, the node is selected as well.
function followLink(event) {
  const link = event.target.closest('a[href^="#"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const target = link.getAttribute("href").slice(1);
  if (target.includes("=")) {
    goTo({ at: "", y: "", ...Object.fromEntries(new URLSearchParams(target)) });
    drawAll();
    return;
  }
  if (target === "tabs") return links[0].focus();
  const part = document.getElementById(target);
  if (!part) return;
  openPanel(target);
  if (part.closest(".panel").querySelector("section") === part) scrollTo({ top: 0, behavior: "instant" });
  else part.scrollIntoView();
  part.querySelector("h2")?.focus({ preventScroll: true });
}

// The call of a change that changed most in the direction of the change, and its share of the sum over the outermost
// calls. A call that one side lacks is compared within the matched op around it.
function largestCall(change, isLess) {
  const { all1, all2 } = timesOf(mainMeasure()), costs = new Map();
  let end = -1, sum = 0, best = -1;
  for (const node of page.changes[change].nodes) {
    let at = node;
    while ("12".includes(tree.relation[at]) && tree.kind[tree.parent[at]] === "o") at = tree.parent[at];
    if (costs.has(at)) continue;
    const cost = (isLess ? -1 : 1) * difference(all1[at], all2[at]);
    costs.set(at, cost);
    if (best < 0 || cost > costs.get(best)) best = at;
    if (at < end) continue;
    end = tree.end[at];
    sum += Math.max(cost, 0);
  }
  if (best < 0) return null;
  const share = sum > 0 ? Math.round(100 * costs.get(best) / sum) : 0;
  const of = !hasSteps() ? "" : page.steps[0] === page.steps[1] ? ` of all ${page.steps[0]} steps` : " of all steps";
  const order = [...costs.keys()].sort((a, b) => costs.get(b) - costs.get(a) || a - b);
  return { node: best, order, share: share > 0 && share <= 100 ? `, ${share}%${of}` : "" };
}

// The nearest call at or above a node that has recorded time on both sides; the node itself if there is none.
function onBothSides(node) {
  const { all1, all2 } = timesOf(RECORDED);
  let at = node;
  while (at >= 0 && !(all1[at] > 0 && all2[at] > 0)) at = tree.parent[at];
  return at < 0 || "tu".includes(tree.kind[at]) ? node : at;
}

// The slice that shows most of a change: that of its largest call in the step that is shown, or of an op around it.
function sliceOfChange(nodes) {
  for (const node of nodes) {
    const slice = sliceOf(node);
    if (slice >= 0) return slice;
    for (let at = tree.parent[node]; at >= 0 && "or".includes(tree.kind[at]); at = tree.parent[at]) {
      if (timeline.byNode.has(idOf(at))) return sliceOf(at);
    }
  }
  return -1;
}

// A file name for a shell, in quotes if it needs them.
function shellWord(text) {
  return /^[\w@%+=:,.\/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// The command that prints a script which repeats a call; `which` names the call.
function reproCommand(which) {
  const paths = [...document.querySelectorAll("#inputs .path bdi")].map((path) => shellWord(path.textContent));
  return `tracetree repro ${paths.join(" ")} ${which}`;
}

// A button that copies the command which repeats a call. Calls below a graph launch cannot be named in a command.
function reproButton(at) {
  const side = [1, 2].find((side) => tree["uid" + side][at] >= 0 && !capturedRange(side, tree["uid" + side][at]));
  if (!side || "tu".includes(tree.kind[at])) return "";
  return copyButton("repro command", () => reproCommand(`--${side === 1 ? "baseline" : "candidate"} ${tree["uid" + side][at]}`));
}

// Gives each change a copy button, and links to the change's largest call, to its call sites and to the timeline.
function addChangeLinks() {
  for (const row of document.querySelectorAll("[data-change]")) {
    const at = Number(row.dataset.change);
    const { rows: ofChange, nodes } = page.changes[at];
    const box = row.querySelector(".links");
    const button = (text, act) => element("button", { type: "button", class: "copy", onclick: act }, text);
    const largest = largestCall(at, row.querySelector(".delta b").textContent.startsWith("−"));
    if (largest) {
      const link = `#at=tree&node=${idOf(largest.node)}`;
      box.prepend(element("a", { href: link, "data-node": idOf(largest.node) }, `largest call${largest.share}`), " ");
      for (const action of document.querySelectorAll(`[data-largest="${at}"]`)) action.href = `#at=tree&node=${idOf(onBothSides(largest.node))}`;
    }
    if (ofChange.length) box.append(button("call sites", () => { openPanel("differences", { change: at, q: "", open: "", row: "" }); drawFilters(); drawRows(); }));
    const slice = timeline ? sliceOfChange(largest?.order ?? nodes) : -1;
    const select = () => { setState({ change: at, colour: "", t: "" }); markChange(); drawn.delete("timeline"); showSlice(slice); };
    if (slice >= 0) {
      box.append(button("timeline", select));
      row.querySelector(".sentence").addEventListener("click", select);
      row.classList.add("opens");
    }
    if (row.dataset.bill) box.append(copyButton("repro command", () => reproCommand(`--bill-line ${row.dataset.bill}`)));
    box.append(copyButton("sentence", () => `${row.querySelector(".delta b").textContent} ${document.querySelector("#changes-card h3 small").textContent.split("; ").pop()}: ${row.querySelector(".sentence").textContent}`));
    row.tabIndex = -1;
  }
  for (const box of document.querySelectorAll("[data-first]")) {
    const slice = timeline ? sliceOf(positionOf(Number(box.dataset.first))) : -1;
    if (slice >= 0) box.append(" ", element("button", { type: "button", class: "copy", onclick: () => showSlice(slice) }, "timeline"));
  }
  for (const code of document.querySelectorAll("code.command")) code.after(" ", copyButton("command", code.textContent));
}

// Shortens kernel names in the tables that are part of the page's HTML.
function shortenKernels() {
  for (const cell of document.querySelectorAll("#same-kernels .name")) cell.replaceWith(kernelName(cell.textContent));
}

document.addEventListener("click", followLink);
for (const shapes of document.querySelectorAll("#changes th bdi.dim, #efficiency th bdi.dim")) {
  if (shapes.textContent.length > FOLD) shapes.replaceWith(folded(shapes.textContent));
}
shortenKernels();
startTimeline();
addChangeLinks();
treeView.addEventListener("keydown", treeKey);
flameView.addEventListener("keydown", flameKey);
document.addEventListener("keydown", shortcut);
addEventListener("hashchange", drawAll);
addEventListener("beforeprint", () => drawPanel("differences"));
drawAll();
addEventListener("scroll", keepPlace, { passive: true });
