// Tests the controls in report.html: differences, tree, flame graph, links and copying.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { file, framesOf, goTo, launch, open, rowsOf, summaryOf } from "./page.mjs";
import { readFileSync } from "node:fs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const sum = (list) => list.reduce((total, value) => total + value, 0);

test("one section at a time; the bar stays in view and tells which", async () => {
  const page = await open(browser, "example");
  const linked = await page.$$eval("nav a", (found) => found.map((one) => one.getAttribute("href").slice(1)));
  assert.deepEqual(linked, ["what", "differences", "tree", "flame", "timeline", "steps", "kernels", "efficiency", "porting", "inputs"]);
  for (const part of linked) {
    await goTo(page, part);
    const shown = await page.$$eval(".panel", (panels) => panels.filter((panel) => panel.offsetParent).length);
    assert.equal(shown, 1);
    assert.ok(await page.locator(`nav a[href="#${part}"][aria-current]`).isVisible());
    assert.ok(await page.evaluate(() => scrollY) === 0);
  }
  await goTo(page, "kernels");
  await page.evaluate(() => scrollTo(0, 1e6));
  const bar = await page.$eval("nav", (nav) => nav.getBoundingClientRect().top);
  assert.ok(Math.abs(bar) < 1, `${bar}`);
  await page.close();
});

test("no section is longer than what it shows: the page was 10,000 px high", async () => {
  const page = await open(browser, "example");
  for (const part of ["what", "differences", "tree", "flame", "timeline"]) {
    await goTo(page, part);
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight) < 3000, part);
  }
  await page.close();
});

test("Back returns to the section, the order and the filter before, and stays in the report", async () => {
  const page = await open(browser, "example");
  await goTo(page, "differences");
  const first = async () => (await rowsOf(page))[0].name;
  const before = await rowsOf(page);
  await page.click("[data-sort=name]");
  const sorted = await rowsOf(page);
  assert.notDeepEqual(sorted, before);
  await page.selectOption("[data-key=only]", "slower");
  await page.goBack();
  assert.deepEqual(await rowsOf(page), sorted);
  await page.goBack();
  assert.deepEqual(await rowsOf(page), before);
  assert.ok(await first());
  await page.goBack();
  assert.ok(await page.locator("#verdict").isVisible());
  assert.equal(await page.getAttribute("nav [aria-current]", "href"), "#what");
  await page.goForward();
  assert.equal(await page.getAttribute("nav [aria-current]", "href"), "#differences");
  await page.close();
});

test("the difference sorts by size, then by sign both ways; slower only", async () => {
  const page = await open(browser, "example", { tab: "differences" });
  const differences = async () => (await rowsOf(page)).map((row) => row.difference);
  await page.click("[data-sort=diff]");
  const down = await differences();
  assert.deepEqual(down, [...down].sort((a, b) => b - a));
  await page.click("[data-sort=diff]");
  const up = await differences();
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
  assert.ok(up[0] < 0 && down[0] > 0);
  await page.click("[data-sort=diff]");
  const size = (await differences()).map(Math.abs);
  assert.deepEqual(size, [...size].sort((a, b) => b - a));
  await page.selectOption("[data-key=only]", "slower");
  const slower = await differences();
  assert.ok(slower.length > 0 && slower.every((difference) => difference > 0), String(slower));
  await page.close();
});

