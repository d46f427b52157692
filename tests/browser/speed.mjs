// Measures the time until a report can be used, the time of each interaction, and the size of the report. Times are in
// milliseconds.
//
//   CHROMIUM=$(command -v chromium) REPORTS=DIR node speed.mjs REPORT [ROUNDS]
//
// The time until a report can be used begins with the navigation, and ends when a click on the button `?` has opened
// the list of keys. The time for an interaction is the time that the page spends in the event handler and on the
// subsequent layout.
import { statSync } from "node:fs";
import { file, launch } from "./page.mjs";

const INTERACTIONS = [
  ["open the call sites", () => openPanel("differences")],
  ["search a word", () => { setState({ q: "conv" }); drawRows(); }],
  ["search another word", () => { setState({ q: "mul" }); drawRows(); }],
  ["search by a path query", () => { setState({ q: 'op("aten::mul")' }); drawRows(); }],
  ["sort by name", () => { goTo({ q: "", sort: "name" }); drawRows(); }],
  ["show each row", () => { goTo({ group: "row" }); drawRows(); }],
  ["open the tree", () => openPanel("tree")],
  ["find the first kernel", () => findNext("kernel")],
  ["find the next kernel", () => findNext("kernel")],
  ["order by difference", () => { goTo({ order: "diff" }); drawTree(); }],
  ["show all calls", () => { goTo({ show: "all" }); drawTree(); }],
  ["open the flame graph", () => openPanel("flame")],
  ["highlight frames", () => seekInFlame("conv")],
  ["flame graph from the kernels up", () => { goTo({ view: "up" }); drawFlameControls(); drawFlame(); }],
  ["callers and callees", () => { goTo({ view: "sandwich" }); drawFlameControls(); drawFlame(); }],
  ["flame graph of both sides", () => { goTo({ view: "" }); drawFlameControls(); drawFlame(); }],
  ["open the timeline", () => openPanel("timeline")],
  ["zoom the timeline", () => { zoomTimeline(0.5); drawTimeline(); }],
  ["show the step", () => { goTo({ measure: "step" }); drawAll(); }],
  ["show totals", () => { goTo({ unit: "total" }); drawAll(); }],
];

const [report, rounds = "5"] = process.argv.slice(2);
const browser = await launch();
const loads = [], times = new Map(INTERACTIONS.map(([name]) => [name, []]));
let nodes = 0;
for (let round = 0; round < Number(rounds); round++) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(() => {
    const attempt = () => {
      document.querySelector("#tools .help")?.click();
      const help = document.getElementById("help");
      if (help?.open) {
        globalThis.firstClick = performance.now();
        help.close();
      } else setTimeout(attempt, 1);
    };
    attempt();
  });
  await page.goto("file://" + file(report, "report.html"));
  loads.push(await page.waitForFunction(() => globalThis.firstClick).then((found) => found.jsonValue()));
  nodes = await page.evaluate(() => tree.size);
  for (const [name, act] of INTERACTIONS) {
    // The page's content security policy forbids code created from strings, so the interaction is passed as a
    // function.
    const handle = await page.evaluateHandle(`(${act})`);
    times.get(name).push(await page.evaluate((act) => {
      const start = performance.now();
      act();
      document.body.getBoundingClientRect();
      return performance.now() - start;
    }, handle));
  }
  await page.close();
}
await browser.close();

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const line = (name, value) => console.log(`${name.padEnd(34)}${value}`);
line("size", `${(statSync(file(report, "report.html")).size / 1e6).toFixed(2)} MB, ${nodes} nodes`);
line("until a click works", `${Math.round(median(loads))} ms (largest ${Math.round(Math.max(...loads))})`);
for (const [name, list] of times) line(name, `${Math.round(median(list))} ms (largest ${Math.round(Math.max(...list))})`);
