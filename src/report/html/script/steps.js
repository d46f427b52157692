// Switches all sections between times per step and total times, and between the measures: the time of the step, GPU
// time and host time.

function perStep() {
  return state.get("unit") !== "total";
}

// A time on one side, in ns; divided by the side's number of steps unless totals are shown.
function scaled(ns, side) {
  return perStep() ? ns / page.steps[side - 1] : ns;
}

function hasSteps() {
  return page.steps[0] > 1 || page.steps[1] > 1;
}

// The unit for all times: ms if either side takes at least one millisecond.
function shownUnit() {
  const { total1, total2 } = timesOf(RECORDED);
  return Math.max(scaled(total1, 1), scaled(total2, 2), ...page.step) >= 1e6 ? "ms" : "µs";
}

function unitWords() {
  return hasSteps() ? `${shownUnit()} ${perStep() ? "per step" : "in total"}` : shownUnit();
}

function decimals(ns) {
  return (ns / (shownUnit() === "ms" ? 1e6 : 1e3)).toFixed(3).replace(/^-(?=0\.0+$)/, "").replace("-", "−");
}

function time(ns, side) {
  return decimals(scaled(ns, side));
}

function difference(time1, time2) {
  return scaled(time2, 2) - scaled(time1, 1);
}

// The signed difference, candidate − baseline; `±0.000` if it rounds to zero.
function signed(time1, time2) {
  const text = decimals(Math.abs(difference(time1, time2)));
  if (Number(text) === 0) return "±" + text;
  return (difference(time1, time2) > 0 ? "+" : "−") + text;
}

function ratio(time1, time2) {
  if (!(time1 > 0 && time2 > 0)) return "";
  const text = (scaled(time2, 2) / scaled(time1, 1)).toFixed(2);
  return Number(text) === 0 ? "" : text + "x";
}

// Returns a sign, a word and a style that describe how a time changed. All three depend on the difference relative to
// the larger of the two times. A difference that rounds to zero has no color.
function change(time1, time2) {
  return changeOf(scaled(time1, 1), scaled(time2, 2), Number(decimals(Math.abs(difference(time1, time2)))) === 0);
}

function changeOf(time1, time2, isZero) {
  const part = Math.abs(time2 - time1) / Math.max(time1, time2, 1);
  if (isZero || time1 === time2 || part <= page.noise) return { sign: "·", word: "same", style: "same0" };
  const strength = part < 0.1 ? 1 : part < 0.4 ? 2 : 3;
  return time2 > time1
    ? { sign: "▲", word: "more", style: "more" + strength }
    : { sign: "▼", word: "less", style: "less" + strength };
}

// Updates the times in the tables that are part of the page's HTML, so that they show times per step or total times.
function retime() {
  for (const line of document.querySelectorAll("tr[data-t]")) {
    const [one, two] = line.dataset.t.split(" ").map(Number);
    const texts = { 1: time(one, 1), 2: time(two, 2), 3: signed(one, two), 4: ratio(one, two) };
    for (const cell of line.querySelectorAll("[data-c]")) {
      const key = cell.dataset.c;
      cell.textContent = key === "1" && !one || key === "2" && !two ? "–" : texts[key];
      if (key === "3") cell.className = change(one, two).word;
    }
    for (const cell of line.querySelectorAll("[data-pair]")) {
      const texts = cell.dataset.pair.split(" ").map((ns, at) => (ns === "-" ? "–" : time(Number(ns), at + 1)));
      cell.textContent = texts[0] === texts[1] ? texts[0] : texts.join(" → ");
    }
    for (const cell of line.querySelectorAll("[data-saved]")) {
      const [side, ns] = cell.dataset.saved.split(" ").map(Number);
      cell.textContent = time(ns, side);
    }
  }
  // Sets the lengths of each group's bars based on the times that are shown.
  for (const chart of document.querySelectorAll(".chart tbody")) {
    const times = (line) => line.dataset.t.split(" ").map((ns, at) => scaled(Number(ns), at + 1));
    const all = [...chart.querySelectorAll("tr[data-t]")];
    const most = Math.max(...all.flatMap(times), 1);
    for (const line of all) times(line).forEach((ns, at) => { line.querySelectorAll(".bars span")[at].style.width = (100 * Math.max(ns, 0)) / most + "%"; });
  }
  for (const unit of document.querySelectorAll(".unit")) unit.textContent = unitWords();
}

