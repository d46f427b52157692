// Shows the call sites in a table of groups that can be filtered, searched, sorted and expanded.

const PAGE_OF_GROUPS = 30;
const COLUMNS = [
  { key: "name", title: "name", value: (g) => g.name },
  { key: "rows", title: "rows", value: (g) => g.members.length },
  { key: "trace1", title: page.names[0], value: (g) => g.time1, isTime: true },
  { key: "trace2", title: page.names[1], value: (g) => g.time2, isTime: true },
  { key: "diff", title: "difference", value: (g) => Math.abs(difference(g.time1, g.time2)), isTime: true },
  { key: "signed", title: "difference", value: (g) => difference(g.time1, g.time2) },
  { key: "ratio", title: "ratio", value: (g) => (g.time1 > 0 && g.time2 > 0 ? g.time2 / g.time1 : 0) },
];
// The filters for groups, each as [value, text, test function].
const CHANGES = [
  ["", "all", () => true],
  ["slower", "slower only", (g) => change(g.time1, g.time2).word === "more"],
  ["faster", "faster only", (g) => change(g.time1, g.time2).word === "less"],
];
const PRESENCES = [["", "any"], ["both", "both sides"], ...page.names.map((name, at) => [`trace${at + 1}_only`, "only " + name])];

let groupsShown = PAGE_OF_GROUPS;

function presence(row) {
  if (rows.count1[row] && !rows.count2[row]) return "trace1_only";
  if (!rows.count1[row] && rows.count2[row]) return "trace2_only";
  return "both";
}

// The properties that rows can be grouped by, each as [value, text, function that returns the key of a row].
function groupings() {
  return [
    ["name", "name", (row) => String(rows.name[row])],
    ["shape", "name and arguments", (row) => rows.name[row] + " " + rows.arguments[row]],
    ["row", "no grouping", (row) => String(row)],
    ...rows.facets.map((facet) => ["f." + facet.key, facet.title, (row) => String(facet.value[row])]),
  ];
}

// The ids of the rows of the selected change; null if no change is selected and the table shows all rows.
function rowsOfChange() {
  const change = page.changes[stateNumber("change") ?? -1];
  return change ? new Set(change.rows) : null;
}

function passes(row, ofChange, search) {
  if (ofChange && !ofChange.has(rows.id[row])) return false;
  const wanted = state.get("presence");
  if (wanted && presence(row) !== wanted) return false;
  for (const facet of rows.facets) {
    const value = state.get("f." + facet.key);
    if (value !== null && page.texts[facet.value[row]] !== value) return false;
  }
  if (search.error) return false;
  if (search.nodes) return touches(search.nodes, rows.node[row]);
  return search.words.every((word) => searchText(row).includes(word));
}

// The searchable string of each row, which contains its names, kernels, shapes and modules in lower case. Each string
// is built on first use.
const searchTexts = [];
const modulesAbove = new Map();
function searchText(row) {
  return (searchTexts[row] ??= makeSearchText(row));
}

function makeSearchText(row) {
  const kernels = rows.kernels1[row].concat(rows.kernels2[row]).map(([text]) => page.texts[text]);
  const shapes = rows.argument_table[rows.arguments[row]].slice(0, 2).map((text) => page.texts[text]);
  const parts = [page.texts[rows.name[row]], page.texts[rows.common_name[row]], ...kernels, ...shapes, modulesOf(rows.node[row])];
  return parts.join("\n").toLowerCase();
}

function modulesOf(at) {
  if (at < 0) return "";
  if (!modulesAbove.has(at)) {
    const above = modulesOf(tree.parent[at]);
    modulesAbove.set(at, isModule(at) ? above + "\n" + nodeName(at) : above);
  }
  return modulesAbove.get(at);
}

function groupRows() {
  const kind = groupings().find(([value]) => value === state.get("group")) || groupings()[0];
  const groups = new Map();
  const [ofChange, search] = [rowsOfChange(), searchOf(state.get("q") || "")];
  for (let row = 0; row < rows.id.length; row++) {
    if (!passes(row, ofChange, search)) continue;
    const key = kind[2](row);
    if (!groups.has(key)) {
      const shape = kind[0] === "shape" ? argumentsText(row) : "";
      groups.set(key, { name: groupName(kind[0], row), shape, members: [], time1: 0, time2: 0 });
    }
    const group = groups.get(key);
    group.members.push(row);
    group.time1 += rows.time1[row];
    group.time2 += rows.time2[row];
  }
  const which = CHANGES.find(([value]) => value === (state.get("only") || ""));
  return sortGroups([...groups.values()].filter(which ? which[2] : () => true));
}

// The shapes of a row, as a single string if both sides have the same shapes.
function argumentsText(row) {
  const [first, second] = rows.argument_table[rows.arguments[row]].map((text) => page.texts[text]);
  return first === second || !second ? first : !first ? second : `${first} → ${second}`;
}

function groupName(kind, row) {
  const facet = rows.facets.find((column) => "f." + column.key === kind);
  if (facet) return page.texts[facet.value[row]] || "(none)";
  return page.texts[rows.name[row]];
}

function sortGroups(groups) {
  const column = COLUMNS.find((known) => known.key === state.get("sort")) || COLUMNS[4];
  const up = state.get("dir") === "up" ? 1 : -1;
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return groups.sort((a, b) =>
    up * compare(column.value(a), column.value(b)) || a.members[0] - b.members[0]);
}

