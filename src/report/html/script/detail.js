// Shows the details of an open group or row below its line in the table.

const MEMBERS_SHOWN = 30;
// Maximum number of names and shapes listed in a comparison.
const KERNELS_SHOWN = 12;
const ARGUMENTS = ["shapes", "concrete inputs", "strides", "types"];

// The details of a group: a comparison of the sides over all rows of the group, followed by the
// individual rows.
function groupDetail(group) {
  const cell = element("td", { colspan: HEADS.length });
  if (group.members.length === 1) {
    cell.append(rowDetail(group.members[0]));
  } else {
    const opened = group.members.some((row) => rows.id[row] === stateNumber("row"));
    const list = element("details", { class: "instances" },
      element("summary", {}, `all ${group.members.length} rows`));
    const fillList = () => list.open && list.children.length === 1 && list.append(memberList(group));
    list.open = opened;
    list.addEventListener("toggle", fillList);
    fillList();
    cell.append(aggregate(group.members), list);
  }
  return element("tr", { class: "detail" }, cell);
}

// Compares the kernels of both sides (with counts and medians), the modeled work and rate, the
// shapes, and the lowering.
function aggregate(members) {
  const box = element("div", { class: "detail aggregate" });
  const grid = element("div", { class: "detail-grid" });
  for (const side of [1, 2]) grid.append(aggregateSide(members, side));
  box.append(grid);
  const shapes = shapeTable(members);
  if (shapes) box.append(element("h3", {}, "by shapes"), shapes);
  const became = lowering(members);
  if (became.length) {
    box.append(element("h3", {}, "ops where the sides differ"), element("ul", { class: "kernel-list" },
      ...became.map(([text, count]) => element("li", {}, name(text), element("span", { class: "time" }, `×${count}`)))));
  }
  return box;
}

function aggregateSide(members, side) {
  const total = members.reduce((sum, row) => sum + rows["time" + side][row], 0);
  const events = members.reduce((sum, row) => sum + rows["count" + side][row], 0);
  const kernels = kernelsOf(members, side);
  const what = page.measure === "gpu_time" ? "kernels" : "ops";
  const title = `${page.names[side - 1]}: ${time(total, side)} ${unitWords()}, ${countShown(events, side)} ${what}${rateOf(members, side)}`;
  const shown = kernels.slice(0, KERNELS_SHOWN);
  const line = (kernel) => [kernelName(kernel.text), countShown(kernel.count, side), span(kernel.median), time(kernel.ns, side)];
  const rest = kernels.length - shown.length;
  return element("div", { class: "half" }, element("h3", {}, title),
    kernels.length ? smallTable(["name", hasSteps() && perStep() ? "count per step" : "count", "median of one", `sum, ${unitWords()}`], shown.map(line)) : element("p", { class: "dim" }, "none on this side"),
    rest > 0 ? element("p", { class: "dim" }, `${rest} more ${rest === 1 ? "name" : "names"}`) : "");
}

// Formats a count over all steps: as the total if totals are shown, otherwise as the count per step.
function countShown(count, side) {
  const shown = scaled(count, side);
  return Number.isInteger(shown) ? String(shown) : shown.toFixed(1);
}

function smallTable(titles, lines) {
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
  const cells = (line) => line.map((cell, at) => element("td", { class: at ? "number" : "" }, cell));
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "table" }, element("table", { class: "small" },
    element("thead", {}, head), element("tbody", {}, ...lines.map((line) => element("tr", {}, ...cells(line))))));
}

// Kernels grouped by name, longest total time first. A row contains only the total time and the number of launches of
// each kernel, so the median is computed as if each launch took the mean time of the row.
function kernelsOf(members, side) {
  const known = new Map();
  for (const row of members) {
    for (const [text, count, ns] of rows["kernels" + side][row]) {
      if (!known.has(text)) known.set(text, { text: page.texts[text], count: 0, ns: 0, means: [] });
      const kernel = known.get(text);
      kernel.count += count;
      kernel.ns += ns;
      kernel.means.push([ns / count, count]);
    }
  }
  // The entry `(45 more names)` is not a kernel, so it comes last.
  const isRest = (kernel) => /^\(\d+ more names\)$/.test(kernel.text);
  const list = [...known.values()].sort((a, b) => isRest(a) - isRest(b) || b.ns - a.ns || (a.text < b.text ? -1 : 1));
  for (const kernel of list) kernel.median = weightedMedian(kernel.means);
  return list;
}