test("“name and arguments” shows the arguments, long ones folded", async () => {
  const page = await open(browser, "example", { tab: "differences" });
  await page.selectOption("[data-key=group]", "shape");
  assert.match(await page.textContent("#rows tbody tr.line .shape"), /\[\[/);
  const long = page.locator("#rows .shape details").first();
  await long.locator("summary").click();
  assert.equal(await page.$("#rows .detail"), null, "unfolding does not open the row");
  assert.ok((await long.textContent()).length > 100);
  await page.close();
});

test("the whole row opens one comparison, with counts, medians, shapes and what the op became", async () => {
  const page = await open(browser, "example", { tab: "differences" });
  await page.locator('#rows tr[data-name="aten::_convolution"] [data-label=ratio]').click();
  const box = page.locator("#rows .aggregate");
  const text = await box.textContent();
  for (const part of ["MI300X:", "H100:", "kernels", "median", "by shapes", "TFLOP/s", "aten::miopen_convolution | aten::cudnn_convolution×45"]) {
    assert.ok(text.includes(part), `${part} in ${text}`);
  }
  // The counts and sums for the op's kernels equal the values in the table of all events.
  const lines = readFileSync(file("example", "diff_stats_kernels.csv"), "utf8").split("\n").slice(1);
  const events = lines.filter((line) => line.includes(",trace1,") && line.includes(",aten::_convolution,")).length;
  await page.click("[data-unit=total]");
  const told = /MI300X: ([0-9.]+) ms in total, (\d+) kernels/.exec(await box.textContent());
  const counts = await page.$$eval("#rows .aggregate .half:first-child tbody tr", (rows) => rows.map((row) => Number(row.children[1].textContent)));
  assert.equal(sum(counts), Number(told[2]));
  assert.ok(events === 0 || events === Number(told[2]), `${events} events`);
  assert.equal(await page.$("#rows .member"), null, "single rows are folded");
  await page.click("#rows .instances > summary");
  // The rows are created after the details have opened, so the click itself is not delayed.
  await page.locator("#rows .member").first().waitFor();
  assert.ok(await page.locator("#rows .member").count() > 10);
  await page.close();
});

test("the search finds modules and takes a path query as tree --find does", async () => {
  const page = await open(browser, "example", { tab: "differences" });
  const search = async (text) => {
    await page.fill("[data-key=q]", text);
    await page.waitForFunction((wanted) => (new URLSearchParams(location.hash.slice(1)).get("q") ?? "") === wanted, text);
    return (await rowsOf(page)).map((row) => row.name);
  };
  assert.ok((await search("BatchNorm2d_0")).includes("aten::_batch_norm_impl_index"));
  assert.deepEqual(await search('module("Conv2d_0") / op("aten::conv2d")'), ["aten::_convolution", "aten::add_"]);
  assert.deepEqual(await search('kernel("*no such*")'), []);
  assert.match(await page.textContent("#rows-more"), /nothing found/);
  await search('op(aten::conv2d)');
  assert.match(await page.textContent("#rows-more"), /not a path query: write module/);
  await page.close();
});

test("find in the tree tells how many, takes queries, and tells when there is nothing", async () => {
  const page = await open(browser, "example", { tab: "tree" });
  const find = async (text) => {
    await page.fill("[data-key=find]", text);
    await page.press("[data-key=find]", "Enter");
    return page.textContent("#tree-found");
  };
  assert.match(await find("no such name"), /no name matches/);
  assert.match(await find('module("Conv2d_0") / op("aten::_convolution")'), /^1 of 3$/);
  assert.match(await page.textContent("#tree-view .found"), /aten::_convolution/);
  await page.close();
});

test("chains without a fork are one frame on request of nobody", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  const folded = await framesOf(page);
  const widest = folded.filter((frame) => frame.width > 99.99);
  assert.ok(widest.length <= 2, `${widest.length} frames of the full width`);
  await page.selectOption("[data-key=chains]", "all");
  const all = await framesOf(page);
  assert.ok(all.length > folded.length);
  // With folded chains and with all calls, the flame graph shows the same time: the frames at level
  // 1 have the same total width.
  const level = (frames, at) => sum(frames.filter((frame) => frame.level === at).map((frame) => frame.width));
  assert.ok(Math.abs(level(folded, 1) - level(all, 1)) < 0.1);
  await page.close();
});

test("layers of one class are merged unless each is wanted", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  const numbered = async () => (await framesOf(page)).filter((frame) => /BatchNorm2d_\d/.test(frame.title)).length;
  assert.equal(await numbered(), 0);
  assert.ok((await framesOf(page)).some((frame) => frame.title.includes("BatchNorm2d_*")));
  await page.check("[data-key=apart]");
  assert.ok(await numbered() > 1);
  await page.close();
});

test("from the kernels up: the first level is all the time, and callers add up to what they call", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  await page.selectOption("[data-key=view]", "up");
  const frames = await framesOf(page, 0);
  const first = sum(frames.filter((frame) => frame.level === 1).map((frame) => frame.width));
  assert.ok(first > 98 && first <= 100.01, `${first}`);
  const total = await page.evaluate(() => [rootFrame().time1, rootFrame().time2]);
  const account = summaryOf("example");
  assert.deepEqual(total, [account.trace1.kernel_time_us * 1e3, account.trace2.kernel_time_us * 1e3].map(Math.round));
  await page.close();
});

