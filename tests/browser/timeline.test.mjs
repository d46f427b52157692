// Tests for the timeline of one step: what the timeline shows, and how the user can navigate in it.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { file, launch, open, summaryOf } from "./page.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const range = (page) => page.evaluate(() => timelineRange());
const inUnits = (list, unit) => list.map((value) => value / unit);

// The number of distinct colors in a sample of the canvas's pixels.
function isDrawn(page) {
  return page.evaluate(() => {
    const { width, height } = timelineView;
    const data = timelineView.getContext("2d").getImageData(0, 0, width, height).data;
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4 * 97) colours.add(data.slice(at, at + 3).join());
    return colours.size;
  });
}

// The screen position of a slice that has a counterpart and is wide enough to click.
function widePair(page) {
  return page.evaluate(() => {
    const view = timelineLook();
    const at = timeline.node.findIndex((_, at) => {
      const box = sliceBox(view, at);
      return tree.kind[timeline.position[at]] === "o" && counterpartOf(at) >= 0 && isSliceShown(view, at) && box.right - box.left > 8;
    });
    const box = sliceBox(view, at), canvas = timelineView.getBoundingClientRect();
    return { at, x: canvas.left + (box.left + box.right) / 2, y: canvas.top + box.top + 5 };
  });
}

for (const report of ["example", "cpu", "regions", "model"]) {
  test(`${report}: a step of both sides is drawn, in both themes`, async () => {
    for (const scheme of ["light", "dark"]) {
      const page = await open(browser, report, { scheme, tab: "timeline" });
      assert.ok(await isDrawn(page) > 5);
      assert.deepEqual(page.problems, []);
      await page.close();
    }
  });
}

test("its kernels are those of the step in the table of all events, with their starts and times", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  const [head, ...lines] = readFileSync(file("example", "diff_stats_kernels.csv"), "utf8").trim().split("\n");
  // The fields that are needed here come after the last quoted field and contain no commas, so the line is parsed
  // from the end.
  const fromEnd = (line, key) => {
    const titles = head.split(",");
    return line.split(",").at(titles.indexOf(key) - titles.length);
  };
  const told = await page.evaluate(() => {
    return [1, 2].map((side) => Array.from(timeline.start).flatMap((start, at) =>
      isKernel(at) && !timeline.outside.has(at) && sliceSide(at) === side ? [start] : []));
  });
  const step = Number(/^Step (\d+) on both sides/.exec(await page.textContent("#timeline > p.dim"))[1]);
  for (const side of [1, 2]) {
    const of = lines.filter((line) => line.includes(`,trace${side},`) && fromEnd(line, "step") === String(step));
    const starts = of.map((line) => 1e3 * Number(fromEnd(line, "start_us"))).sort((a, b) => a - b);
    const here = told[side - 1].sort((a, b) => a - b);
    assert.equal(here.length, starts.length, `side ${side}`);
    // The page and the table measure time from different origins, so only the differences between start times are
    // compared. The page rounds down to 0.1 µs.
    here.forEach((start, at) => assert.ok(Math.abs(start - here[0] - starts[at] + starts[0]) <= 101, `${at}: ${start}`));
  }
  const steps = readFileSync(file("example", "steps.csv"), "utf8").trim().split("\n");
  assert.ok(steps.length > step);
  await page.close();
});

test("no two slices of a row meet, and each lies in the call above it", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  const wrong = await page.evaluate(() => timeline.rowsOf.flatMap((rows) => rows.flatMap(([first, end], depth) =>
    Array.from({ length: end - first }, (_, place) => first + place).filter((at) => {
      if (at > first && timeline.end[at - 1] > timeline.start[at]) return true;
      const [above, last] = rows[depth - 1] ?? [0, 0];
      return depth > 0 && !timeline.start.subarray(above, last).some((start, place) => start <= timeline.start[at] && timeline.end[above + place] >= timeline.start[at]);
    }))));
  assert.deepEqual(wrong, []);
  await page.close();
});

