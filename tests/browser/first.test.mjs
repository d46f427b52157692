// Tests for the first screen: what changed, what each change costs, and what to do. Also tests units, kernel names and
// keyboard shortcuts, and checks that no element moves unexpectedly.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { file, goTo, launch, open, rowsOf, summaryOf } from "./page.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const number = (text) => Number(text.replace("−", "-").replace("±", "").replace(/^\+/, ""));
const texts = (page, selector) => page.$$eval(selector, (found) => found.map((one) => one.textContent));
const REPORTS = ["model", "example", "cpu", "regions", "timesformer", "compiled"].filter((name) => existsSync(file(name, "report.html")));

for (const report of REPORTS) {
  test(`${report}: the costs and parts add up to the difference of the step`, async () => {
    const page = await open(browser, report);
    const summary = summaryOf(report);
    const [total] = (await texts(page, "#changes-card .sum .delta b")).map(number);
    const unit = await page.evaluate(() => /(ms|µs|s) per step/.exec(document.querySelector("#changes-card h3").textContent)[1]);
    const scale = { ms: 1e3, µs: 1, s: 1e6 }[unit];
    const digits = /\.(\d+)/.exec((await texts(page, "#changes-card .sum .delta b"))[0])?.[1].length ?? 0;
    const near = (a, b, times = 1) => assert.ok(Math.abs(a - b) <= times * 10 ** -digits, `${a} is not near ${b}`);
    near(total, summary.wall.step_difference_us / scale);
    const rows = await page.$$eval("#changes-card [data-change]", (rows) => rows.map((row) => [Number(row.dataset.change), row.querySelector(".delta b").textContent]));
    // Each change has one figure: its price, or its attributed cost if no price is known.
    const leads = rows.map(([change, lead]) => {
      const { attributed_us, price_us } = summary.changes[change];
      near(number(lead), (price_us ?? attributed_us) / scale);
      return number(lead);
    });
    assert.ok(leads.length > 0 || summary.changes.length === 0);
    // All lines of the bill add up to the difference; the page lists those that matter.
    const prices = summary.bill.map((line) => (line.price_us ?? line.attributed_us) / scale);
    near(prices.reduce((sum, price) => sum + price, 0), total);
    const rest = (await texts(page, "#changes-card .row:not([data-change]):not(.sum) .delta b")).map(number);
    for (const shown of rest) assert.ok(prices.some((price) => Math.abs(price - shown) <= 10 ** -digits), `${shown} is a line of the bill`);
    await page.close();
  });

  test(`${report}: both sides are named on the first line, with what differs between them`, async () => {
    const page = await open(browser, report);
    const { trace1, trace2 } = summaryOf(report);
    const line = await page.textContent(".pair");
    assert.ok(line.indexOf(trace1.name) < line.indexOf("→") && line.indexOf("→") < line.lastIndexOf(trace2.name), line);
    assert.match(line, /\d+ runs?( each)?/);
    const below = await page.$eval("#verdict", (one) => one.getBoundingClientRect().bottom);
    assert.ok(below < 260, `the headline ends at ${below}`);
    await page.close();
  });
}

test("each chip leads to its detail", async () => {
  const page = await open(browser, "example");
  const chips = page.locator(".chip");
  const count = await chips.count();
  assert.ok(count >= 3);
  for (let at = 0; at < count; at++) {
    await page.goto("file://" + file("example", "report.html"));
    const target = (await chips.nth(at).getAttribute("href")).slice(1);
    await chips.nth(at).click();
    assert.ok(await page.locator("#" + target).isVisible(), target);
  }
  const told = (await texts(page, ".chip")).join("; ");
  assert.match(told, /1 run per side: not tested; record 3/);
  assert.match(told, /\d+% of GPU time matched, \d+% with certainty; totals exact/);
  await page.close();
});

