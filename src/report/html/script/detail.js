// One group or row of the table -> what stands below it when it is open.

const MEMBERS_SHOWN = 30;
const ARGUMENTS = ["shapes", "concrete inputs", "strides", "types"];

function groupDetail(group) {
  const box = group.members.length === 1 ? rowDetail(group.members[0]) : memberList(group);
  return element("tr", { class: "detail" }, element("td", { colspan: COLUMNS.length }, box));
}

// The rows of a group, largest difference first; one of them can be open.
function memberList(group) {
  const size = (row) => Math.abs(rows.time2[row] - rows.time1[row]);
  const members = [...group.members].sort((a, b) => size(b) - size(a) || a - b);
  const opened = members.findIndex((row) => rows.id[row] === stateNumber("row"));
  const shown = members.slice(0, Math.max(MEMBERS_SHOWN, opened + 1));
  const list = element("div", { class: "members" });
  for (const row of shown) {
    const open = rows.id[row] === stateNumber("row");
    list.append(memberLine(row, open));
    if (open) list.append(rowDetail(row));
  }
  if (members.length > shown.length) {
    list.append(element("p", { class: "dim" },
      `… and ${members.length - shown.length} rows with smaller differences; group by “nothing” to see each`));
  }
  return list;
}

function memberLine(row, open) {
  const id = rows.id[row];
  const toggle = () => {
    setState({ row: open ? "" : id });
    drawRows();
    document.querySelector(`#rows [data-row="${id}"]`).focus();
  };
  const how = change(rows.time1[row], rows.time2[row]);
  const text = rowTitle(row);
  return element("div", { class: "member" },
    element("button", { type: "button", "data-row": id, "aria-expanded": String(open), onclick: toggle },
      (open ? "▾ " : "▸ ") + "row " + id),
    element("span", { class: how.word + " time" }, how.sign + " " + signed(rows.time2[row] - rows.time1[row])),
    element("span", { class: "dim time" }, `${time(rows.time1[row])} → ${time(rows.time2[row])} ${page.unit}`),
    element("bdi", { class: "dim title" }, text));
}

// What tells a row from the others of its name.
function rowTitle(row) {
  const facets = rows.facets
    .map((facet) => [facet.title, page.texts[facet.value[row]]])
    .filter(([, value]) => value)
    .map(([title, value]) => `${title} ${value}`);
  const shape = page.texts[rows.argument_table[rows.arguments[row]][0]];
  const grouped = ["name", "shape"].includes(state.get("group") || "name");
  return [grouped ? "" : page.texts[rows.name[row]], ...facets, shape].filter(Boolean).join(" · ");
}

function rowDetail(row) {
  const box = element("div", { class: "detail", "data-detail": rows.id[row] });
  box.append(actions(row));
  const grid = element("div", { class: "detail-grid" });
  for (const side of [1, 2]) {
    grid.append(element("div", {}, element("h4", {}, sideTitle(row, side)), kernelList(row, side)));
  }
  box.append(grid, element("h4", {}, "arguments"), argumentTable(row), element("h4", {}, "stack, innermost first"), stack(row));
  return box;
}

function sideTitle(row, side) {
  const uid = rows["uid" + side][row];
  const count = rows["count" + side][row];
  return `trace${side}: ${time(rows["time" + side][row])} ${page.unit}, ${count} events` + (uid < 0 ? "" : `, uid ${uidText(side, uid)}`);
}

function kernelList(row, side) {
  const kernels = rows["kernels" + side][row];
  if (!kernels.length) return element("p", { class: "dim" }, "nothing on this side");
  return element("ul", { class: "kernel-list" }, ...kernels.map(([text, count, ns]) =>
    element("li", {}, name(page.texts[text]), element("span", { class: "time" }, `×${count}  ${time(ns)}`))));
}

function argumentTable(row) {
  const record = rows.argument_table[rows.arguments[row]].map((text) => page.texts[text]);
  const lines = ARGUMENTS.map((title, at) => [title, record[2 * at], record[2 * at + 1]]).filter(([, a, b]) => a || b);
  if (!lines.length) return element("p", { class: "dim" }, "none recorded");
  const list = element("dl", {});
  for (const [title, first, second] of lines) {
    const values = first === second
      ? [name(first)]
      : [name(page.names[0] + " " + (first || "–")), element("br"), name(page.names[1] + " " + (second || "–"))];
    list.append(element("dt", {}, title), element("dd", { class: first === second ? null : "differs" }, ...values));
  }
  return list;
}

// The calls from the row outwards; the lowest common node is marked.
function stack(row) {
  const at = rows.node[row];
  if (at < 0) return element("p", { class: "dim" }, "left out of this page; see merged_tree_output.txt");
  const common = rows.common[row];
  return element("ol", { class: "stack-list" }, ...pathTo(at).reverse().map((node) =>
    element("li", {}, name(nodeName(node)), ...nodeTags(node).flatMap((tag) => [" ", tag]),
      node === common ? element("span", { class: "tag" }, "lowest common node") : "")));
}

function actions(row) {
  const at = rows.common[row] >= 0 ? rows.common[row] : rows.node[row];
  if (at < 0) return element("div", { class: "actions" });
  const go = (text, where) => element("button", { type: "button", onclick: () => where(at) }, text);
  return element("div", { class: "actions" },
    go("show in the merged tree", showInTree), go("show in the flame graph", showInFlame));
}
