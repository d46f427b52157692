// Tests for report.html: totals, table, tree, flame graph, links and layouts.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { file, framesOf, goTo, launch, open, rowsOf, summaryOf } from "./page.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const sum = (list) => list.reduce((total, value) => total + value, 0);
const near = (a, b, by = 0.002) => assert.ok(Math.abs(a - b) <= by, `${a} is not near ${b}`);
const names = async (page) => (await rowsOf(page)).map((row) => row.name);

for (const report of ["model", "hostile", "example"]) {
  test(`${report}: it loads without an error and asks the network for nothing`, async () => {
    const page = await open(browser, report);
    for (const tab of await page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href").slice(1)))) await goTo(page, tab);
    assert.ok(await page.locator("#rows tbody tr").count() > 0);
    assert.ok(await page.locator("#flame-view .frame").count() > 0);
    assert.deepEqual(page.problems, []);
    await page.close();
  });

  test(`${report}: the totals equal summary.json`, async () => {
    const page = await open(browser, report, { fragment: "#at=differences&measure=gpu" });
    const summary = summaryOf(report);
    const shown = await page.$$eval("[data-line=time] [data-us]", (cells) => cells.map((cell) => Number(cell.dataset.us)));
    assert.deepEqual(shown, [summary.trace1.kernel_time_us, summary.trace2.kernel_time_us]);
    if (await page.locator("[data-unit=total]").count()) await page.click("[data-unit=total]");
    const unit = await page.evaluate(() => shownUnit());
    const scale = unit === "ms" ? 1e3 : 1;
    const rows = await rowsOf(page);
    near(sum(rows.map((row) => row.trace1)), shown[0] / scale, 0.001 * rows.length + 0.001);
    near(sum(rows.map((row) => row.trace2)), shown[1] / scale, 0.001 * rows.length + 0.001);
    await page.close();
  });

  test(`${report}: nothing sticks out of the page, in any section, width and colour`, async () => {
    for (const width of [1920, 1280, 390]) {
      for (const scheme of ["light", "dark"]) {
        const page = await open(browser, report, { width, scheme });
        for (const tab of await page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href").slice(1)))) {
          await goTo(page, tab);
          if (tab === "differences") await page.click("#rows tbody tr button");
          if (tab === "tree") {
            await page.focus("#tree-view [role=treeitem]");
            await page.keyboard.press("Enter");
          }
          const widest = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(widest <= width, `${widest} of ${width} in ${scheme}, ${tab}`);
        }
        await page.close();
      }
    }
  });
}

for (const report of ["model", "regions", "compiled"].filter((name) => existsSync(file(name, "report.html")))) {
  test(`${report}: the parts of the totals add up, and their bars are beside the names`, async () => {
    const page = await open(browser, report, { tab: "totals" });
    for (const unit of ["step", "total"]) {
      if (unit === "total" && await page.locator("[data-unit=total]").count()) await page.click("[data-unit=total]");
      // A dash in the table means zero.
      const number = (text) => (text.startsWith("–") ? 0 : parseFloat(text));
      const cells = (lines) => lines.map((line) => [...line.querySelectorAll("td")].map((cell) => cell.textContent));
      const parts = (await page.$$eval(".parts tbody tr:not(.sum)", cells)).map((line) => line.map(number));
      const [total] = (await page.$$eval(".parts tr.sum", cells)).map((line) => line.map(number));
      const [time] = (await page.$$eval("[data-line=time]", cells)).map((line) => line.map(number));
      for (const side of [0, 1]) {
        near(sum(parts.map((part) => part[side])), total[side], 0.0006 * parts.length);
        assert.equal(total[side], time[side], unit);
      }
    }
    const bars = await page.$$eval(".account .bar", (bars) =>
      bars.map((bar) => [...bar.children].reduce((width, part) => width + parseFloat(part.style.width), 0)));
    near(Math.max(...bars), 100, 0.01);
    const boxes = await page.$$eval(".account > *", (all) => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right]));
    for (let at = 0; at < boxes.length; at += 2) assert.ok(boxes[at][1] <= boxes[at + 1][0], JSON.stringify(boxes));
    await page.close();
  });
}

test("a click on a column sorts by it, a second one turns the order", async () => {
  const page = await open(browser, "model", { tab: "differences" });
  const column = async (key) => {
    await page.click(`[data-sort=${key}]`);
    return (await rowsOf(page)).map((row) => row[key]);
  };
  for (const key of ["trace1", "trace2", "rows"]) {
    const down = await column(key);
    assert.deepEqual(down, [...down].sort((a, b) => b - a), key);
    const up = await column(key);
    assert.deepEqual(up, [...up].sort((a, b) => a - b), key);
    assert.ok(new Set(down).size > 1, `${key} has one value only`);
  }
  const byName = await column("name");
  assert.deepEqual(byName, [...byName].sort());
  assert.equal(await page.getAttribute("th:has([data-sort=name])", "aria-sort"), "ascending");
  await page.close();
});