test("buttons zoom and move, and all shows the whole step", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  const whole = await range(page);
  const press = (label) => page.click(`#timeline-controls [aria-label="${label}"]`);
  await press("zoom in");
  const near = await range(page);
  assert.ok(Math.abs((near[1] - near[0]) / (whole[1] - whole[0]) - 0.5) < 0.01, String(near));
  await press("later");
  const later = await range(page);
  assert.ok(later[0] > near[0] && Math.abs(later[1] - later[0] - near[1] + near[0]) < 2);
  await press("earlier");
  assert.ok((await range(page))[0] < later[0]);
  await press("zoom out");
  await press("zoom in");
  await press("show all of the step");
  assert.deepEqual(await range(page), whole);
  await page.close();
});

test("keys zoom and move, and walk from call to call", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  await page.focus("#timeline-view");
  const whole = await range(page);
  await page.keyboard.press("+");
  const near = await range(page);
  assert.ok(near[1] - near[0] < whole[1] - whole[0]);
  await page.keyboard.press("ArrowRight");
  assert.ok((await range(page))[0] > near[0]);
  await page.keyboard.press("0");
  assert.deepEqual(await range(page), whole);
  const chosen = () => page.evaluate(() => chosenSlice());
  const seen = [];
  for (const key of ["Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowRight", "Shift+ArrowUp"]) {
    await page.keyboard.press(key);
    seen.push(await chosen());
  }
  assert.ok(seen.every((at) => at >= 0) && new Set(seen).size >= 3, String(seen));
  assert.match(await page.textContent("#timeline-info"), /→|only in|counterpart/);
  await page.keyboard.press("Enter");
  const zoomed = await range(page);
  assert.ok(zoomed[1] - zoomed[0] < whole[1] - whole[0] || seen.at(-1) === 0);
  await page.keyboard.press("Escape");
  assert.equal(await chosen(), -1);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test("pointing tells a call and joins it with its counterpart; a click keeps it and leads to the tree", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  await page.locator("#timeline-view").scrollIntoViewIfNeeded();
  const plain = await page.evaluate(() => timelineView.toDataURL());
  const { at } = await widePair(page);
  const place = await widePair(page);
  await page.mouse.move(place.x, place.y);
  await page.waitForFunction((wanted) => pointed === wanted, at);
  const name = await page.evaluate((at) => sliceName(at), at);
  const text = await page.textContent("#timeline-info");
  assert.ok(text.startsWith(name) && text.includes("→"), text);
  assert.notEqual(await page.evaluate(() => timelineView.toDataURL()), plain);
  await page.mouse.down();
  await page.mouse.up();
  assert.equal(await page.evaluate(() => chosenSlice()), at);
  await page.click("#timeline-info button");
  assert.ok((await page.textContent("#tree-view .found")).includes(name));
  await page.close();
});

test("dragging moves, the wheel zooms where the pointer is, and scrolls the page if there is nothing to zoom out of", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  await page.click('#timeline-controls [aria-label="zoom in"]');
  await page.locator("#timeline-view").scrollIntoViewIfNeeded();
  const box = await page.locator("#timeline-view").boundingBox();
  const before = await range(page);
  await page.mouse.move(box.x + 600, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 8, { steps: 4 });
  await page.mouse.up();
  const dragged = await range(page);
  const wanted = 100 / box.width * (before[1] - before[0]);
  assert.ok(Math.abs(dragged[0] - before[0] - wanted) < 0.05 * wanted, inUnits([dragged[0] - before[0], wanted], 1e6).join());
  const around = dragged[0] + 500 / box.width * (dragged[1] - dragged[0]);
  await page.mouse.wheel(0, -200);
  await page.waitForFunction((length) => timelineRange()[1] - timelineRange()[0] < length, dragged[1] - dragged[0]);
  const zoomed = await range(page);
  const still = zoomed[0] + 500 / box.width * (zoomed[1] - zoomed[0]);
  assert.ok(Math.abs(still - around) < 0.02 * (zoomed[1] - zoomed[0]));
  const scrolled = await page.evaluate(() => scrollY);
  await page.keyboard.down("Shift");
  await page.mouse.wheel(0, 120);
  await page.keyboard.up("Shift");
  await page.waitForFunction((from) => timelineRange()[0] > from, zoomed[0]);
  assert.equal(await page.evaluate(() => scrollY), scrolled);
  await page.click('#timeline-controls [aria-label="show all of the step"]');
  const top = await page.locator("#timeline-view").boundingBox();
  await page.mouse.move(top.x + 600, Math.max(top.y, 0) + 60);
  const from = await page.evaluate(() => scrollY);
  await page.mouse.wheel(0, 60);
  await page.waitForFunction((at) => scrollY !== at, from);
  await page.close();
});