test("a change leads to its call sites, its largest and first call, the timeline, and can be copied", async () => {
  const page = await open(browser, "example");
  const change = page.locator("[data-change]").first();
  await page.evaluate(() => { globalThis.copied = []; copyText = async (text) => { copied.push(text); return true; }; });
  const sentence = await change.locator(".sentence").textContent();
  await change.locator("[data-copy=sentence]").click();
  assert.ok((await page.evaluate(() => copied[0])).includes(sentence));
  const all = await page.evaluate(() => page.changes.findIndex(({ rows }) => rows.length > 0));
  await page.locator(`[data-change="${all}"] .links button:has-text("call sites")`).click();
  const rows = (await rowsOf(page)).reduce((sum, row) => sum + row.rows, 0);
  assert.equal(rows, await page.evaluate((at) => page.changes[at].rows.length, all));
  await goTo(page, "what");
  await change.locator(".links a").first().click();
  assert.equal(await page.evaluate(() => positionOf(stateNumber("node")) >= 0), true);
  await page.locator("#tree-view .found").waitFor();
  await goTo(page, "what");
  const button = page.locator('[data-change] .links button:has-text("timeline")').first();
  await button.click();
  assert.ok(await page.evaluate(() => chosenSlice()) >= 0);
  await page.close();
});

test("the table of steps has the step time of the headline", async () => {
  let seen = 0;
  for (const report of REPORTS) {
    const page = await open(browser, report);
    const mean = await page.$$eval("#steps tbody tr", (lines) => lines.filter((line) => line.querySelector(".name").textContent === "mean").map((line) => [...line.querySelectorAll("td")].slice(0, 2).map((cell) => cell.textContent)));
    if (mean.length) {
      seen++;
      const shown = /([\d.]+) (?:→ ([\d.]+) )?(ms|µs|s) /.exec((await page.textContent("#verdict")).split(": ")[1]);
      const unit = await page.$eval("#steps thead .dim", (one) => one.textContent);
      const factor = { s: 1e6, ms: 1e3, µs: 1 };
      mean[0].forEach((text, side) => {
        const [figure, digits] = [shown[side + 1] ?? shown[1], (shown[1].split(".")[1] ?? "").length];
        const value = (Number(text) * factor[unit]) / factor[shown[3]];
        assert.ok(Math.abs(value - Number(figure)) <= 10 ** -digits, `${report}: ${value} in the table, ${figure} in the headline`);
      });
    }
    await page.close();
  }
  assert.ok(seen > 0);
});

test("cells with the times of both sides follow the unit", async () => {
  const page = await open(browser, "cpu", { tab: "steps" });
  const { steps } = await page.evaluate(() => ({ steps: page.steps }));
  assert.ok(steps[0] > 1);
  const read = () => page.$$eval("[data-pair]", (cells) => cells.map((cell) => cell.textContent.split(" → ").map(Number)));
  const each = await read();
  await page.click("[data-unit=total]");
  const total = await read();
  assert.ok(each.length > 0);
  each.forEach(([time], at) => assert.ok(Math.abs(total[at][0] - steps[0] * time) <= 0.0006 * steps[0], `${total[at][0]} is not ${steps[0]} × ${time}`));
  await page.close();
});