function drawFilters() {
  const redraw = (key) => (value) => {
    (key === "q" ? setState : goTo)({ [key]: value, open: "", row: "" });
    groupsShown = PAGE_OF_GROUPS;
    drawRows();
  };
  const controls = [
    field("search names, kernels, shapes, modules, or a path query", "q", redraw("q")),
    choice("show", "only", CHANGES, "", redraw("only")),
    page.changes.length ? choice("change", "change", [["", "any"], ...page.changes.map((_, at) => [String(at), changeName(at)])], "", redraw("change")) : null,
    choice("group by", "group", groupings(), "name", redraw("group")),
    choice("presence", "presence", PRESENCES, "", redraw("presence")),
  ];
  for (const facet of rows.facets) {
    const key = "f." + facet.key;
    const values = [...new Set(facet.value)].map((text) => page.texts[text]).filter(Boolean);
    values.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    controls.push(choice(facet.title, key, [["", "any"], ...values.map((v) => [v, v])], "", redraw(key)));
  }
  document.getElementById("filters").replaceChildren(...controls.filter(Boolean));
}

// The columns whose titles can be clicked. The order `signed` has no title of its own: clicks on `difference` sort by
// magnitude or by signed value.
const HEADS = COLUMNS.filter((column) => column.key !== "signed");

// Clicks on the title of the column `difference` cycle through three orders: by magnitude, largest increase first,
// largest decrease first. A second click on the title of any other column reverses the order.
function nextOrder(column, current, up) {
  if (column.key !== "diff") return { sort: column.key, dir: (current ? !up : column.key === "name") ? "up" : "down" };
  if (!current) return { sort: "diff", dir: "down" };
  if (current.key === "diff") return { sort: "signed", dir: "down" };
  return up ? { sort: "diff", dir: "down" } : { sort: "signed", dir: "up" };
}

// The entry of a change in the selection list: the change's number and sentence.
function changeName(at) {
  const sentence = document.querySelector(`[data-change="${at}"] .sentence`)?.textContent ?? "a smaller change";
  return `${at + 1}. ${sentence.length > 60 ? sentence.slice(0, 59) + "…" : sentence}`;
}

function drawHead() {
  const current = COLUMNS.find((column) => column.key === state.get("sort")) || COLUMNS[4];
  const up = state.get("dir") === "up";
  const cells = HEADS.map((column) => {
    const chosen = column === current || (column.key === "diff" && current.key === "signed");
    const sort = () => {
      goTo(nextOrder(column, chosen ? current : null, up));
      drawRows();
      document.querySelector(`#rows [data-sort="${column.key}"]`).focus();
    };
    const size = chosen && current.key === "diff";
    const mark = chosen ? (size ? " |▼|" : up ? " ▲" : " ▼") : "";
    return element("th", { scope: "col", "aria-sort": chosen ? (up ? "ascending" : "descending") : null },
      element("button", { type: "button", "data-sort": column.key, onclick: sort }, column.title + mark, column.isTime ? element("small", {}, " " + unitWords()) : ""));
  });
  document.querySelector("#rows thead").replaceChildren(element("tr", {}, ...cells));
}

function drawRows() {
  drawHead();
  const groups = groupRows();
  const opened = stateNumber("open");
  const at = groups.findIndex((group) => group.members.some((row) => rows.id[row] === opened));
  groupsShown = Math.max(groupsShown, at + 1);
  const shown = groups.slice(0, groupsShown);
  document.querySelector("#rows tbody").replaceChildren(
    ...shown.flatMap((group, index) => (index === at ? [groupRow(group, true), groupDetail(group)] : [groupRow(group, false)])));
  const more = () => {
    groupsShown += 5 * PAGE_OF_GROUPS;
    drawRows();
  };
  const line = document.getElementById("rows-more");
  const search = searchOf(state.get("q") || "");
  const count = search.error ? `not a path query: ${search.error}`
    : groups.length === 0 ? "nothing found" : groups.length === 1 ? "1 line" : `${groups.length} lines`;
  const outside = rows.outside.some((ns) => ns) ? `; ${rows.outside.map((ns, at) => time(ns, at + 1)).join(" → ")} ${unitWords()} outside call sites` : "";
  line.replaceChildren(groups.length > shown.length ? `${shown.length} of ${count}${outside} ` : count + outside);
  if (groups.length > shown.length) line.append(element("button", { type: "button", onclick: more }, "show more"));
}

// If a kernel has no op, its row is named after the kernel, so the name is shown in short form.
function groupLabel(group) {
  return tree.kind[rows.node[group.members[0]]] === "g" ? kernelName(group.name) : name(group.name);
}

function groupRow(group, open) {
  const toggle = () => {
    const first = rows.id[group.members[0]];
    goTo({ open: open ? "" : first, row: open || group.members.length > 1 ? "" : first });
    drawRows();
    const button = document.querySelector(`#rows [data-open="${first}"]`);
    if (button) button.focus();
  };
  const how = change(group.time1, group.time2);
  const button = element("button", {
    type: "button", "aria-expanded": String(open), "data-open": rows.id[group.members[0]], onclick: toggle,
  }, element("span", { class: "open-mark", "aria-hidden": "true" }, open ? "▾" : "▸"), groupLabel(group));
  // A click anywhere on a line opens the line; the button does the same for keyboard users.
  // Selecting text on a line does not open the line.
  const openLine = (event) => {
    if (!event.target.closest("button, a, summary, details") && getSelection().isCollapsed) toggle();
  };
  return element("tr", { "data-name": group.name, class: "line", onclick: openLine },
    element("th", { scope: "row" }, button, group.shape ? element("div", { class: "dim shape" }, folded(group.shape)) : null),
    element("td", { "data-label": "rows" }, String(group.members.length)),
    element("td", { "data-label": page.names[0] }, time(group.time1, 1)),
    element("td", { "data-label": page.names[1] }, time(group.time2, 2)),
    element("td", { class: how.word, "data-label": "difference" }, how.sign + " " + signed(group.time1, group.time2)),
    element("td", { "data-label": "ratio" }, ratio(group.time1, group.time2)));
}