function drawUnitSwitch() {
  if (!hasSteps()) return "";
  const button = (value, text) => element("button", {
    type: "button", "aria-pressed": String(perStep() === (value === "")), "data-unit": value || "step",
    onclick: () => {
      goTo({ unit: value });
      drawAll();
      document.querySelector(`[data-unit="${value || "step"}"]`).focus();
    },
  }, text);
  const { steps } = page;
  const title = `Show times per step (total time ÷ ${steps[0] === steps[1] ? steps[0] : steps.join(" and ")} recorded steps) or in total; What changed and Steps are always per step`;
  return element("span", { class: "switch", role: "group", "aria-label": "Times", title }, button("", "per step"), button("total", "total"));
}

// ---- measures

const MEASURES = { step: ["step", "step time"], gpu: ["GPU", "GPU time"], host: ["host", "host time of ops"] };
// The measure of each panel that does not follow the switch.
const FIXED = { timeline: "step", steps: "step", kernels: RECORDED, efficiency: RECORDED };
const FOLLOWING = ["differences", "tree", "flame"];

function measures() {
  return Object.keys(MEASURES).filter((key) => key === RECORDED || (key === "step" ? page.idle.length > 0 : key === "host" && page.host.length > 0));
}

// The chosen measure; by default the one in which the difference is: the whole step if idle time changed more than the
// recorded time.
function measure() {
  const wanted = state.get("measure");
  return measures().includes(wanted) ? wanted : mainMeasure();
}

function mainMeasure() {
  if (!page.idle.length) return RECORDED;
  const { total1, total2 } = timesOf(RECORDED);
  const busy = total2 / page.steps[1] - total1 / page.steps[0];
  return Math.abs(page.step[1] - page.step[0] - busy) > Math.abs(busy) ? "step" : RECORDED;
}

function useMeasure() {
  Object.assign(tree, timesOf(measure()));
  Object.assign(rows, rowTimesOf(measure()));
  for (const part of document.querySelectorAll(".measured")) part.textContent = MEASURES[measure()][1];
}

function drawMeasureSwitch() {
  if (measures().length < 2) return "";
  const button = (key) => element("button", {
    type: "button", "aria-pressed": String(measure() === key), "data-measure": key,
    onclick: () => {
      goTo({ measure: key === mainMeasure() ? "" : key });
      drawAll();
      document.querySelector(`[data-measure="${key}"]`).focus();
    },
  }, MEASURES[key][0]);
  const title = "What Call sites, Tree and Flame graph add up: the time of the step with the waits of the GPU, GPU time, or host time of ops";
  return element("span", { class: "switch", role: "group", "aria-label": "Measure", title }, ...measures().map(button));
}

// The total of a panel and, if it changed in another direction than the step, why.
function drawTotal(panel) {
  const key = FOLLOWING.includes(panel) ? measure() : FIXED[panel];
  const line = document.getElementById("total");
  line.hidden = !key || !measures().includes("step");
  if (line.hidden) return;
  const times = key === "step" ? page.step.map((ns, at) => ns * (perStep() ? 1 : page.steps[at])) : [1, 2].map((side) => scaled(timesOf(key)["total" + side], side));
  const [step, own] = [page.step[1] - page.step[0], times[1] - times[0]];
  const how = changeOf(...times, false), stepHow = changeOf(...page.step, false);
  const title = MEASURES[key][1];
  const words = { more: "higher", less: "lower", same: "the same" };
  // Events that run at the same time count once in the step, so its parts are those of the first screen.
  const idle = page.waits[1] - page.waits[0];
  const [isBusy, isIdle] = RECORDED === "gpu" ? ["GPU busy", "GPU idle"] : ["in ops", "outside ops"];
  const reason = `: ${isBusy} ${signedSpan(step - idle)}, ${isIdle} ${signedSpan(idle)}`;
  const isOther = key !== "step" && stepHow.word !== "same" && how.word !== stepHow.word;
  line.replaceChildren(
    element("b", {}, title[0].toUpperCase() + title.slice(1)), ` ${times.map((ns) => decimals(ns)).join(" → ")} ${unitWords()}, `,
    element("span", { class: how.word, "data-total": own, "data-measure-of": key }, `${how.sign} ${signedSpan(own)}`),
    isOther ? `. ${title[0].toUpperCase() + title.slice(1)} is ${words[how.word]}; the step is ${step > 0 ? "longer" : "shorter"} (${signedSpan(step)})${key === RECORDED ? reason : ""}.` : "");
}
