// Tests for the flame graph, the tree, the kernels below a call and the compiled regions: what each view shows, and how
// the user can navigate in it.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { file, framesOf, goTo, launch, open, summaryOf, tableOf } from "./page.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const sum = (list) => list.reduce((total, value) => total + value, 0);

test("two-sided: both icicles have one order and one scale", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  const [above, below] = [await framesOf(page, 0), await framesOf(page, 1)];
  const { trace1, trace2, wall } = summaryOf("example");
  const each = [trace1.kernel_time_us / wall.trace1.steps, trace2.kernel_time_us / wall.trace2.steps];
  assert.ok(Math.abs(above[0].width / below[0].width - each[0] / each[1]) < 0.01, `${above[0].width} : ${below[0].width} for ${each}`);
  const once = (titles) => titles.filter((title) => titles.indexOf(title) === titles.lastIndexOf(title));
  const order = (frames, level) => once(frames.filter((frame) => frame.level === level).map((frame) => frame.title));
  for (const level of [1, 2, 3]) {
    const both = order(above, level).filter((title) => order(below, level).includes(title));
    assert.ok(both.length > 0);
    assert.deepEqual(order(below, level).filter((title) => both.includes(title)), both);
  }
  const tops = await page.$$eval(".flame-title", (titles) => titles.map((title) => title.getBoundingClientRect().top));
  assert.ok(tops[0] < tops[1], "the baseline is above");
  await page.close();
});

test("the colour of a frame is its part in the change of the frame above, as the legend says", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  const wrong = await page.evaluate(() => [...flameView.querySelectorAll(".frame")].flatMap((button) => {
    const { frame } = button;
    if (!frame.parent || button.classList.contains("replaced") || button.classList.contains("above")) return [];
    const all = frame.parent.below.reduce((sum, one) => sum + Math.abs(difference(one.time1, one.time2)), 0);
    const part = Math.abs(difference(frame.time1, frame.time2)) / all;
    const style = /(more|less|same)(\d)/.exec(button.className);
    if (style[1] === "same") return [];
    const wanted = part < 0.1 ? "1" : part < 0.5 ? "2" : "3";
    return style[2] === wanted && (style[1] === "more") === (difference(frame.time1, frame.time2) > 0) ? [] : [button.textContent];
  }));
  assert.deepEqual(wrong, []);
  const styles = new Set(await page.$$eval("#flame-view .frame", (frames) => frames.map((frame) => /(more|less|same|replaced)\d?/.exec(frame.className)?.[0])));
  assert.ok(styles.size >= 4, `not all frames are one red: ${[...styles]}`);
  assert.match(await page.textContent("#flame-legend"), /below 10%.*10–50%.*above 50%/);
  await page.close();
});

test("the differential view is one icicle, of either side", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  await page.selectOption("[data-key=view]", "diff");
  assert.equal((await framesOf(page, 1)).length, 0);
  const one = await framesOf(page, 0);
  await page.selectOption("[data-key=width]", "trace1");
  assert.notDeepEqual(await framesOf(page, 0), one);
  await page.close();
});

test("callers and callees of an op: both are as long as the op, and a click goes on from there", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  const op = "aten::_convolution";
  await page.selectOption("[data-key=view]", "sandwich");
  await page.selectOption("[data-key=of]", op);
  const [callers, callees] = [await framesOf(page, 0), await framesOf(page, 1)];
  assert.ok(callers.length > 1 && callees.length > 1);
  assert.equal(callers.find((frame) => frame.level === 0).width, callees.find((frame) => frame.level === 0).width);
  // The times of the op's direct callers add up to the op's time, because every call of the op has a caller.
  const first = callers.filter((frame) => frame.level === 1);
  assert.ok(Math.abs(sum(first.map((frame) => frame.width)) - 100) < 0.2);
  const total = await page.evaluate((op) => {
    let [one, two] = [0, 0];
    for (let at = 0; at < tree.size; at++) {
      if (nodeName(at) !== op) continue;
      one += tree.all1[at];
      two += tree.all2[at];
      at = tree.end[at] - 1;
    }
    const { time1, time2 } = flameView.querySelector('.frame[data-drawing="1"]').frame;
    return [one - time1, two - time2];
  }, op);
  assert.deepEqual(total, [0, 0]);
  await page.locator('#flame-view .frame[data-drawing="1"][data-level="1"]').first().click();
  assert.notEqual(await page.evaluate(() => state.get("of")), op);
  await page.goBack();
  assert.equal(await page.inputValue("[data-key=of]"), op);
  await page.close();
});

