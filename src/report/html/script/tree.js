// Shows the merged tree as lines that are created on demand, so the cost of a tree with 100,000
// calls depends only on the expanded calls.

const CHILDREN_SHOWN = 100;
const SHOWS = [["work", "calls with attributed work"], ["changed", "calls that differ"], ["all", "all calls"]];
const ORDERS = [["", "call order"], ["diff", "largest difference first"]];

const treeView = document.getElementById("tree-view");
// For each node whose line was created: the line, and the element that contains the lines below the
// node.
const lines = new Map();
// Nodes that a link or a search led to. They are shown regardless of the filter.
const asked = new Set();

function isShown(at) {
  const show = state.get("show") || "work";
  if (show === "all" || asked.has(at)) return true;
  if (show === "work") return tree.events[at] > 0;
  return tree.changes[at] > 0 || change(tree.all1[at], tree.all2[at]).word !== "same";
}

function shownChildren(at) {
  const list = childrenOf(at).filter(isShown);
  if (state.get("order") === "diff") {
    const size = (node) => Math.abs(tree.all2[node] - tree.all1[node]);
    list.sort((a, b) => size(b) - size(a) || a - b);
  }
  return list;
}

function nodeTags(at) {
  const text = { s: "", x: "replaced", r: "renamed", m: "moved", 1: "only " + page.names[0], 2: "only " + page.names[1] }[tree.relation[at]];
  const tags = text ? [element("span", { class: "tag" }, text)] : [];
  return isCaptured(at) ? [...tags, element("span", { class: "tag" }, "captured")] : tags;
}

// For a captured call, the first uid of the captured calls below its graph launch, and the uid of that launch;
// undefined for any other call. Captured calls below one launch have consecutive uids.
function capturedRange(side, uid) {
  return page.captured[side - 1].findLast(([first]) => uid >= first);
}

// Whether a call was recorded during a graph capture and therefore has no time of its own.
function isCaptured(at) {
  return [1, 2].some((side) => capturedRange(side, tree["uid" + side][at]));
}

// The uid of a call as the command line shows it. For a captured call, this is the position of the
// graph launch, then the call's position in the capture file.
function uidText(side, uid) {
  const range = capturedRange(side, uid);
  return range ? `${range[1]}:${uid - range[0]}` : String(uid);
}

// The name of a node as an element, with kernel names in short form.
function nodeLabel(at) {
  return tree.kind[at] === "g" ? kernelName(nodeName(at)) : name(nodeName(at));
}

function drawTree() {
  lines.clear();
  const head = element("div", { class: "node tree-head", "aria-hidden": "true" },
    element("span", { class: "label" }, "call"),
    ...page.names.map((title) => element("span", { class: "time" }, title, element("small", {}, unitWords()))),
    element("span", { class: "time delta" }, "difference", element("small", {}, unitWords())));
  const box = element("div", { role: "presentation" });
  document.getElementById("tree-head").replaceChildren(head);
  treeView.replaceChildren(box);
  fill(box, -1, CHILDREN_SHOWN);
  const first = treeView.querySelector("[role=treeitem]");
  if (first) first.tabIndex = 0;
  else document.getElementById("tree-head").append(element("p", { class: "dim" }, "nothing to show"));
  drawCrumbs(-1);
  drawCall(-1);
}

// Adds lines for the children of `at`, up to `limit`.
function fill(box, at, limit) {
  const children = shownChildren(at);
  const rest = children.length - limit;
  const made = box.querySelectorAll(":scope > .branch").length;
  box.querySelector(":scope > .show-more")?.remove();
  box.append(...children.slice(made, limit).map(branch));
  if (rest > 0) {
    const more = () => fill(box, at, limit + 5 * CHILDREN_SHOWN);
    // An element with the role `tree` may contain only tree items, so the button has the role `treeitem`.
    box.append(element("button", { type: "button", role: "treeitem", class: "show-more", onclick: more }, `${rest} more calls`));
  }
}