test("idle time is part of the step and has a colour of its own, and is as long as the account says", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  await page.click("[data-measure=gpu]");
  assert.equal(await page.locator("#flame-view .frame.idle").count(), 0);
  await page.click("[data-measure=step]");
  assert.ok(await page.locator("#flame-view .frame.idle").count() > 0);
  const idle = await page.evaluate(() => [1, 2].map((side) => page.idle.reduce((total, entry) => total + entry[side], 0)));
  const wall = summaryOf("example").wall;
  assert.ok(Math.abs(idle[0] - wall.trace1.idle_us * 1e3) < 1.5, `${idle[0]} of ${wall.trace1.idle_us}`);
  assert.ok(Math.abs(idle[1] - wall.trace2.idle_us * 1e3) < 1.5);
  await page.close();
});

test("what replaced something is neutral, and the frame tells both times of the call above", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  const replaced = page.locator("#flame-view .frame.replaced");
  assert.ok(await replaced.count() > 0);
  await replaced.first().hover();
  assert.match(await page.textContent("#flame-info"), /replaces or is replaced by other calls \([\d.]+ → [\d.]+ ms per step, all below/);
  await page.close();
});

test("marking frames tells how many and how long, and when there are none", async () => {
  const page = await open(browser, "example", { tab: "flame" });
  await page.fill("[data-key=seek]", "batch_norm");
  await page.waitForSelector("#flame-view .frame.hit");
  assert.match(await page.textContent("#flame-found"), /\d+ calls, \d+ frames: [\d.]+ → [\d.]+ ms/);
  await page.fill("[data-key=seek]", "no such name");
  await page.waitForFunction(() => document.getElementById("flame-found").textContent.includes("no name matches"));
  await page.close();
});

test("a link restores the place on the page", async () => {
  const page = await open(browser, "example");
  await page.evaluate(() => scrollTo(0, document.getElementById("flame").offsetTop + 123));
  await page.waitForFunction(() => location.hash.includes("y="));
  const at = await page.evaluate(() => scrollY);
  const copy = await open(browser, "example", { fragment: new URL(page.url()).hash });
  assert.ok(Math.abs((await copy.evaluate(() => scrollY)) - at) < 2);
  await copy.close();
  await page.close();
});

test("the skip link comes first and leads to the sections", async () => {
  const page = await open(browser, "example");
  await page.keyboard.press("Tab");
  await page.locator(".skip:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.locator('nav a[href="#what"]:focus').waitFor();
  await page.close();
});

test("in a narrow window, the bar scrolls to the section that is shown", async () => {
  const page = await open(browser, "example", { width: 390 });
  const isInBar = (part) => page.evaluate((part) => {
    const [link, bar] = [document.querySelector(`nav a[href="#${part}"]`), document.querySelector("nav")].map((one) => one.getBoundingClientRect());
    return link.left >= bar.left - 1 && link.right <= bar.right + 1;
  }, part);
  assert.equal(await isInBar("inputs"), false, "all links fit in the window");
  for (const part of ["inputs", "tree", "what"]) {
    await page.evaluate((part) => openPanel(part), part);
    assert.ok(await isInBar(part), part);
  }
  await page.close();
});

test("a uid and a path query can be copied", async () => {
  const page = await open(browser, "example");
  await page.evaluate(() => { globalThis.copied = []; copyText = async (text) => { copied.push(text); return true; }; });
  await goTo(page, "differences");
  await page.click('#rows tr[data-name="aten::sum"] button');
  await page.click("#rows .instances > summary");
  await page.locator("#rows .member button").first().click();
  await page.locator('#rows [data-copy="uid"]').first().click();
  await page.locator('#rows [data-copy="path query"]').first().click();
  const [uid, query] = await page.evaluate(() => copied);
  assert.match(uid, /^\d+$/);
  assert.match(query, /op\("aten::sum"\)$/);
  // The copied query finds at least one node.
  const finds = await page.evaluate((text) => searchOf(text).nodes.list.length, query);
  assert.ok(finds >= 1);
  await page.close();
});

test("path queries find what the command line finds, on both sides", async () => {
  const page = await open(browser, "example");
  const answers = JSON.parse(readFileSync(file("example", "answers.json"), "utf8"));
  for (const { query, found } of answers) {
    for (const side of [1, 2]) {
      const here = await page.evaluate(([text, side]) =>
        findNodes(parseQuery(text), [side]).map((at) => tree["uid" + side][at]), [query, side]);
      const sorted = (list) => [...list].sort((a, b) => a - b);
      assert.deepEqual(sorted(here), sorted(found[side - 1]), `${query}, side ${side}`);
    }
  }
  for (const wrong of ["op(aten::add)", 'op("a") op("b")', 'op("")', 'op("a") /']) {
    assert.ok((await page.evaluate((text) => parseQuery(text), wrong)).error, wrong);
  }
  await page.close();
});
