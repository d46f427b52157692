// Checks that every section of each report page satisfies axe's accessibility rules, in both themes and at three
// widths.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { file, goTo, launch, open } from "./page.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const REPORTS = ["model", "hostile", "example", "cpu", "regions", "timesformer", "compiled"];

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

// Expands parts of the page as a reader would: a row, its instances, a chain of calls, a list.
const OPEN = {
  differences: async (page) => {
    await page.locator("#rows tbody tr.line th button").first().click();
    const instances = page.locator("#rows .instances > summary");
    if (await instances.count()) await instances.first().click();
    const member = page.locator("#rows .member button");
    if (await member.count()) await member.first().click();
  },
  tree: async (page) => {
    await page.focus("#tree-view [role=treeitem]");
    await page.keyboard.press("Enter");
  },
  flame: async (page) => {
    await page.fill("[data-key=seek]", "a");
    await page.waitForFunction(() => document.getElementById("flame-found").textContent);
  },
  timeline: async (page) => {
    await page.click("#timeline-list > summary");
    await page.locator("#timeline-list li button").first().click();
  },
};

for (const report of REPORTS.filter((name) => existsSync(file(name, "report.html")))) {
  for (const scheme of ["light", "dark"]) {
    for (const width of report === "example" ? [1920, 1280, 390] : [1280, 390]) {
      test(`${report}: axe finds nothing in any section, ${scheme}, ${width} px`, async () => {
        const page = await open(browser, report, { scheme, width });
        // The page's content security policy rejects a script that is added as an element.
        await page.evaluate(AXE);
        for (const tab of await page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href").slice(1)))) {
          await goTo(page, tab);
          await OPEN[tab]?.(page);
          // The part of the page outside of the panel is the same in every section, so it is checked only once.
          const part = tab === "what" ? "html" : ".panel:not([hidden])";
          const { violations } = await page.evaluate((part) => globalThis.axe.run(part), part);
          const told = violations.map((v) => `${v.id}: ${v.help}\n  ` + v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.failureSummary.split("\n").slice(1, 3).join(" ")}`).join("\n  "));
          assert.deepEqual(told, [], tab);
        }
        await page.close();
      });
    }
  }
}

test("axe does find what is wrong", async () => {
  const page = await open(browser, "model", { tab: "differences" });
  await page.evaluate(() => document.querySelector("[data-key=q]").closest("label").replaceWith(document.querySelector("[data-key=q]")));
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map((violation) => violation.id), ["label"]);
  await page.close();
});
