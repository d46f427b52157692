// The rows -> a table of groups: filtered, searched, sorted; a group opens its rows.

const PAGE_OF_GROUPS = 60;
const COLUMNS = [
  { key: "name", title: "name", value: (g) => g.name },
  { key: "rows", title: "rows", value: (g) => g.members.length },
  { key: "trace1", title: page.names[0], value: (g) => g.time1 },
  { key: "trace2", title: page.names[1], value: (g) => g.time2 },
  { key: "diff", title: "difference", value: (g) => Math.abs(g.time2 - g.time1) },
  { key: "ratio", title: "ratio", value: (g) => (g.time1 > 0 && g.time2 > 0 ? g.time2 / g.time1 : 0) },
];
const PRESENCES = ["both", "trace1_only", "trace2_only"];

let groupsShown = PAGE_OF_GROUPS;

function presence(row) {
  if (rows.count1[row] && !rows.count2[row]) return "trace1_only";
  if (!rows.count1[row] && rows.count2[row]) return "trace2_only";
  return "both";
}

// What rows can be grouped by: [value, text, key of a row].
function groupings() {
  return [
    ["name", "name", (row) => String(rows.name[row])],
    ["shape", "name and arguments", (row) => rows.name[row] + " " + rows.arguments[row]],
    ["row", "nothing: each row", (row) => String(row)],
    ...rows.facets.map((facet) => ["f." + facet.key, facet.title, (row) => String(facet.value[row])]),
  ];
}

function passes(row) {
  const wanted = state.get("presence");
  if (wanted && presence(row) !== wanted) return false;
  for (const facet of rows.facets) {
    const value = state.get("f." + facet.key);
    if (value !== null && page.texts[facet.value[row]] !== value) return false;
  }
  const words = (state.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
  return words.length === 0 || words.every((word) => searchText(row).includes(word));
}

// Name, kernels and shapes of a row in lower case.
const searchTexts = new Map();
function searchText(row) {
  if (!searchTexts.has(row)) {
    const kernels = rows.kernels1[row].concat(rows.kernels2[row]).map(([text]) => page.texts[text]);
    const shapes = rows.argument_table[rows.arguments[row]].slice(0, 2).map((text) => page.texts[text]);
    const parts = [page.texts[rows.name[row]], page.texts[rows.common_name[row]], ...kernels, ...shapes];
    searchTexts.set(row, parts.join("\n").toLowerCase());
  }
  return searchTexts.get(row);
}

function groupRows() {
  const kind = groupings().find(([value]) => value === state.get("group")) || groupings()[0];
  const groups = new Map();
  for (let row = 0; row < rows.id.length; row++) {
    if (!passes(row)) continue;
    const key = kind[2](row);
    if (!groups.has(key)) groups.set(key, { name: groupName(kind[0], row), members: [], time1: 0, time2: 0 });
    const group = groups.get(key);
    group.members.push(row);
    group.time1 += rows.time1[row];
    group.time2 += rows.time2[row];
  }
  return sortGroups([...groups.values()]);
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
    setState({ [key]: value, open: "", row: "" });
    groupsShown = PAGE_OF_GROUPS;
    drawRows();
  };
  const controls = [
    field("search names, kernels and shapes", "q", redraw("q")),
    choice("group by", "group", groupings(), "name", redraw("group")),
    choice("presence", "presence", [["", "any"], ...PRESENCES.map((p) => [p, p])], "", redraw("presence")),
  ];
  for (const facet of rows.facets) {
    const key = "f." + facet.key;
    const values = [...new Set(facet.value)].map((text) => page.texts[text]).filter(Boolean);
    values.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    controls.push(choice(facet.title, key, [["", "any"], ...values.map((v) => [v, v])], "", redraw(key)));
  }
  document.getElementById("filters").replaceChildren(...controls);
}

function drawHead() {
  const current = COLUMNS.find((column) => column.key === state.get("sort")) || COLUMNS[4];
  const up = state.get("dir") === "up";
  const cells = COLUMNS.map((column) => {
    const chosen = column === current;
    const sort = () => {
      const ascending = chosen ? !up : column.key === "name";
      setState({ sort: column.key, dir: ascending ? "up" : "down" });
      drawRows();
      document.querySelector(`#rows [data-sort="${column.key}"]`).focus();
    };
    const mark = chosen ? (up ? " ▲" : " ▼") : "";
    return element("th", { scope: "col", "aria-sort": chosen ? (up ? "ascending" : "descending") : null },
      element("button", { type: "button", "data-sort": column.key, onclick: sort }, column.title + mark));
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
  const count = groups.length === 1 ? "1 line" : `${groups.length} lines`;
  line.replaceChildren(groups.length > shown.length ? `${shown.length} of ${count} ` : count);
  if (groups.length > shown.length) line.append(element("button", { type: "button", onclick: more }, "show more"));
}

function groupRow(group, open) {
  const toggle = () => {
    const first = rows.id[group.members[0]];
    setState({ open: open ? "" : first, row: open || group.members.length > 1 ? "" : first });
    drawRows();
    const button = document.querySelector(`#rows [data-open="${first}"]`);
    if (button) button.focus();
  };
  const how = change(group.time1, group.time2);
  const button = element("button", {
    type: "button", "aria-expanded": String(open), "data-open": rows.id[group.members[0]], onclick: toggle,
  }, element("span", { class: "open-mark" }, open ? "▾" : "▸"), name(group.name));
  return element("tr", { "data-name": group.name },
    element("th", { scope: "row" }, button),
    element("td", { "data-label": "rows" }, String(group.members.length)),
    element("td", { "data-label": page.names[0] }, time(group.time1)),
    element("td", { "data-label": page.names[1] }, time(group.time2)),
    element("td", { class: how.word, "data-label": "difference" }, how.sign + " " + signed(group.time2 - group.time1)),
    element("td", { "data-label": "ratio" }, ratio(group.time1, group.time2)));
}
