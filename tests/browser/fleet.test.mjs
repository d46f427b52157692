// Tests for fleet.html: findings, heat maps with mouse and keyboard, links, and accessibility rules.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { file, launch, open, tableOf } from "./page.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLEETS = ["fleet", "odd-fleet"];

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const show = (fleet, options = {}) => open(browser, fleet, { name: "fleet.html", ...options });
const known = (fleet) => JSON.parse(readFileSync(file(fleet, "fleet.json"), "utf8"));
const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
const maps = async (page) => (await data(page)).maps;
const openAll = (page) => page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));

for (const fleet of FLEETS) {
  test(`${fleet}: it loads without an error and asks the network for nothing`, async () => {
    const page = await show(fleet);
    assert.equal(await page.locator(".map canvas").count(), (await maps(page)).length);
    assert.deepEqual(page.problems, []);
    assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
    await page.close();
  });

  for (const scheme of ["light", "dark"]) {
    for (const width of [1920, 1280, 390]) {
      test(`${fleet}: axe finds nothing and nothing sticks out, ${scheme}, ${width} px`, async () => {
        const page = await show(fleet, { scheme, width });
        await openAll(page);
        await page.focus(".map canvas");
        await page.focus("#dot-plot svg");
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        const told = violations.map((v) => `${v.id}: ${v.help} ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`);
        assert.deepEqual(told, []);
        const widest = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(widest <= width, `${widest} of ${width}`);
        await page.close();
      });
    }
  }
}

test("the findings, bill and counts are those of fleet.json", async () => {
  const page = await show("fleet");
  const document = known("fleet");
  assert.ok((await page.textContent(".pair")).includes(`${document.ok} of ${document.planned - document.unmatched} ranks compared; ${document.failed} failed`));
  const findings = await page.$$eval("#findings tbody tr", (lines) => lines.map((line) => [...line.cells].map((cell) => cell.textContent)));
  assert.deepEqual(findings, document.findings.map((one) => [one.code, one.ranks, one.message]));
  assert.equal(await page.locator("#bill tbody tr").count(), document.bill.length);
  const ranks = await page.$$eval("#ranks tbody tr td:first-child", (cells) => cells.map((cell) => cell.textContent));
  assert.equal(ranks.length, new Set(ranks).size);
  await page.close();
});

test("the headline names the slow rank, and the sentence why", async () => {
  const page = await show("fleet");
  const straggler = known("fleet").findings.find((one) => one.code === "STRAGGLER");
  const headline = await page.textContent("#verdict");
  assert.ok(headline.startsWith(`Rank ${straggler.ranks} got slower: `), headline);
  // The headline, the chart, the table of ops and the finding cite the same ratio and the same op.
  const [, ratio, op] = /([\d.]+)× its baseline \(\+[\d.]+ ms per step\), most of it in (\S+)$/.exec(headline);
  const { dots } = await data(page);
  assert.equal(dots.find((dot) => dot.name === straggler.ranks).ratio.toFixed(2), ratio);
  assert.equal(await page.textContent("#outliers thead th:nth-child(2)"), op);
  const cell = await page.textContent("#outliers tbody td");
  assert.ok(straggler.message.includes(`${op}: ${cell}`), `${straggler.message}: ${cell}`);
  assert.ok((await page.textContent(".lead")).startsWith(straggler.message));
  await page.close();
});

test("the dots are the ratios of the table of ranks; the slow one is labelled", async () => {
  const page = await show("fleet");
  const { dots } = await data(page);
  const lines = tableOf("fleet", "ranks.csv").filter((line) => line.status === "ok");
  const own = (line, side) => Number(line[`without_wait_us_${side}`]) / Number(line[`steps_${side}`]);
  assert.equal(dots.length, lines.length);
  lines.forEach((line, at) => assert.ok(Math.abs(dots[at].ratio - own(line, "trace2") / own(line, "trace1")) < 1e-3, `${dots[at].name}`));
  const straggler = known("fleet").findings.find((one) => one.code === "STRAGGLER").ranks;
  assert.deepEqual(dots.filter((dot) => dot.is_outlier).map((dot) => dot.name), [straggler]);
  assert.deepEqual(await page.$$eval("#dot-plot text.out", (labels) => labels.map((label) => label.textContent)), [`rank ${straggler}`]);
  const highest = await page.$$eval("#dot-plot circle", (circles) => circles.map((one) => Number(one.getAttribute("cy"))).reduce((best, y, at, all) => (y < all[best] ? at : best), 0));
  assert.equal(dots[highest].name, straggler);
  await page.focus("#dot-plot svg");
  for (let at = 0; at < 3; at++) await page.keyboard.press("ArrowRight");
  assert.match(await page.textContent("#dot-info"), new RegExp(`^rank ${dots[3].name}: ${dots[3].ratio.toFixed(3)}×`));
  await page.close();
});