test("each part of the lag curve opens the timeline at its place", async () => {
  const page = await open(browser, "example");
  const buttons = page.locator("[data-timeline]");
  assert.ok(await buttons.count() >= 3);
  const steps = await page.evaluate(() => timeline.steps);
  const curve = await page.textContent("#lag h3 small");
  assert.ok(steps.every((step) => curve.includes(step)), `${steps} is the step of the curve: ${curve}`);
  for (let at = 0; at < await buttons.count(); at++) {
    await page.click('nav a[href="#what"]');
    await buttons.nth(at).click();
    const [from, to] = await range(page);
    const [node, begin, end] = await page.evaluate((at) => {
      const { node } = timeline.parts[at], axis = timelineAxis(), [slice] = timeline.byNode.get(node);
      return [node, axis.from[slice], axis.to[slice]];
    }, at);
    assert.ok(from <= begin && to >= end, JSON.stringify({ node, from, to, begin, end }));
    assert.equal(await page.evaluate(() => stateNumber("slice")), node);
  }
  await page.close();
});

for (const report of ["example", "regions", "cpu"]) {
  test(`${report}: matched calls start at the same position, unless the axis is the clock`, async () => {
    const page = await open(browser, report, { tab: "timeline" });
    const apart = () => page.evaluate(() => {
      const { from, to, whole } = timelineAxis(), points = anchorTimes(timeline.anchors);
      const known = new Set(Array.from(points[0], (one, at) => `${one},${points[1][at]}`));
      const pairs = [...timeline.byNode.values()].filter((pair) => pair.length === 2).map((pair) => pair.sort((a, b) => sliceSide(a) - sliceSide(b)));
      const anchors = pairs.filter(([one, two]) => known.has(`${timeline.start[one]},${timeline.start[two]}`));
      return { count: anchors.length, most: Math.max(...anchors.map(([one, two]) => Math.abs(from[one] - from[two]))),
        backwards: from.some((place, at) => to[at] < place), whole, sum: Math.max(...timeline.ends, ...timeline.host) };
    });
    const aligned = await apart();
    assert.ok(aligned.count > 2 && aligned.most === 0 && !aligned.backwards && aligned.whole >= aligned.sum, JSON.stringify(aligned));
    await page.selectOption("[data-key=axis]", "clock");
    const clock = await apart();
    assert.ok(clock.most > 0 && !clock.backwards && clock.whole === clock.sum, JSON.stringify(clock));
    assert.deepEqual(page.problems, []);
    await page.close();
  });
}

test("the hatched time is what one side waits for the other: in each section as long as the lengths differ", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  const [hatched, lengths] = await page.evaluate(() => {
    const sums = timelineAxis().hatches.map((list) => list.reduce((sum, [from, to]) => sum + to - from, 0));
    return [sums, [0, 1].map((side) => Math.max(timeline.ends[side], timeline.host[side]))];
  });
  assert.ok(hatched.every((sum) => sum > 0));
  assert.ok(Math.abs(lengths[0] + hatched[0] - lengths[1] - hatched[1]) < 1, `${hatched} ${lengths}`);
  await page.close();
});

test("a color selects its calls, and ] goes to the next worst of them", async () => {
  const page = await open(browser, "example", { tab: "timeline", fragment: "#at=timeline&colour=op" });
  const group = page.locator("#timeline-legend [data-group]").first();
  const op = await group.textContent();
  const plain = await page.evaluate(() => timelineView.toDataURL());
  await group.click();
  assert.equal(await page.locator("#timeline-legend [aria-pressed=true]").textContent(), op);
  assert.notEqual(await page.evaluate(() => timelineView.toDataURL()), plain);
  const opOf = () => page.evaluate(() => {
    let at = timeline.position[chosenSlice()];
    while (tree.kind[at] !== "o") at = tree.parent[at];
    return [nodeName(at), stateNumber("slice")];
  });
  const seen = [];
  for (const key of ["]", "]", "]", "["]) {
    await page.keyboard.press(key);
    seen.push(await opOf());
  }
  assert.ok(seen.every(([name]) => name === op), seen.join());
  assert.ok(seen[0][1] !== seen[1][1] && seen[1][1] === seen[3][1], seen.join());
  await page.close();
});