function branch(at) {
  const opens = shownChildren(at).length > 0;
  const below = element("div", { role: "group", hidden: "" });
  const line = element("div", {
    class: "node k-" + tree.kind[at], role: "treeitem", tabindex: "-1", "data-node": idOf(at),
    "aria-level": tree.depth[at] + 1, "aria-expanded": opens ? "false" : null,
    onclick: () => toggle(at), onfocus: () => select(at),
  }, label(at, opens), ...figures(at));
  lines.set(at, { line, below, opens });
  return element("div", { class: "branch", role: "presentation" }, line, below);
}

// All levels are indented, but deep levels by less, so that chains of a hundred frames fit on the page.
const STEEP = 14;
function indentOf(depth) {
  return Math.min(depth, STEEP) * 0.8 + Math.min(Math.max(depth - STEEP, 0), 60) * 0.12;
}

function label(at, opens) {
  const hidden = tree.hiddenBelow.get(at);
  const box = element("span", { class: "label" },
    element("span", { class: "toggle", "aria-hidden": "true" }, opens ? "▸" : ""),
    element("span", {}, nodeLabel(at), ...nodeTags(at).flatMap((tag) => [" ", tag]),
      hidden ? element("span", { class: "dim" }, ` (${hidden} omitted)`) : null));
  box.style.setProperty("--indent", indentOf(tree.depth[at]) + "em");
  return box;
}

// Selects a call. This function is called when the call's line receives the focus.
function select(at) {
  setState({ node: idOf(at) });
  drawCrumbs(at);
  drawCall(at);
}

// Lists the ancestors of the selected call.
function drawCrumbs(at) {
  const box = document.getElementById("crumbs");
  if (at < 0) return box.replaceChildren(element("span", { class: "dim" }, "no call selected"));
  const path = pathTo(at);
  box.replaceChildren(...path.slice(0, -1).flatMap((above) => [
    element("button", { type: "button", onclick: () => reveal(above) }, shortName(nodeName(above))), element("span", { "aria-hidden": "true" }, "›")]),
    element("b", {}, shortName(tree.kind[at] === "g" ? shortKernel(nodeName(at)) : nodeName(at))));
  box.scrollLeft = box.scrollWidth;
}

function figures(at) {
  const [time1, time2] = [tree.all1[at], tree.all2[at]];
  if (tree.events[at] === 0) return [];
  const how = change(time1, time2);
  return [
    element("span", { class: "time" }, time(time1, 1)), element("span", { class: "time" }, time(time2, 2)),
    element("span", { class: "time delta " + (isReplaced(at) ? "replaced" : how.style) }, (isReplaced(at) ? "◇" : how.sign) + " " + signed(time1, time2)),
  ];
}

function setOpen(at, open) {
  const { line, below, opens } = lines.get(at);
  if (!opens) return;
  if (open && !below.firstChild) fill(below, at, CHILDREN_SHOWN);
  below.hidden = !open;
  line.setAttribute("aria-expanded", String(open));
  line.querySelector(".toggle").textContent = open ? "▾" : "▸";
}

function isOpen(at) {
  return lines.has(at) && lines.get(at).line.getAttribute("aria-expanded") === "true";
}

// Expands a call and its chain of only children down to the next branch, or collapses the call.
function toggle(at) {
  const open = !isOpen(at);
  setOpen(at, open);
  for (let node = at, below; open; node = below[0]) {
    below = shownChildren(node);
    if (below.length !== 1) break;
    setOpen(below[0], true);
  }
  focusLine(at);
}

function focusLine(at) {
  treeView.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
  lines.get(at).line.tabIndex = 0;
  lines.get(at).line.focus({ preventScroll: true });
}

// Expands all ancestors of a node and scrolls to the node.
function reveal(at) {
  const path = pathTo(at);
  if (!path.every(isShown)) {
    path.forEach((node) => asked.add(node));
    drawTree();
  }
  let above = -1, box = treeView.lastChild;
  for (const node of path) {
    if (!lines.has(node)) fill(box, above, shownChildren(above).indexOf(node) + 1);
    if (node !== at) setOpen(node, true);
    box = lines.get(node).below;
    above = node;
  }
  treeView.querySelector(".found")?.classList.remove("found");
  lines.get(at).line.classList.add("found");
  focusLine(at);
  lines.get(at).line.scrollIntoView({ block: "center" });
}

function showInTree(at) {
  openPanel("tree");
  reveal(at);
}