test("the section about both platforms has each time in the unit of its column", async () => {
  const page = await open(browser, "example", { tab: "porting" });
  const read = () => page.evaluate(() => {
    const [classes, ops] = [...document.querySelectorAll("#porting table")].map((table) => {
      const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
      return [...table.querySelectorAll("tbody tr")].map((line) => [...line.querySelectorAll("td")].map((cell, at) => [heads[at + 1], cell.textContent, line.dataset.t]));
    });
    return { classes, ops };
  });
  const scale = (head) => (/\bms\b/.test(head) ? 1e6 : /µs/.test(head) ? 1e3 : NaN);
  const before = await read();
  assert.ok(before.ops.length > 0 && before.classes.length > 0);
  // A longer step changes the unit of the page.
  const unit = await page.evaluate(() => { const one = shownUnit(); page.step = [5e6, 5e6]; retime(); return [one, shownUnit()]; });
  const after = await read();
  for (const { classes, ops } of [before, after]) {
    for (const cells of ops) {
      const steps = await page.evaluate(() => page.steps);
      [0, 1].forEach((side) => {
        const [head, text] = cells[side];
        if (text !== "–") assert.ok(Math.abs(Number(text) * scale(head) - Number(cells[0][2].split(" ")[side]) / steps[side]) <= 0.0006 * scale(head), `${head}: ${text}`);
      });
    }
    // The other columns keep their values, so they keep their unit.
    classes.forEach((cells, line) => cells.forEach(([head], at) => assert.equal(head, before.classes[line][at][0])));
    ops.forEach((cells, line) => assert.equal(cells[3][0], before.ops[line][3][0]));
    assert.ok(ops.every((cells) => cells[3][0] === "software µs per step"));
  }
  if (unit[0] === "µs") assert.equal(unit[1], "ms");
  assert.ok(await page.$$eval("#porting .fill", (bars) => bars.length > 0 && bars.some((bar) => bar.getBoundingClientRect().width > 20 && getComputedStyle(bar).backgroundColor !== "rgba(0, 0, 0, 0)")));
  await page.close();
});