// The weighted median.
function weightedMedian(values) {
  const sorted = [...values].sort((a, b) => a[0] - b[0]);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  const at = (wanted) => {
    let seen = 0;
    return sorted.find(([, count]) => (seen += count) > wanted)[0];
  };
  return total === 0 ? 0 : (at(Math.ceil(total / 2) - 1) + at(Math.floor(total / 2))) / 2;
}

// A rate such as `, 163 TFLOP/s`: modeled work divided by time. The string is empty if the work of any row is not
// modeled.
function rateOf(members, side) {
  const sums = [0, 0, 0];
  for (const row of members) {
    const ns = page.rows["time" + side][row];
    if (!ns) continue;
    const work = rows.work.get(row);
    if (!work || work[side - 1] === null) return "";
    sums[0] += work[side - 1];
    sums[1] += work[side + 1];
    sums[2] += ns;
  }
  if (!sums[2]) return "";
  const tera = (giga) => Number((giga * 1e9 / sums[2] / 1e3).toPrecision(3));
  const [rate, unit] = sums[0] > 0 ? [tera(sums[0]), "TFLOP/s"] : [tera(sums[1] / 1e3), "TB/s"];
  return rate.toFixed(2) === "0.00" ? "" : `, ${rate} ${unit}`;
}

// A table of the rows by shape, largest difference first; null if no row has recorded shapes.
function shapeTable(members) {
  const known = new Map();
  for (const row of members) {
    const text = argumentsText(row);
    const group = known.get(text) || [0, 0, 0];
    known.set(text, [group[0] + 1, group[1] + rows.time1[row], group[2] + rows.time2[row]]);
  }
  if (known.size === 1 && known.has("")) return null;
  const size = ([, group]) => Math.abs(group[2] - group[1]);
  const list = [...known].sort((a, b) => size(b) - size(a));
  const line = ([text, [count, one, two]]) => [folded(text || "(not recorded)"), String(count), time(one, 1), time(two, 2), signed(one, two)];
  const lines = list.slice(0, KERNELS_SHOWN).map(line);
  if (list.length > KERNELS_SHOWN) lines.push([`${list.length - KERNELS_SHOWN} more`, "", "", "", ""]);
  return smallTable(["shapes", "rows", ...page.names.map((side) => `${side}, ${unitWords()}`), `difference, ${unitWords()}`], lines);
}

// The ops at which the two traces diverge, as [name, count]. Only the given rows' nodes and the nodes below them are
// searched.
function lowering(members) {
  const known = new Map();
  for (const row of members) {
    const top = rows.node[row];
    for (let at = top; at >= 0 && at < tree.end[top]; ) {
      const relation = tree.relation[at];
      const parts = tree.kind[at] === "o" && "r12x".includes(relation) && (at !== top || relation !== "r");
      if (!parts) {
        at++;
        continue;
      }
      const side = { 1: `only ${page.names[0]}: `, 2: `only ${page.names[1]}: ` }[relation] || "";
      known.set(side + nodeName(at), (known.get(side + nodeName(at)) || 0) + 1);
      at = tree.end[at];
    }
  }
  return [...known].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, KERNELS_SHOWN);
}

// The rows of a group, largest difference first. Only one row is open at a time.
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
      `… and ${members.length - shown.length} more with smaller differences; group by “no grouping” to see each row`));
  }
  return list;
}

