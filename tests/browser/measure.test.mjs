// Tests that no section contradicts the headline: each shows the total of one measure, and says so if that total changed
// in another direction than the step.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { file, goTo, launch, leftOut, open } from "./page.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const REPORTS = ["model", "hostile", "example", "cpu", "regions", "timesformer", "compiled"].filter((name) => existsSync(file(name, "report.html")));
const WORDS = { "+": "longer", "−": "shorter" };

// The step times of the headline in ns; both are the same if it names only one.
async function headline(page) {
  const [, one, two, unit] = /([\d.]+) (?:→ ([\d.]+) )?(ms|µs|s) /.exec((await page.textContent("#verdict")).split(": ")[1]);
  return [one, two ?? one].map((text) => Number(text) * { s: 1e9, ms: 1e6, µs: 1e3 }[unit]);
}

function nanos(number, unit) {
  return Number(number.replace("−", "-").replace(/[±+]/, "")) * { s: 1e9, ms: 1e6, µs: 1e3, ns: 1 }[unit];
}

// The differences of the busy time and of the idle time on the first screen, in ns, and how much they may be rounded.
async function split(page) {
  const texts = /(?:GPU busy|in ops) (\S+) (\S+), (?:GPU idle|outside ops) (\S+) ([^\s;]+)/.exec(await page.textContent("#what")).slice(1);
  return [0, 2].map((at) => {
    const [number, unit] = [texts[at], texts[at + 1]], digits = (number.split(".")[1] ?? "").length;
    return { ns: nanos(number, unit), rounding: 0.51 * nanos("1", unit) / 10 ** digits + 1 };
  });
}

for (const report of REPORTS) {
  test(`${report}: each section's total agrees with the headline or says why not`, async () => {
    const page = await open(browser, report);
    const [one, two] = await headline(page);
    const parts = await split(page);
    const waits = await page.evaluate(() => page.waits[1] - page.waits[0]);
    assert.ok(Math.abs(waits - parts[1].ns) <= parts[1].rounding, `${waits} of ${parts[1].ns}`);
    let seen = 0;
    for (const key of await page.evaluate(() => measures())) {
      if (await page.locator(`[data-measure=${key}]`).count()) await page.click(`[data-measure=${key}]`);
      for (const tab of await page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href").slice(1)))) {
        await goTo(page, tab);
        const line = page.locator("#total");
        if (!(await line.isVisible())) continue;
        seen++;
        const text = await line.textContent();
        const total = Number(await line.locator("[data-total]").getAttribute("data-total"));
        const of = await line.locator("[data-total]").getAttribute("data-measure-of");
        if (of === "step") assert.ok(Math.abs(total - (two - one)) < 0.006 * Math.max(one, two), `${tab}: ${total} of ${two - one}`);
        const isOpposite = Math.abs(two - one) > 0.02 * Math.max(one, two) && total * (two - one) < 0;
        // The reason has the figures of the first screen.
        const said = / (?:GPU busy|in ops) (\S+) (\S+), (?:GPU idle|outside ops) (\S+) (\S+)\.$/.exec(text)?.slice(1);
        if (said) [[said[0], said[1]], [said[2], said[3]]].forEach(([number, unit], at) =>
          assert.ok(Math.abs(nanos(number, unit) - parts[at].ns) <= parts[at].rounding + 1e-3 * Math.abs(parts[at].ns), `${tab}: ${text} for ${parts.map(({ ns }) => ns)}`));
        if (of !== "step" && isOpposite && !text.startsWith("Host time of ops")) assert.ok(said, `${tab}: ${text}`);
        if (isOpposite) assert.ok(text.includes(`the step is ${WORDS[two > one ? "+" : "−"]}`), `${tab}: ${text}`);
      }
    }
    assert.ok(seen > 3, `${seen} totals`);
    assert.deepEqual(page.problems, []);
    await page.close();
  });

  test(`${report}: call sites, tree and flame graph add up to the total of each measure`, async () => {
    const page = await open(browser, report, { tab: "differences" });
    const [one, two] = await headline(page);
    for (const key of await page.evaluate(() => measures())) {
      if (await page.locator(`[data-measure=${key}]`).count()) await page.click(`[data-measure=${key}]`);
      const sums = await page.evaluate(() => [1, 2].map((side) => {
        const rowsTotal = rows["time" + side].reduce((sum, time) => sum + time, 0) + rows.outside[side - 1];
        return [rowsTotal, tree["total" + side], rootFrame()["time" + side]].map((sum) => sum / page.steps[side - 1]);
      }));
      sums.forEach(([ofRows, ofTree, ofFlame], side) => {
        const most = Math.max(ofTree, 1);
        assert.ok(Math.abs(ofRows - ofTree) < 1e-6 * most + 2, `${key}: rows ${ofRows}, tree ${ofTree}`);
        assert.ok(Math.abs(ofFlame - ofTree) < 1e-6 * most + 2, `${key}: flame graph ${ofFlame}, tree ${ofTree}`);
        if (key === "step") assert.ok(Math.abs(ofTree - [one, two][side]) < 0.02 * [one, two][side], `step ${ofTree} of ${[one, two][side]}`);
      });
    }
    await page.close();
  });
}

test("the measure is the one in which the difference is", async () => {
  for (const [report, wanted] of [["regions", ["step", "gpu", "host"]], ["example", ["gpu", "step"]]]) {
    const page = await open(browser, report);
    assert.ok(wanted.includes(await page.evaluate(() => measure())));
    await page.close();
  }
});

test("the largest call of a change comes first, and none of its calls changed more", { skip: leftOut }, async () => {
  for (const report of REPORTS) {
    const page = await open(browser, report);
    const wrong = await page.evaluate(() => [...document.querySelectorAll("[data-change]")].filter((row) => {
      const link = row.querySelector(".links a");
      const { all1, all2 } = timesOf(mainMeasure()), sign = row.querySelector(".delta b").textContent.startsWith("−") ? -1 : 1;
      if (!link?.dataset.node) return false;
      const cost = (at) => sign * difference(all1[at], all2[at]);
      return page.changes[Number(row.dataset.change)].nodes.some((at) => !"12".includes(tree.relation[at]) && cost(at) > cost(positionOf(Number(link.dataset.node))));
    }).length);
    assert.equal(wrong, 0, report);
    await page.close();
  }
});

test("a change and a call copy the command that repeats them", async () => {
  const page = await open(browser, "example");
  await page.evaluate(() => { globalThis.copied = []; copyText = async (text) => { copied.push(text); return true; }; });
  await page.locator('[data-bill] [data-copy="repro command"]').first().click();
  await goTo(page, "tree");
  await page.evaluate(() => reveal(tree.kind.indexOf("o")));
  await page.click('#call [data-copy="repro command"]');
  const copied = await page.evaluate(() => globalThis.copied);
  assert.match(copied[0], /^tracetree repro \S+ \S+ --bill-line \d+$/);
  assert.match(copied[1], /^tracetree repro \S+ \S+ --(baseline|candidate) \d+$/);
  await page.close();
});
