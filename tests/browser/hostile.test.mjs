// Tests that markup, quotes, control characters and very long names from any source are shown as text.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { file, goTo, launch, open, rowsOf } from "./page.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const NAMES = [
  "</script><script>window.hacked = 1</script>",
  "<img src=x onerror=\"window.hacked = 2\">'\"&amp;<b>",
  "=cmd|' /C calc'!A0",
  "]]><svg onload='window.hacked = 3'>",
];

test("no name of a trace becomes an element or runs", async () => {
  const page = await open(browser, "hostile", { tab: "differences" });
  await page.selectOption("[data-key=group]", "row");
  for (const line of await page.$$("#rows tbody tr[data-name] button")) {
    await line.click().catch(() => {});
  }
  await goTo(page, "tree");
  await page.click("#tree-view [role=treeitem]");
  for (const line of await page.$$("#tree-view [role=treeitem]")) await line.focus();
  await goTo(page, "flame");
  await page.locator("#flame-view .frame").nth(2).hover();
  for (const view of ["diff", "up", "sandwich"]) await page.selectOption("[data-key=view]", view);
  const found = await page.evaluate(() => [
    window.hacked ?? null,
    document.querySelectorAll("main img, main [onload], main [onerror], main script").length,
    document.scripts.length,
  ]);
  assert.deepEqual(found, [null, 0, 2]);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test("names are shown letter by letter", async () => {
  const page = await open(browser, "hostile", { tab: "differences" });
  const shown = (await rowsOf(page)).map((row) => row.name);
  for (const name of NAMES) assert.ok(shown.includes(name), name);
  const text = await page.textContent("#rows");
  for (const name of NAMES) assert.ok(text.includes(name), name);
  await page.close();
});

test("a filter by a hostile name finds its row again from a link", async () => {
  const page = await open(browser, "hostile", { tab: "differences" });
  await page.fill("[data-key=q]", NAMES[1]);
  await page.waitForFunction(() => location.hash.includes("q="));
  const copy = await open(browser, "hostile", { fragment: new URL(page.url()).hash });
  assert.deepEqual(await rowsOf(copy), await rowsOf(page));
  assert.equal((await rowsOf(copy)).length, 1);
  await copy.close();
  await page.close();
});

test("the flame graph as a picture is well formed and holds no element of a name", async () => {
  const page = await browser.newPage();
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  await page.goto("file://" + file("hostile", "flamegraph.svg"));
  const found = await page.evaluate(() => [
    document.documentElement.nodeName, document.querySelector("parsererror"), window.hacked ?? null,
    document.querySelectorAll("img, svg svg svg").length,
  ]);
  assert.deepEqual(found, ["svg", null, null, 0]);
  const text = readFileSync(file("hostile", "flamegraph.svg"), "utf8");
  assert.ok(!text.includes("<script>window"));
  assert.deepEqual(problems, []);
  await page.close();
});
