// Rules of accessibility (axe) on every pair, in both themes and two widths: no violation.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { file, launch, open } from "./page.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const REPORTS = ["model", "hostile", "example", "cpu", "regions", "timesformer", "compiled"];

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

// Opens what a reader would: a row, its instances, a chain of calls, a frame.
async function openAll(page) {
  await page.locator("#rows tbody tr.line th button").first().click();
  const instances = page.locator("#rows .instances > summary");
  if (await instances.count()) await instances.first().click();
  await page.focus("#tree-view [role=treeitem]");
  await page.keyboard.press("Enter");
  await page.fill("[data-key=seek]", "a");
  await page.click("#timeline-list > summary");
  await page.locator("#timeline-list li button").first().click();
}

for (const report of REPORTS.filter((name) => existsSync(file(name, "report.html")))) {
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      test(`${report}: axe finds nothing, ${scheme}, ${width} px`, async () => {
        const page = await open(browser, report, { scheme, width });
        await openAll(page);
        // The page's own policy would refuse a script that is added as an element.
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        const told = violations.map((v) => `${v.id}: ${v.help}\n  ` + v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.failureSummary.split("\n").slice(1, 3).join(" ")}`).join("\n  "));
        assert.deepEqual(told, []);
        await page.close();
      });
    }
  }
}

test("axe does find what is wrong", async () => {
  const page = await open(browser, "model");
  await page.evaluate(() => document.querySelector("[data-key=q]").closest("label").replaceWith(document.querySelector("[data-key=q]")));
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map((violation) => violation.id), ["label"]);
  await page.close();
});
