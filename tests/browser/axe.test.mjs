// Checks that every section of each report page satisfies axe's accessibility rules, in both themes and at two or three
// widths.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { file, goTo, launch, leftOut, open } from "./page.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// The widths at which each report is checked. A usual run of the tests checks the first three reports at one width.
const WIDTHS = { model: [1280, 390], hostile: [1280, 390], example: [1280, 390, 1920], cpu: [1280, 390], regions: [1280, 390], timesformer: [1280, 390], compiled: [1280, 390] };
const isUsual = (report, width) => width === 1280 && ["model", "hostile", "example"].includes(report);

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

// The rules that depend on colors. The dark theme changes only colors, so only these rules are checked in it.
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

// What violates the rules in a part of the page, as text. The lists of what satisfies them are long: axe would take as
// much time to describe them as to check the page.
function violations(page, part, rules) {
  return page.evaluate(async ([part, rules]) => {
    const found = await globalThis.axe.run(part, { resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
    return found.violations.map((v) => `${v.id}: ${v.help}\n  ` + v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.failureSummary.split("\n").slice(1, 3).join(" ")}`).join("\n  "));
  }, [part, rules]);
}

for (const [report, widths] of Object.entries(WIDTHS).filter(([name]) => existsSync(file(name, "report.html")))) {
  for (const width of widths) {
    test(`${report}: axe finds nothing in any section, ${width} px`, { skip: !isUsual(report, width) && leftOut }, async () => {
      const page = await open(browser, report, { width });
      // The page's content security policy rejects a script that is added as an element.
      await page.evaluate(AXE);
      for (const tab of await page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href").slice(1)))) {
        await goTo(page, tab);
        await OPEN[tab]?.(page);
        // The part of the page outside of the panel is the same in every section, so it is checked only once.
        const part = tab === "what" ? "html" : ".panel:not([hidden])";
        assert.deepEqual(await violations(page, part), [], `${tab}, light`);
        await page.emulateMedia({ colorScheme: "dark" });
        assert.deepEqual(await violations(page, part, COLOUR_RULES), [], `${tab}, dark`);
        await page.emulateMedia({ colorScheme: "light" });
        // axe takes time for hidden elements, too.
        await page.evaluate(() => document.querySelector(".panel:not([hidden])").replaceChildren());
      }
      await page.close();
    });
  }
}

test("axe does find what is wrong, also in the dark theme", async () => {
  const page = await open(browser, "model", { tab: "differences" });
  await page.evaluate(() => document.querySelector("[data-key=q]").closest("label").replaceWith(document.querySelector("[data-key=q]")));
  await page.evaluate(AXE);
  const told = await violations(page, "html");
  assert.deepEqual(told.map((text) => text.split(":")[0]), ["label"]);
  await page.evaluate(() => document.documentElement.style.setProperty("--dim", "#5d6470"));
  assert.deepEqual(await violations(page, "html"), told);
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await violations(page, "html", COLOUR_RULES);
  assert.deepEqual(dark.map((text) => text.split(":")[0]), ["color-contrast"]);
  await page.close();
});