test("the largest difference comes first without a click", async () => {
  const page = await open(browser, "model", { fragment: "#at=differences&measure=gpu" });
  const sizes = (await rowsOf(page)).map((row) => Math.abs(row.difference));
  assert.deepEqual(sizes, [...sizes].sort((a, b) => b - a));
  const largest = summaryOf("model").largest_differences.map((group) => group.name);
  assert.deepEqual((await names(page)).slice(0, 3), largest.slice(0, 3));
  await page.close();
});

test("the search finds names, kernels and shapes", async () => {
  const page = await open(browser, "model", { tab: "differences" });
  const all = await names(page);
  const search = async (text) => {
    await page.fill("[data-key=q]", text);
    await page.waitForFunction((wanted) => (new URLSearchParams(location.hash.slice(1)).get("q") ?? "") === wanted, text);
    return names(page);
  };
  assert.deepEqual(await search("gelu"), ["aten::gelu"]);
  assert.deepEqual(await search("GEMM_kernel"), ["aten::addmm"]);
  assert.deepEqual(await search("32,"), ["aten::_convolution"]);
  assert.deepEqual(await search("nothing has this name"), []);
  assert.deepEqual((await search("")).sort(), all.sort());
  await page.close();
});

test("filters and groups work on steps and presence", async () => {
  const page = await open(browser, "model", { tab: "differences" });
  await page.selectOption("[data-key=presence]", "trace2_only");
  assert.deepEqual(await names(page), ["aten::gelu"]);
  await page.selectOption("[data-key=presence]", "");
  await page.selectOption('[data-key="f.step"]', "0");
  const step = await rowsOf(page);
  await page.selectOption('[data-key="f.step"]', "");
  const both = await rowsOf(page);
  const convolution = (rows) => rows.find((row) => row.name === "aten::_convolution").rows;
  assert.equal(convolution(both), 2 * convolution(step));
  await page.selectOption("[data-key=group]", "row");
  assert.equal((await rowsOf(page)).length, sum(both.map((row) => row.rows)));
  await page.close();
});

test("a row opens with the kernels, shapes and stack of both sides", async () => {
  const page = await open(browser, "model", { tab: "differences" });
  await page.click('#rows tr[data-name="aten::_convolution"] button');
  await page.click("#rows .instances > summary");
  await page.click("#rows .member button");
  const text = await page.textContent("#rows [data-detail]");
  for (const part of ["aten::miopen_convolution_kernel", "aten::cudnn_convolution_kernel", "[[8,3,32,32]", "nn.Module: Conv2d_0", "train.py(3): step", "lowest common node"]) {
    assert.ok(text.replaceAll(", ", ",").includes(part.replaceAll(", ", ",")), `no ${part} in ${text}`);
  }
  await page.click('#rows tr[data-name="aten::_convolution"] button');
  assert.equal(await page.$("#rows [data-detail]"), null);
  await page.close();
});

test("the tree opens level by level and its sums add up", async () => {
  const page = await open(browser, "model", { tab: "tree" });
  const count = () => page.$$eval("#tree-view [role=treeitem]", (items) => items.length);
  const closed = await count();
  await page.click("#tree-view [role=treeitem]");
  assert.ok((await count()) > closed);
  await page.locator("#tree-view [role=treeitem]", { hasText: "train.py(3): step" }).first().click();
  const module = page.locator("#tree-view [role=treeitem]", { hasText: "nn.Module: Linear_0" }).first();
  await module.click();
  assert.equal(await module.getAttribute("aria-expanded"), "true");
  assert.ok(await page.locator("#tree-view", { hasText: "gemm_kernel" }).count());
  await module.click();
  assert.equal(await module.getAttribute("aria-expanded"), "false");
  const sums = await page.evaluate(() => {
    const wrong = [];
    for (let at = 0; at < tree.size; at++) {
      const below = childrenOf(at);
      const total = tree.own1[at] + below.reduce((time, child) => time + tree.all1[child], 0);
      if (total !== tree.all1[at]) wrong.push(at);
    }
    return wrong;
  });
  assert.deepEqual(sums, []);
  await page.close();
});

test("the tree can be walked with the keyboard", async () => {
  const page = await open(browser, "model", { tab: "tree" });
  await page.focus("#tree-view [role=treeitem]");
  const focused = () => page.evaluate(() => document.activeElement.dataset.node);
  const first = await focused();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  const second = await focused();
  assert.notEqual(second, first);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await focused(), first);
  await page.close();
});

test("the tree can be searched", async () => {
  const page = await open(browser, "model", { tab: "tree" });
  await page.fill("[data-key=find]", "gelu_kernel");
  await page.press("[data-key=find]", "Enter");
  assert.match(await page.textContent("#tree-view .found"), /gelu_kernel.*only H100/);
  await page.close();
});