test("a double click opens a call in the tree, and pointing shows the kernels of both sides", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  await page.locator("#timeline-view").scrollIntoViewIfNeeded();
  const { x, y } = await widePair(page);
  await page.mouse.move(x, y);
  await page.waitForFunction(() => pointed >= 0);
  const lines = await page.$$eval("#timeline-info .line b", (sides) => sides.map((side) => side.textContent));
  const { trace1, trace2 } = summaryOf("example");
  assert.deepEqual(lines, [trace1.name, trace2.name]);
  const name = await page.evaluate(() => sliceName(pointed));
  await page.mouse.dblclick(x, y);
  assert.ok((await page.textContent("#tree-view .found")).includes(name));
  await page.close();
});

test("a link restores what is in view and the chosen call", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  await page.click('nav a[href="#what"]');
  await page.locator("[data-timeline]").nth(1).click();
  const [view, slice] = [await range(page), await page.evaluate(() => chosenSlice())];
  const copy = await open(browser, "example", { fragment: new URL(page.url()).hash });
  assert.deepEqual(await range(copy), view);
  assert.equal(await copy.evaluate(() => chosenSlice()), slice);
  assert.equal(await copy.textContent("#timeline-info"), await page.textContent("#timeline-info"));
  await copy.close();
  await page.close();
});

test("the list has the calls in view, and its buttons choose them", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  await page.click("#timeline-list > summary");
  const line = page.locator("#timeline-list li button").nth(2);
  await line.click();
  assert.equal(await page.evaluate(() => stateNumber("slice")), Number(await page.locator("#timeline-list [aria-pressed=true]").getAttribute("data-slice")));
  const count = async () => Number(/of (\d+) calls/.exec(await page.textContent("#timeline-list p"))[1]);
  const all = await count();
  await page.click('#timeline-controls [aria-label="zoom in"]');
  // The view is redrawn in the browser's next animation frame.
  await page.waitForFunction((all) => Number(/of (\d+) calls/.exec(document.querySelector("#timeline-list p").textContent)[1]) < all, all);
  assert.ok(await count() > 0);
  await page.close();
});

test("the text of the canvas tells what it shows", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  const text = await page.getAttribute("#timeline-view", "aria-label");
  const { trace1, trace2 } = summaryOf("example");
  assert.ok(text.includes(trace1.name) && text.includes(trace2.name) && text.includes("in view: everything"), text);
  await page.click('#timeline-controls [aria-label="zoom in"]');
  await page.waitForFunction(() => /in view: .* to .* ms/.test(timelineView.getAttribute("aria-label")));
  await page.close();
});

test("it fits a telephone", async () => {
  const page = await open(browser, "example", { width: 390, tab: "timeline" });
  const sizes = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth, timelineView.clientWidth]);
  assert.ok(sizes[0] <= sizes[1] && sizes[2] > 300, String(sizes));
  await page.close();
});

test("slices have the names of their own side", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  const names = await page.evaluate(() => [1, 2].map((side) => [...timeline.position.keys()].filter((at) => sliceSide(at) === side)).map((list) => [...new Set(list.map((at) => sliceName(at)))]));
  assert.ok(names[0].some((name) => /^hip[A-Z]/.test(name)) && names[1].some((name) => /^cu(da)?[A-Z]/.test(name)), "runtime calls are drawn");
  assert.deepEqual(names[0].filter((name) => /^cu(da)?[A-Z]/.test(name)), []);
  assert.deepEqual(names[1].filter((name) => /^hip[A-Z]/.test(name)), []);
  // The kernels of both sides have the names of the table of all events.
  const table = readFileSync(file("example", "diff_stats_kernels.csv"), "utf8");
  for (const side of [1, 2]) {
    const kernels = await page.evaluate((side) => [...new Set([...timeline.position.keys()].filter((at) => sliceSide(at) === side && isKernel(at)).map((at) => sliceName(at)))], side);
    const lines = table.split("\n").filter((line) => line.includes(`,trace${side},`)).join("\n").replaceAll('""', '"');
    assert.ok(kernels.length > 0 && kernels.every((name) => lines.includes(name)), `side ${side}: ${kernels.filter((name) => !lines.includes(name))}`);
  }
  await page.close();
});