test("who arrives last, and the ops of the slow rank, are those of the tables", async () => {
  const page = await show("fleet");
  const straggler = known("fleet").findings.find((one) => one.code === "STRAGGLER").ranks;
  const [first] = await page.$$eval("#last tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
  assert.equal(first[0], straggler);
  const told = await page.$$eval("#last tbody tr", (rows) => rows.map((row) => [parseInt(row.cells[1].textContent, 10), parseFloat(row.cells[2].textContent)]));
  const all = Number(/\d+/.exec(await page.textContent("#last small"))[0]);
  assert.ok(told.reduce((sum, [count]) => sum + count, 0) <= all);
  assert.deepEqual(told.map(([, late]) => late), told.map(([, late]) => late).sort((a, b) => b - a));
  const rows = await page.$$eval("#outliers tbody tr", (rows) => rows.map((row) => [row.cells[0].textContent, [...row.cells].slice(1).map((cell) => [cell.textContent, cell.className])]));
  assert.equal(rows[0][0], straggler);
  const [, style] = rows[0][1].find(([text]) => /^2\.00×/.test(text));
  assert.equal(style, "more3");
  await page.close();
});

test("what matters fits a screen", async () => {
  const page = await show("fleet");
  const bottom = await page.$eval("#last", (one) => one.getBoundingClientRect().bottom);
  assert.ok(bottom < 900, `${bottom}`);
  await page.close();
});

test("the straggler's step is red, and the others wait for it", async () => {
  const page = await show("fleet");
  const straggler = known("fleet").findings.find((one) => one.code === "STRAGGLER").ranks;
  const [steps, waits] = await maps(page);
  const row = steps.rows.indexOf(`rank_${straggler}`);
  const pixel = (at, row, column) => page.evaluate(([at, row, column]) => {
    const canvas = document.querySelectorAll(".map canvas")[at];
    const map = JSON.parse(document.getElementById("data").textContent).maps[at];
    const place = (index, length, count) => Math.floor(((index + 0.5) * length) / count);
    const context = canvas.getContext("2d");
    return [...context.getImageData(place(column, canvas.width, map.columns.length), place(row, canvas.height, map.rows.length), 1, 1).data];
  }, [at, row, column]);
  const [red, , blue, alpha] = await pixel(0, row, 1);
  assert.ok(red > blue && alpha > 0, "slower is red");
  const column = waits.columns.findIndex((name, at) => waits.values[row * waits.columns.length + at] === 0);
  assert.ok(column >= 0, "it waits for nobody");
  assert.equal((await pixel(1, row, column))[3], 0);
  const other = waits.rows.findIndex((_, at) => waits.values[at * waits.columns.length + column] > 0);
  assert.ok((await pixel(1, other, column))[3] > 0);
  await page.close();
});

test("a cell tells its value, by mouse and by keys", async () => {
  const page = await show("fleet");
  const [map] = await maps(page);
  await openAll(page);
  const told = () => page.textContent(".map .cell");
  const text = (row, column) => `${map.rows[row]}, ${map.columns[column]}: ${map.values[row * map.columns.length + column]} ${map.unit}`;
  const canvas = page.locator(".map canvas").first();
  const box = await canvas.boundingBox();
  await canvas.hover({ position: { x: box.width * 0.5, y: 1 } });
  assert.equal(await told(), text(0, Math.floor(map.columns.length / 2)));
  await page.mouse.move(0, 0);
  await page.reload();
  await openAll(page);
  await page.focus(".map canvas");
  assert.equal(await told(), text(0, 0));
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  assert.equal(await told(), text(1, 1));
  for (const key of ["ArrowUp", "ArrowUp", "ArrowLeft", "ArrowLeft"]) await page.keyboard.press(key);
  assert.equal(await told(), text(0, 0), "it stays inside");
  await page.close();
});

test("a rank links to its report, whatever it is called", async () => {
  const links = async (fleet) => {
    const page = await show(fleet);
    const links = await page.$$eval("#ranks a", (links) => links.map((link) => [link.textContent, decodeURIComponent(link.getAttribute("href"))]));
    await page.close();
    return links;
  };
  for (const fleet of FLEETS) {
    const found = await links(fleet);
    assert.ok(found.length > 0);
    for (const [name, link] of found) assert.equal(link, `${name}/report.html`);
  }
});

test("axe does find what is wrong", async () => {
  const page = await show("fleet");
  await openAll(page);
  await page.evaluate(() => document.querySelector(".map canvas").removeAttribute("aria-label"));
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map((violation) => violation.id), ["role-img-alt"]);
  await page.close();
});