test("frames lie within the frame above, and a click zooms", async () => {
  const page = await open(browser, "model", { fragment: "#at=flame&measure=gpu&apart=1" });
  const frames = await framesOf(page);
  for (const frame of frames.filter((frame) => frame.level > 0)) {
    const holds = (above) => above.level === frame.level - 1
      && above.left <= frame.left + 0.01 && above.left + above.width >= frame.left + frame.width - 0.01;
    assert.ok(frames.some(holds), `${frame.title} hangs in the air`);
  }
  const narrow = frames.find((frame) => frame.title.startsWith("Linear_0"));
  assert.ok(narrow.width < 50);
  await page.click('#flame-view .frame[data-drawing="1"]:has-text("Linear_0")');
  const zoomed = (await framesOf(page)).find((frame) => frame.title.startsWith("Linear_0"));
  const above = (await framesOf(page, 0)).find((frame) => frame.title.startsWith("Linear_0"));
  assert.equal(Math.max(zoomed.width, above.width), 100, "both are drawn to one scale");
  await page.keyboard.press("Escape");
  const out = (await framesOf(page)).find((frame) => frame.title.startsWith("Linear_0"));
  assert.ok(out.width < 100);
  await page.click("text=reset zoom");
  assert.deepEqual(await framesOf(page), frames);
  await page.close();
});

test("the other width shows what has vanished, and its total", async () => {
  const page = await open(browser, "model", { fragment: "#at=flame&measure=gpu&apart=1" });
  const has = async (title, drawing) => (await framesOf(page, drawing)).some((frame) => frame.title.includes(title));
  assert.equal(await has("gelu_kernel", 1), true);
  assert.equal(await has("warm_up_kernel", 1), false);
  assert.equal(await has("gelu_kernel", 0), false);
  assert.equal(await has("warm_up_kernel", 0), true);
  await page.selectOption("[data-key=view]", "diff");
  assert.equal(await has("gelu_kernel", 0), true);
  await page.selectOption("[data-key=width]", "trace1");
  assert.equal(await has("gelu_kernel", 0), false);
  assert.equal(await has("warm_up_kernel", 0), true);
  await page.close();
});

test("a link restores the view that it was copied from", async () => {
  const page = await open(browser, "model", { fragment: "#at=differences&measure=gpu&apart=1" });
  await page.selectOption("[data-key=group]", "shape");
  await page.click("[data-sort=trace2]");
  await page.click('#rows tr[data-name="aten::addmm"] button');
  await page.click("#rows .instances > summary");
  await page.click("#rows .member:nth-child(2) button");
  await page.click("#rows [data-detail] .actions button:has-text('tree')");
  const found = await page.getAttribute("#tree-view .found", "data-node");
  await goTo(page, "flame");
  await page.click('#flame-view .frame[data-drawing="1"]:has-text("Linear_0")');
  await page.selectOption("[data-key=chains]", "all");
  const copy = await open(browser, "model", { fragment: new URL(page.url()).hash });
  const view = (on, part) => on.evaluate((part) => ({
    html: document.getElementById(part).innerHTML,
    choices: [...document.getElementById(part).closest("section").querySelectorAll("select")].map((select) => select.value),
  }), part);
  assert.deepEqual(await view(copy, "flame-view"), await view(page, "flame-view"));
  for (const on of [page, copy]) await goTo(on, "differences");
  const rows = await view(page, "rows");
  assert.ok(rows.html.includes("data-detail"));
  assert.deepEqual(await view(copy, "rows"), rows);
  for (const on of [page, copy]) await goTo(on, "tree");
  assert.equal(await copy.evaluate(() => state.get("node")), found);
  await copy.close();
  await page.close();
});

test("a section named by the link is shown, and no other", async () => {
  const page = await open(browser, "example", { fragment: "#flame" });
  const top = await page.$eval("#flame", (part) => part.getBoundingClientRect().top);
  assert.ok(top > 0 && top < 300, `the flame graph starts at ${top}`);
  const shown = await page.$$eval(".panel", (panels) => panels.filter((panel) => panel.offsetParent).map((panel) => panel.dataset.panel));
  assert.deepEqual(shown, ["flame"]);
  await page.close();
});

test("the head of the page needs no script", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto("file://" + process.env.REPORTS + "/model/report.html");
  assert.match(await page.textContent("#verdict"), /^\d.* (faster|slower): .* → .* per step$/);
  assert.ok(await page.locator("#changes-card .row").count() >= 2);
  assert.ok(await page.locator("#totals").isVisible());
  await context.close();
});

test("it prints two pages: the answer and the call sites", async () => {
  for (const report of ["model", "example"]) {
    const page = await open(browser, report, { tab: "tree" });
    const pdf = await page.pdf({ preferCSSPageSize: true });
    assert.equal(pdf.toString("latin1").match(/\/Type\s*\/Page\b/g).length, 2);
    await page.emulateMedia({ media: "print" });
    for (const [part, isShown] of [[".controls", false], ["nav", false], ["#tree", false], ["#verdict", true], ["#changes-card", true], ["#rows", true]]) {
      assert.equal(await page.locator(part).first().isVisible(), isShown, part);
    }
    await page.close();
  }
});