function memberLine(row, open) {
  const id = rows.id[row];
  const toggle = () => {
    goTo({ row: open ? "" : id });
    drawRows();
    document.querySelector(`#rows [data-row="${id}"]`).focus();
  };
  // A row is a single call, so its times are not divided by the number of steps.
  const [one, two] = [rows.time1[row], rows.time2[row]];
  const how = changeOf(one, two, false);
  const text = rowTitle(row);
  return element("div", { class: "member" },
    element("button", { type: "button", "data-row": id, "aria-expanded": String(open), onclick: toggle },
      (open ? "▾ " : "▸ ") + "row " + id),
    element("span", { class: how.word + " time" }, `${how.sign} ${signedSpan(two - one)}`),
    element("span", { class: "dim time" }, `${span(one)} → ${span(two)}`),
    element("span", { class: "dim title" }, folded(text)));
}

// The properties that distinguish a row from other rows with the same name.
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
    const uid = rows["uid" + side][row];
    const copy = uid < 0 ? "" : copyButton("uid", uidText(side, uid));
    grid.append(element("div", {}, element("h3", {}, sideTitle(row, side), " ", copy), kernelList(row, side)));
  }
  box.append(grid);
  const at = rows.node[row];
  const lanes = at < 0 ? null : kernelLanes(at);
  if (at >= 0) box.prepend(element("p", {}, confidenceTag(at)));
  if (lanes) box.append(element("h3", {}, "kernels of this call, to scale; thin lines are launches"), lanes);
  box.append(element("h3", {}, "arguments"), argumentTable(row), element("h3", {}, "stack, innermost first"), stack(row));
  return box;
}

function sideTitle(row, side) {
  const uid = rows["uid" + side][row];
  const count = rows["count" + side][row];
  return `${page.names[side - 1]}: ${span(rows["time" + side][row])}, ${count} ${count === 1 ? "event" : "events"}${rateOf([row], side)}` + (uid < 0 ? "" : `, uid ${uidText(side, uid)}`);
}

function kernelList(row, side) {
  const kernels = rows["kernels" + side][row];
  if (!kernels.length) return element("p", { class: "dim" }, "none on this side");
  return element("ul", { class: "kernel-list" }, ...kernels.map(([text, count, ns]) =>
    element("li", {}, kernelName(page.texts[text]), element("span", { class: "time" }, `×${count}  ${span(ns)}`))));
}

function argumentTable(row) {
  const record = rows.argument_table[rows.arguments[row]].map((text) => page.texts[text]);
  const lines = ARGUMENTS.map((title, at) => [title, record[2 * at], record[2 * at + 1]]).filter(([, a, b]) => a || b);
  if (!lines.length) return element("p", { class: "dim" }, "none recorded");
  const list = element("dl", {});
  for (const [title, first, second] of lines) {
    const values = first === second
      ? [folded(first)]
      : [page.names[0] + " ", folded(first || "–"), element("br"), page.names[1] + " ", folded(second || "–")];
    list.append(element("dt", {}, title), element("dd", { class: first === second ? null : "differs" }, ...values));
  }
  return list;
}

// The call stack of a row, innermost call first, with the lowest common node marked.
function stack(row) {
  const at = rows.node[row];
  if (at < 0) return element("p", { class: "dim" }, "omitted from this page; see merged_tree_output.txt");
  const common = rows.common[row];
  return element("ol", { class: "stack-list", tabindex: "0", role: "list", "aria-label": "stack" }, ...pathTo(at).reverse().map((node) =>
    element("li", {}, name(nodeName(node)), ...nodeTags(node).flatMap((tag) => [" ", tag]),
      node === common ? element("span", { class: "tag" }, "lowest common node") : "")));
}

function actions(row) {
  const at = rows.common[row] >= 0 ? rows.common[row] : rows.node[row];
  if (at < 0) return element("div", { class: "actions" });
  const go = (text, where) => element("button", { type: "button", onclick: () => where(at) }, text);
  return element("div", { class: "actions" },
    go("show in the merged tree", showInTree), go("show in the flame graph", showInFlame),
    copyButton("path query", () => queryOf(rows.node[row] >= 0 ? rows.node[row] : at)),
    rows.node[row] >= 0 ? reproButton(rows.node[row]) : "");
}
