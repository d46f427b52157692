// Handles shortcut keys that work everywhere on the page, and lists all keys.

const KEYS = [
  ["/", "search in this section"],
  ["[ and ]", "previous and next change; in the timeline, previous and next worst call"],
  ["j and k", "next and previous line"],
  ["1 to 9", "sections"],
  ["u", "switch between times per step and total times"],
  ["?", "this list"],
  ["Tree: arrows, Enter", "move, expand and collapse"],
  ["Tree: *", "expand this call, its siblings and the calls directly below them"],
  ["Tree: letters", "go to the next line that contains these letters"],
  ["Flame graph: arrows, + −, 0, s", "move, zoom, show all, show callers and callees"],
  ["Timeline: arrows, + −, 0", "move, zoom, show all; with Shift, move from call to call"],
];

function helpButton() {
  return element("button", { type: "button", class: "help", "aria-label": "Keys", title: "Keys (?)", onclick: showHelp }, "?");
}

function showHelp() {
  const dialog = document.getElementById("help");
  dialog.replaceChildren(
    element("h2", { id: "help-title" }, "Keys"),
    element("dl", {}, ...KEYS.flatMap(([key, text]) => [element("dt", {}, key), element("dd", {}, text)])),
    element("form", { method: "dialog" }, element("button", {}, "close")));
  dialog.showModal();
}

function currentPanel() {
  return panels.find((panel) => !panel.hidden);
}

// The lines that the keys j and k step through.
function walkable() {
  const list = [...currentPanel().querySelectorAll("#rows tbody tr.line th button, #tree-view [role=treeitem], [data-change], #timeline-list li button, tbody th[scope=row]")];
  return list.filter((line) => line.offsetParent && !(line.matches("th") && line.querySelector("button")));
}

function walk(by) {
  const list = walkable();
  if (!list.length) return;
  const here = list.findIndex((line) => line === document.activeElement || line.contains(document.activeElement));
  const next = list[Math.min(Math.max(here + by, 0), list.length - 1)];
  if (next.tabIndex < 0 && !next.matches("[role=treeitem]")) next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

// Selects the next or previous change. Depending on the section that is shown, goes to the change's
// row, its call sites, or its first call.
function goToChange(by) {
  if (!page.changes.length) return;
  const now = stateNumber("change");
  const last = page.changes.length - 1;
  const at = now === null ? (by > 0 ? 0 : last) : Math.min(Math.max(now + by, 0), last);
  goTo({ change: at, open: "", row: "" });
  markChange();
  const [node] = page.changes[at].nodes;
  const key = currentPanel().dataset.panel;
  if (key === "tree" && node !== undefined) reveal(node);
  else if (key === "flame" && node !== undefined) showInFlame(node);
  else if (key === "differences") DRAWINGS.differences();
  else drawn.delete("differences");
  const row = document.querySelector(`[data-change="${at}"]`);
  if (key === "what" && row) {
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }
}

function goOn(by) {
  if (currentPanel().dataset.panel === "timeline" && timeline) goToWorst(by);
  else goToChange(by);
}

function markChange() {
  for (const row of document.querySelectorAll("[data-change]")) {
    row.classList.toggle("chosen", Number(row.dataset.change) === stateNumber("change"));
  }
}

function shortcut(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
  const searches = { differences: "q", tree: "find", flame: "seek" };
  const keys = {
    "/": () => {
      const key = searches[currentPanel().dataset.panel];
      if (!key) openPanel("differences");
      document.querySelector(`[data-key="${key || "q"}"]`)?.focus();
    },
    "?": showHelp, "[": () => goOn(-1), "]": () => goOn(1), j: () => walk(1), k: () => walk(-1),
    u: () => hasSteps() && document.querySelector('[data-unit][aria-pressed="false"]').click(),
  };
  const link = /^[1-9]$/.test(event.key) ? links[Number(event.key) - 1] : null;
  if (link) openPanel(link.getAttribute("href").slice(1));
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
}