test("all differences have the same minus sign", async () => {
  for (const report of REPORTS) {
    const page = await open(browser, report);
    const wrong = await page.$$eval("td, .delta, .lead, .evidence, p", (cells) => cells.map((cell) => cell.textContent.trim()).filter((text) => /(^|[ (])-\d/.test(text)));
    assert.deepEqual(wrong, [], report);
    await page.close();
  }
});

test("the curve shows where the step falls behind, and its parts are sorted and lead to calls", async () => {
  const page = await open(browser, "example");
  const end = await page.textContent("#lag .lag-total");
  const [, behind, word] = /^([\d.]+) \S+ (behind|ahead) at the end$/.exec(end);
  const total = word === "ahead" ? -Number(behind) : Number(behind);
  const parts = await page.$$eval("#lag .row .delta", (cells) => cells.map((cell) => Number(cell.textContent.trim().replace("−", "-").replace("±", ""))));
  assert.ok(parts.length > 0);
  const sizes = parts.map(Math.abs);
  assert.deepEqual(sizes, [...sizes].sort((a, b) => b - a));
  if (parts.length < 10) assert.ok(Math.abs(parts.reduce((sum, part) => sum + part, 0) - total) < 0.02, `${parts} for ${total}`);
  const box = await page.$eval("#lag svg .lag-line", (line) => { const { x, y, width, height } = line.getBBox(); return { x, y, width, height }; });
  assert.ok(box.width > 600 && box.x >= 0 && box.x + box.width <= 720 && box.y >= 0 && box.y + box.height <= 230, JSON.stringify(box));
  assert.match(await page.getAttribute("#lag svg", "aria-label"), /behind|ahead/);
  // The links lead to layers and ops, not to single kernels, of which most run as long on both sides.
  const kinds = await page.$$eval("#lag .row a", (links) => links.map((link) => {
    const at = positionOf(Number(/node=(\d+)/.exec(link.getAttribute("href"))[1]));
    return nodeName(at).split(" | ").includes(link.textContent.split(" · ").pop()) ? "own name" : tree.kind[at];
  }));
  assert.ok(kinds.length > 0 && kinds.every((kind) => ["o", "f", "own name"].includes(kind)), kinds.join());
  // Each of the largest parts is drawn, in the color of its sign.
  const drawn = await page.$$eval("#lag svg .lag-part", (paths) => paths.map((path) => [path.getAttribute("class"), path.getTotalLength()]));
  assert.equal(drawn.length, Math.min(parts.length, 3));
  drawn.forEach(([style, length], at) => assert.ok(length > 0 && style === `lag-part lag-${parts[at] > 0 ? "more" : "less"}`, `${style}, ${length} for ${parts[at]}`));
  await page.click("#lag .row a >> nth=0");
  await page.waitForFunction(() => location.hash.includes("at=tree"));
  await page.close();
});

test("times are per step unless totals are asked for, in every section", async () => {
  const page = await open(browser, "model", { tab: "differences" });
  const steps = await page.evaluate(() => page.steps);
  assert.deepEqual(steps, [2, 2]);
  const scale = () => page.evaluate(() => (shownUnit() === "ms" ? 1e6 : 1e3));
  const row = async () => (await rowsOf(page)).find(({ name }) => name === "aten::_convolution").trace1 * await scale();
  const figure = { differences: row,
    inputs: async () => Number(await page.textContent("[data-line=time] [data-c='1']")) * await scale(),
    kernels: async () => Number(await page.textContent(".chart[data-chart=category] tbody [data-c='1']")) * await scale(),
    tree: async () => Number(await page.textContent("#tree-view .node .time")) * await scale(),
    flame: async () => Number(/: ([\d.]+)/.exec(await page.textContent(".flame-title"))[1]) * await scale() };
  for (const [tab, read] of Object.entries(figure)) {
    await goTo(page, tab);
    const each = await read();
    await page.click("[data-unit=total]");
    const total = await read();
    assert.ok(Math.abs(total - 2 * each) <= 1000, `${tab}: ${total} is not twice ${each}`);
    assert.match(await page.textContent(`.panel[data-panel=${tab}]`), /in total/);
    await page.click("[data-unit=step]");
    assert.match(await page.textContent(`.panel[data-panel=${tab}]`), /per step/);
  }
  await page.close();
});

test("every table names the units of its times", async () => {
  const page = await open(browser, "example");
  const { trace1, trace2 } = summaryOf("example");
  for (const tab of ["differences", "steps", "kernels", "efficiency", "inputs"]) {
    await goTo(page, tab);
    const heads = await page.$$eval(`.panel[data-panel=${tab}] table.figures > thead th`, (cells) => cells.filter((cell) => cell.offsetParent).map((cell) => cell.textContent));
    const ofTimes = heads.filter((head) => head.startsWith(trace1.name) || head.startsWith(trace2.name) || head.startsWith("difference")).filter((head) => !head.includes("above,"));
    assert.ok(ofTimes.length >= 2, tab);
    const without = ofTimes.filter((head) => !/\b(ms|µs)/.test(head));
    // Kernel counts have no unit.
    assert.ok(without.every(() => tab === "kernels") && without.length <= 2, `${tab}: ${without}`);
  }
  await page.close();
});

test("what is shown as zero has no colour, and rates that round to zero are left out", async () => {
  for (const report of REPORTS) {
    const page = await open(browser, report);
    for (const tab of ["differences", "tree", "steps", "kernels"]) {
      if (!await page.locator(`nav a[href="#${tab}"]`).count()) continue;
      await goTo(page, tab);
      const wrong = await page.$$eval(".more, .less, .more1, .more2, .more3, .less1, .less2, .less3", (cells) =>
        cells.filter((cell) => /^\W*[±+−]?0\.0+$/.test(cell.textContent.trim().replace(/^[▲▼·◇] /, ""))).map((cell) => cell.outerHTML));
      assert.deepEqual(wrong, [], `${report}, ${tab}`);
    }
    assert.ok(!/\b0\.00 → 0\.00 TB|\b0\.00x|, 0 T/.test(await page.evaluate(() => document.body.textContent)), report);
    await page.close();
  }
});

test("kernel names are short, with the full name on hover and in a copied selection", async () => {
  const page = await open(browser, "example", { tab: "differences" });
  const all = await page.evaluate(() => [...new Set(tree.name.filter((_, at) => tree.kind[at] === "g"))].map((text) => [page.texts[text], shortKernel(page.texts[text])]));
  assert.ok(all.some(([full, short]) => short.length < full.length));
  assert.ok(all.every(([full, short]) => short !== "" && [...short].length <= 72), JSON.stringify(all.filter(([, short]) => [...short].length > 72)));
  await page.locator('#rows tr[data-name="aten::_convolution"] th button').click();
  const kernel = page.locator("#rows [data-full]").first();
  const full = await kernel.getAttribute("data-full");
  assert.equal(await kernel.getAttribute("title"), full);
  assert.ok((await kernel.textContent()).length < full.length);
  const copied = await kernel.evaluate((one) => {
    getSelection().selectAllChildren(one);
    const event = new ClipboardEvent("copy", { clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
    document.dispatchEvent(event);
    return event.clipboardData.getData("text/plain");
  });
  assert.equal(copied, full);
  await page.close();
});

test("keys: / searches, ? lists keys, ] and [ go through the changes, j and k through lines, u turns the unit", async () => {
  const page = await open(browser, "example");
  const focused = () => page.evaluate(() => document.activeElement.dataset.key ?? document.activeElement.dataset.change ?? document.activeElement.tagName);
  await page.keyboard.press("]");
  assert.equal(await focused(), "0");
  // On this report of two devices, the change of device is the last one.
  await page.keyboard.press("k");
  assert.notEqual(await focused(), "0");
  await page.keyboard.press("j");
  assert.equal(await focused(), "0");
  await page.keyboard.press("]");
  assert.equal(await page.evaluate(() => stateNumber("change")), Math.min(1, await page.evaluate(() => page.changes.length - 1)));
  await page.keyboard.press("[");
  assert.equal(await page.evaluate(() => stateNumber("change")), 0);
  await page.keyboard.press("2");
  assert.equal(await page.getAttribute("nav [aria-current]", "href"), "#differences");
  await page.keyboard.press("/");
  assert.equal(await focused(), "q");
  await page.keyboard.type("u?j");
  assert.equal(await page.inputValue("[data-key=q]"), "u?j");
  await page.locator("[data-key=q]").blur();
  await page.keyboard.press("u");
  assert.equal(await page.getAttribute("[data-unit=total]", "aria-pressed"), "true");
  await page.keyboard.press("?");
  assert.ok(await page.locator("#help").isVisible());
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#help").isVisible(), false);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test("pointing at frames, calls and lines moves nothing", async () => {
  for (const width of [1280, 390]) {
    const page = await open(browser, "example", { width });
    await page.evaluate(() => {
      globalThis.shifts = [];
      globalThis.keep = (entries) => { for (const entry of entries) shifts.push([entry.value, ...entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 80))]); };
      globalThis.observer = new PerformanceObserver((list) => keep(list.getEntries()));
      observer.observe({ type: "layout-shift", buffered: false });
    });
    // The shifts since the last call. The browser records the shifts of a frame before it draws the next one.
    const shifts = () => page.evaluate(async () => {
      for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
      keep(observer.takeRecords());
      return globalThis.shifts.splice(0);
    });
    const places = { flame: ["#flame-view .frame", "#flame-view"], timeline: ["#timeline-view", "#timeline-view"], tree: ["#tree-view .node", "#tree-view"], differences: ["#rows tr.line", "#rows"] };
    for (const [tab, [selector, part]] of Object.entries(places)) {
      await goTo(page, tab);
      // If an element moves because of a click, the movement is intended.
      await shifts();
      const height = () => page.evaluate((part) => [document.querySelector(part).getBoundingClientRect().top, document.documentElement.scrollHeight].join(), part);
      const before = await height();
      const all = await page.$$eval(selector, (found) => found.slice(0, 60).map((one) => one.getBoundingClientRect()).map(({ x, y, width, height }) => [x + width / 2, y + height / 2]));
      for (const [x, y] of all.filter(([x, y]) => y < 890 && x < 1270)) {
        await page.mouse.move(x, y);
        assert.equal(await height(), before, `${tab} at ${x}, ${y}`);
      }
      if (tab === "timeline") {
        const box = await page.locator(selector).boundingBox();
        for (let at = 0; at < 20; at++) {
          await page.mouse.move(box.x + (box.width * at) / 20, Math.min(box.y + 20 + at * 20, 880));
          assert.equal(await height(), before, tab);
        }
      }
      assert.deepEqual(await shifts(), [], tab);
    }
    await page.close();
  }
});