test("the search counts calls and frames and marks them", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  await page.fill("[data-key=seek]", "convolution");
  await page.waitForSelector("#flame-view .frame.hit");
  const told = await page.textContent("#flame-found");
  const [, calls, frames] = /^(\d+) calls, (\d+) frames: [\d.]+ → [\d.]+ ms per step$/.exec(told);
  assert.equal(Number(frames), await page.locator("#flame-view .frame.hit").count());
  assert.ok(Number(calls) > 10);
  await page.fill("[data-key=seek]", "no such");
  await page.waitForFunction(() => /no name matches/.test(document.getElementById("flame-found").textContent));
  await page.close();
});

test("the keyboard moves between frames, zooms in and out, and asks for callers", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  await page.focus('#flame-view .frame[tabindex="0"]');
  const here = () => page.evaluate(() => [document.activeElement.dataset.drawing, document.activeElement.dataset.level, document.activeElement.textContent].join());
  const seen = [await here()];
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft"]) {
    await page.keyboard.press(key);
    seen.push(await here());
  }
  assert.equal(seen[2], seen[4]);
  assert.equal(new Set(seen.slice(0, 4)).size, 4, seen.join("\n"));
  await page.keyboard.press("+");
  const zoom = await page.evaluate(() => state.get("zoom"));
  assert.ok(zoom);
  await page.keyboard.press("-");
  assert.notEqual(await page.evaluate(() => state.get("zoom")), zoom);
  await page.keyboard.press("0");
  assert.equal(await page.evaluate(() => state.get("zoom")), null);
  await page.locator('#flame-view .frame[data-drawing="1"][data-level="2"]').first().focus();
  await page.keyboard.press("s");
  assert.equal(await page.inputValue("[data-key=view]"), "sandwich");
  await page.close();
});

test("the tree indents each level, also in chains, and its head stays in view", async () => {
  const page = await open(browser, "example", { tab: "tree" });
  await page.click("#tree-view [role=treeitem]");
  const levels = await page.$$eval("#tree-view [role=treeitem]", (lines) => lines.filter((line) => line.offsetParent).map((line) => [Number(line.getAttribute("aria-level")), parseFloat(getComputedStyle(line.querySelector(".label")).paddingLeft)]));
  for (let at = 1; at < levels.length; at++) {
    if (levels[at][0] === levels[at - 1][0] + 1) assert.ok(levels[at][1] > levels[at - 1][1], `level ${levels[at]}`);
  }
  assert.ok(new Set(levels.map(([level]) => level)).size > 3, "a chain is open");
  for (let round = 0; round < 3; round++) await page.keyboard.press("*");
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
  const [head, nav] = await page.evaluate(() => ["#tree-head", "nav"].map((part) => document.querySelector(part).getBoundingClientRect()).map(({ top, bottom }) => [top, bottom]));
  assert.ok(head[0] >= nav[1] - 1 && head[1] < 160, `${head} below ${nav}`);
  await page.close();
});

test("* expands, letters search, breadcrumbs lead up", async () => {
  const page = await open(browser, "example", { tab: "tree" });
  const items = () => page.locator("#tree-view [role=treeitem]:visible").count();
  await page.focus("#tree-view [role=treeitem]");
  const before = await items();
  await page.keyboard.press("*");
  assert.ok(await items() > before);
  const open1 = await page.$$eval('#tree-view > div > .branch > [role=treeitem]', (lines) => lines.map((line) => line.getAttribute("aria-expanded")));
  assert.ok(open1.every((open) => open !== "false"), String(open1));
  await page.click("#tree-view [role=treeitem] >> nth=1");
  const wanted = await page.evaluate(() => {
    const visible = [...document.querySelectorAll("#tree-view [role=treeitem]")].filter((line) => line.offsetParent);
    return visible[visible.length - 1].querySelector(".name").textContent.slice(0, 5).toLowerCase();
  });
  await page.keyboard.type(wanted.replace(/[^\p{L}\p{N}_:].*/u, ""));
  const text = await page.evaluate(() => document.activeElement.textContent.toLowerCase());
  assert.ok(text.includes(wanted.replace(/[^\p{L}\p{N}_:].*/u, "")), `${text} for ${wanted}`);
  const crumbs = page.locator("#crumbs button");
  assert.ok(await crumbs.count() >= 1);
  const name = await crumbs.first().textContent();
  await crumbs.first().click();
  assert.ok((await page.textContent("#tree-view .found")).includes(name));
  await page.close();
});