// The name of a node in lower case, computed once per distinct name.
const lowerNames = new Map();
function lowerName(at) {
  const text = tree.name[at];
  if (!lowerNames.has(text)) lowerNames.set(text, page.texts[text].toLowerCase());
  return lowerNames.get(text);
}

// Finds the next node, after the current node, that matches the search string or path query.
let foundText = null, foundList = [];
function findNext(text) {
  if (!text) return;
  const search = searchOf(text);
  if (foundText !== text) {
    foundText = text;
    const wanted = text.toLowerCase();
    // Each distinct name is compared with the search string only once.
    const fits = new Uint8Array(page.texts.length);
    if (!search.nodes && !search.error) page.texts.forEach((name, at) => { fits[at] = name.toLowerCase().includes(wanted) ? 1 : 0; });
    foundList = search.nodes ? search.nodes.list : [];
    if (!search.nodes) for (let at = 0; at < tree.size; at++) if (fits[tree.name[at]]) foundList.push(at);
  }
  const from = positionOf(stateNumber("node") ?? -1);
  const next = Math.max(foundList.findIndex((at) => at > from), 0);
  document.getElementById("tree-found").textContent = search.error ? `not a path query: ${search.error}`
    : foundList.length === 0 ? `no name matches “${text}”` : `${next + 1} of ${foundList.length}`;
  if (foundList.length) reveal(foundList[next]);
}

// Typing letters in the tree moves to the next visible line whose name contains the typed letters.
let typed = "", typedAt = 0;
function typeAhead(letter, all, line) {
  const now = performance.now();
  typed = now - typedAt < 900 ? typed + letter : letter;
  typedAt = now;
  const here = all.indexOf(line);
  const order = [...all.slice(here + (typed.length > 1 ? 0 : 1)), ...all.slice(0, here + 1)];
  return order.find((item) => item.querySelector(".name").textContent.toLowerCase().includes(typed.toLowerCase()));
}

function treeKey(event) {
  const line = event.target.closest("[data-node]");
  if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
  const at = positionOf(Number(line.dataset.node));
  const all = [...treeView.querySelectorAll("[data-node]")].filter((item) => item.offsetParent);
  const to = (item) => item && focusLine(positionOf(Number(item.dataset.node)));
  const keys = {
    ArrowDown: () => to(all[all.indexOf(line) + 1]),
    ArrowUp: () => to(all[all.indexOf(line) - 1]),
    ArrowRight: () => (isOpen(at) ? to(all[all.indexOf(line) + 1]) : setOpen(at, true)),
    ArrowLeft: () => (isOpen(at) ? setOpen(at, false) : tree.parent[at] >= 0 && focusLine(tree.parent[at])),
    Home: () => to(all[0]),
    End: () => to(all[all.length - 1]),
    Enter: () => toggle(at),
    " ": () => toggle(at),
    "*": () => {
      shownChildren(tree.parent[at]).slice(0, CHILDREN_SHOWN).forEach((beside) => lines.has(beside) && setOpen(beside, true));
      shownChildren(at).forEach((below) => lines.has(below) && setOpen(below, true));
    },
  };
  const isLetter = /^[\p{L}\p{N}_:]$/u.test(event.key);
  if (!keys[event.key] && !isLetter) return;
  event.preventDefault();
  event.stopPropagation();
  if (keys[event.key]) keys[event.key]();
  else to(typeAhead(event.key, all, line));
  document.activeElement.scrollIntoView({ block: "nearest" });
}

function drawTreeControls() {
  const redraw = (key) => (value) => {
    goTo({ [key]: value });
    drawTree();
  };
  const find = field("find by name or path query (Enter: next)", "find", (text) => setState({ find: text }));
  find.querySelector("input").addEventListener("keydown", (event) => {
    if (event.key === "Enter") findNext(event.target.value);
  });
  document.getElementById("tree-controls").replaceChildren(
    choice("show", "show", SHOWS, "work", redraw("show")),
    choice("order", "order", ORDERS, "", redraw("order")), find,
    element("span", { id: "tree-found", role: "status" }),
    copyButton("path query", () => queryOf(Math.max(positionOf(stateNumber("node") ?? 0), 0))));
}