for (const report of ["model", "example", "cpu", "regions"]) {
  test(`${report}: a change opens the timeline at its largest call`, async () => {
    const page = await open(browser, report);
    const changes = await page.$$eval('[data-change] .links button', (buttons) => buttons.filter((button) => button.textContent === "timeline").map((button) => Number(button.closest("[data-change]").dataset.change)));
    for (const change of changes) {
      await page.click('nav a[href="#what"]');
      await page.locator(`[data-change="${change}"] .links button`, { hasText: /^timeline$/ }).click();
      const wrong = await page.evaluate((change) => {
        const row = document.querySelector(`[data-change="${change}"]`), { order } = largestCall(change, row.querySelector(".delta b").textContent.startsWith("−"));
        const chosen = timeline.position[chosenSlice()], size = ([one, two]) => (two === undefined ? sliceTime(one) : Math.abs(sliceTime(two) - sliceTime(one)));
        const below = (at) => [...timeline.byNode].filter(([id]) => positionOf(id) >= at && positionOf(id) < tree.end[at]);
        // Calls of other steps are not drawn.
        const largest = order.find((at) => below(at).length);
        if (largest === undefined || chosen < largest && tree.end[chosen] > order[0]) return null;
        const own = timeline.byNode.get(idOf(largest)), most = own ?? below(largest).map(([, pair]) => pair).sort((a, b) => size(b) - size(a))[0];
        return size(timeline.byNode.get(idOf(chosen))) === size(most) ? null : nodeName(chosen) + " instead of " + nodeName(timeline.position[most[0]]);
      }, change);
      assert.equal(wrong, null);
    }
    assert.ok(report === "cpu" || changes.length > 0);
    await page.close();
  });
}

for (const report of ["example", "regions", "compiled"].filter((name) => existsSync(file(name, "report.html")))) {
  test(`${report}: GPU events end before hatched time, unless most of them comes after it`, async () => {
    const page = await open(browser, report, { tab: "timeline" });
    const wrong = await page.evaluate(() => timeline.axes[0].hatches.flatMap((gaps, side) => gaps.flatMap(([from, to]) =>
      [...timeline.position.keys()].filter((at) => timeline.lanes[timeline.lane[at]].is_gpu && sliceSide(at) === side + 1
        && timeline.axes[0].from[at] < from && timeline.axes[0].to[at] > from && to - from > sliceTime(at)).map((at) => sliceLabel(at)))));
    assert.deepEqual(wrong, []);
    await page.close();
  });
}

test("pointing at a call without counterpart shows its own kernels, and ] says when there are no more calls", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  const [texts, names] = await page.evaluate(() => {
    const at = timeline.position.findIndex((node) => "12".includes(tree.relation[node]) && eventsBelow(node, Number(tree.relation[node])).length > 0);
    goToSlice(at);
    const own = page.names[sliceSide(at) - 1];
    return [[...document.querySelectorAll("#timeline-info .line")].slice(2).map((line) => line.textContent), [own, page.names[2 - sliceSide(at)]]];
  });
  assert.ok(texts.some((text) => text.startsWith(names[0]) && !text.includes("no counterpart")) && texts.includes(`${names[1]} no counterpart`), texts.join());
  const last = await page.evaluate(() => { const calls = worstCalls(); goToSlice(calls[calls.length - 1]); return stateNumber("slice"); });
  await page.keyboard.press("]");
  assert.equal(await page.evaluate(() => stateNumber("slice")), last);
  assert.match(await page.textContent("#timeline-info"), /No further calls/);
  await page.close();
});