test("a selected call shows its match and its kernels of both sides, with the moments of their launches", async () => {
  const page = await open(browser, "example", { tab: "tree" });
  await page.fill("[data-key=find]", 'module("Conv2d_0") / op("aten::_convolution")');
  await page.press("[data-key=find]", "Enter");
  const at = await page.evaluate(() => positionOf(stateNumber("node")));
  const found = await page.evaluate((at) => [1, 2].map((side) => eventsBelow(at, side).map(({ node, start, end, launch }) => ({ uid: tree["uid" + side][node], start, time: end - start, launch }))), at);
  assert.ok(found[0].length > 0 && found[1].length > 0);
  // The start times and durations equal the values in the table of all events, and no event starts before its launch.
  const rows = tableOf("example", "diff_stats_kernels.csv");
  for (const side of [1, 2]) {
    const of = new Map(rows.filter(({ source }) => source === "trace" + side).map((row) => [Number(row.gpu_op_uid), row]));
    const events = found[side - 1];
    const base = Number(of.get(events[0].uid).start_us);
    for (const event of events) {
      const { start_us, kernel_time } = of.get(event.uid);
      assert.ok(Math.abs(event.start - events[0].start - 1e3 * (Number(start_us) - base)) <= 200, `${event.start - events[0].start}`);
      assert.ok(Math.abs(event.time - 1e3 * Number(kernel_time)) < 1, `${event.time} for ${kernel_time}`);
      assert.ok(event.launch !== null && event.launch <= event.start);
    }
    assert.equal(await page.locator("#call .lane").nth(side - 1).locator("rect.gpu").count(), events.length);
    assert.equal(await page.locator("#call .lane").nth(side - 1).locator("rect.launch").count(), events.length);
  }
  // All lanes on both sides use the same time scale: the width of a kernel is proportional to its duration.
  const widths = await page.$$eval("#call .lane", (lanes) => lanes.map((lane) => [...lane.querySelectorAll("rect.gpu")].map((one) => Number(one.getAttribute("width")))));
  const longest = (side) => found[side].map(({ time }, at) => [time, widths[side][at]]).sort((a, b) => b[0] - a[0])[0];
  const [one, two] = [longest(0), longest(1)];
  assert.ok(Math.abs(one[0] / two[0] - one[1] / two[1]) < 0.02 * (one[0] / two[0]), `${one} ${two}`);
  const uid = await page.evaluate((at) => tree.uid1[at], at);
  const told = tableOf("example", "uid_map.csv").find(({ uid1 }) => Number(uid1) === uid).confidence;
  assert.match(await page.textContent("#call .confidence"), new RegExp(`^${told} match`));
  await page.close();
});

test("the confidence of each match is that of the uid map", async () => {
  const page = await open(browser, "example", { tab: "tree" });
  const known = await page.evaluate(() => Array.from(tree.uid1, (uid, at) => [uid, tree.uid2[at], confidenceOf(at)]).filter(([one, two]) => one >= 0 && two >= 0));
  const told = new Map(tableOf("example", "uid_map.csv").map((row) => [`${row.uid1},${row.uid2}`, row.confidence]));
  const wrong = known.filter(([one, two, confidence]) => told.get(`${one},${two}`) !== confidence);
  assert.ok(known.length > 100);
  assert.deepEqual(wrong.slice(0, 5), []);
  await page.close();
});

test("the timeline names the files for Perfetto", async () => {
  const page = await open(browser, "example", { tab: "timeline" });
  const link = page.locator("#timeline a");
  assert.equal(await link.getAttribute("href"), "https://ui.perfetto.dev/");
  const { trace1, trace2 } = summaryOf("example");
  const text = await page.textContent("#timeline > p.dim");
  for (const { path } of [trace1, trace2]) assert.ok(text.includes(path.split("/").pop()), path);
  assert.deepEqual(page.problems, []);
  await page.close();
});

if (existsSync(file("compiled", "report.html"))) {
  test("each compiled region is one row: what it replaced, kernels before and after, time", async () => {
    const page = await open(browser, "compiled", { tab: "kernels" });
    const lines = await page.$$eval("#regions tbody tr", (rows) => rows.map((row) => [row.dataset.t.split(" ").map(Number), [...row.cells].map((cell) => cell.textContent)]));
    assert.ok(lines.length > 0);
    // On each side, the times of all regions add up to at most the total kernel time.
    const { trace1, trace2 } = summaryOf("compiled");
    for (const [side, trace] of [[0, trace1], [1, trace2]]) {
      const time = sum(lines.map(([times]) => times[side])) / 1e3;
      assert.ok(time > 0 && time <= trace.kernel_time_us + 1, `${time} of ${trace.kernel_time_us}`);
    }
    for (const [, cells] of lines) assert.match(cells[1], /faster/);
    await page.locator("#regions a").first().click();
    assert.equal(await page.getAttribute("nav [aria-current]", "href"), "#tree");
    await page.locator("#tree-view .found").waitFor();
    await goTo(page, "kernels");
    await page.close();
  });
}
