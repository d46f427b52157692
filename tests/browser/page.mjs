// Opens a report in Chromium for a test, and collects all console errors.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM, args: SWITCHES });
}

// Why a usual run of the tests leaves out the slowest ones; false if all of them run.
export const leftOut = process.env.TRACETREE_BROWSER !== "all" && "only with TRACETREE_BROWSER=all";

export function file(report, name) {
  return join(process.env.REPORTS, report, name);
}

export function summaryOf(report) {
  return JSON.parse(readFileSync(file(report, "summary.json"), "utf8"));
}

// Opens a report page at the section `tab`. `problems` collects console errors, exceptions and
// network requests.
export async function open(browser, report, { name = "report.html", fragment = "", width = 1280, scheme = "light", tab = "" } = {}) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  // On a busy machine, a step can take long.
  page.setDefaultTimeout(60_000);
  page.problems = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.problems.push(message.text());
  });
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) page.problems.push(`request for ${request.url()}`);
  });
  await page.goto("file://" + file(report, name) + (fragment || (tab ? "#" + tab : "")));
  return page;
}

// The name and the numbers in each row of the table of differences, without expanded details.
export function rowsOf(page) {
  return page.$$eval("#rows tbody > tr[data-name]", (lines) =>
    lines.map((line) => ({
      name: line.dataset.name,
      rows: Number(line.querySelector("[data-label=rows]").textContent),
      trace1: Number(line.querySelector(`[data-label="${page.names[0]}"]`).textContent),
      trace2: Number(line.querySelector(`[data-label="${page.names[1]}"]`).textContent),
      difference: Number(line.querySelector("[data-label=difference]").textContent.replace(/^\S+ /, "").replace("−", "-").replace("±", "")),
    })));
}

// The frames in one drawing (icicle) of the flame graph: the title, left edge, width and level of each frame. Drawing 1
// belongs to the candidate.
export function framesOf(page, drawing = 1) {
  return page.$$eval(`#flame-view .frame[data-drawing="${drawing}"]`, (frames) =>
    frames.map((frame) => ({
      title: frame.textContent.slice(2),
      above: frame.classList.contains("above"),
      level: Number(frame.dataset.level),
      left: parseFloat(frame.style.left),
      width: parseFloat(frame.style.width),
    })));
}

// The rows in a report table, as objects.
export function tableOf(report, name) {
  const [titles, ...lines] = cellsOf(readFileSync(file(report, name), "utf8"));
  return lines.map((line) => Object.fromEntries(titles.map((title, at) => [title, line[at]])));
}

function cellsOf(text) {
  const lines = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    lines[lines.length - 1].push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === "") break;
    if (end !== ",") lines.push([]);
  }
  return lines.filter((line) => line.length > 1);
}

// Opens a section as a reader would.
export async function goTo(page, tab) {
  await page.click(`nav a[href="#${tab}"]`);
}
