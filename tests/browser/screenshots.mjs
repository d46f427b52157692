// Takes the README's screenshots (docs/images) from a report and from the terminal output of the same run.
//
//   script -qc "stty cols 100 rows 50; tracetree diff A B -o DIR/report --color always -q" DIR/terminal.txt
//   TRACES="A B" CHROMIUM=$(command -v chromium) REPORTS=DIR node screenshots.mjs
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, open } from "./page.mjs";

const images = join(dirname(fileURLToPath(import.meta.url)), "../../docs/images");
mkdirSync(images, { recursive: true });
const browser = await launch();

async function shoot(name, tab, options, prepare) {
  const page = await open(browser, "report", { ...options, tab });
  await prepare?.(page);
  await page.screenshot({ path: join(images, `${name}.png`) });
  await page.close();
}

// Expands calls from the top down to the first kernel, following the call with the largest difference at each level.
async function openTree(page) {
  await page.selectOption("[data-key=order]", "diff");
  for (let level = 0; level < 6; level++) {
    const closed = page.locator('#tree-view [role=treeitem][aria-expanded="false"]');
    if (level === 0) await closed.first().click();
    else await page.evaluate(() => {
      const open = [...document.querySelectorAll('#tree-view [role=treeitem][aria-expanded="true"]')].pop();
      open?.parentElement.querySelector('[role=treeitem][aria-expanded="false"]')?.click();
    });
  }
  await page.mouse.move(0, 0);
}

// Converts the colors in terminal output to spans; only the colors used by the summary are supported.
function terminalHtml(text) {
  const styles = { 1: "font-weight:bold", 2: "opacity:.65", 31: "color:#ff7b72", 33: "color:#e3b341", 34: "color:#79b8ff" };
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const spans = escaped.replace(/\x1b\[(\d+)m/g, (_, code) => (code === "0" ? "</span>" : `<span style="${styles[code] ?? ""}">`));
  return `<body style="margin:0;background:#14171c;color:#e4e7ec"><pre id="t" style="margin:0;padding:16px 20px;display:inline-block;font:14px/1.4 'DejaVu Sans Mono',monospace">${spans}</pre>`;
}

async function shootTerminal() {
  const page = await browser.newPage({ viewport: { width: 1100, height: 900 } });
  // The program `script` adds a line before and after the text that it recorded.
  const lines = readFileSync(join(process.env.REPORTS, "terminal.txt"), "utf8").replaceAll("\r", "").split("\n");
  const text = lines.filter((line) => !/^Script (started|done)/.test(line)).join("\n");
  await page.setContent(terminalHtml(`$ tracetree diff ${process.env.TRACES}\n\n` + text));
  await page.locator("#t").screenshot({ path: join(images, "terminal.png") });
  await page.close();
}

await shoot("report", "what", { width: 1280, scheme: "light" });
await shoot("tree", "tree", { width: 1280, scheme: "light" }, openTree);
await shoot("timeline", "what", { width: 1280, scheme: "light" }, (page) => page.locator("[data-timeline]").nth(2).click());
await shootTerminal();
await browser.close();
