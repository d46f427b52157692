// Draws the ranks of a fleet as dots, and draws heat maps with one row per rank and one column per step or collective.
const { maps, dots } = JSON.parse(document.getElementById("data").textContent);

// ---- dots

const PLOT = { width: 1100, height: 210, left: 52, right: 8, top: 22, bottom: 26 };
const LABELS_MOST = 8;

function svg(tag, properties, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Three to six axis marks at round values.
function marks(low, high) {
  const raw = (high - low) / 4, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const list = [];
  for (let at = Math.ceil(low / step); at * step <= high + 1e-9; at++) list.push(at * step);
  return list;
}

function drawDots() {
  const box = document.getElementById("dot-plot");
  if (!box) return;
  const { left, right, top, bottom, height } = PLOT;
  const width = Math.max(box.clientWidth, 300);
  const all = dots.flatMap(({ ratio, band }) => [ratio, ...band, 1]);
  let [low, high] = [Math.min(...all), Math.max(...all)];
  const room = Math.max((high - low) * 0.08, 0.01);
  [low, high] = [low - room, high + room];
  const step = (width - left - right) / dots.length;
  const x = (at) => left + (at + 0.5) * step;
  const y = (ratio) => top + ((high - ratio) / (high - low)) * (height - top - bottom);
  const plot = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0, "aria-label": `Ratio of ${dots.length} ranks; the arrow keys move from rank to rank` });
  for (const mark of marks(low, high)) {
    plot.append(svg("line", { class: "grid-line", x1: left, x2: width - right, y1: y(mark), y2: y(mark) }));
    plot.append(svg("text", { x: 2, y: y(mark) + 4 }, `${mark.toFixed(high - low < 0.1 ? 3 : 2)}×`));
  }
  dots.forEach(({ band }, at) => plot.append(svg("rect", {
    class: "band", x: left + at * step, width: Math.max(step, 0.6), y: y(band[1]) - 2, height: Math.max(y(band[0]) - y(band[1]), 0) + 4,
  })));
  const size = Math.max(1.6, Math.min(5, step * 0.4));
  const circles = dots.map((dot, at) => svg("circle", { cx: x(at), cy: y(dot.ratio), r: dot.is_outlier ? Math.max(size, 4) : size, class: dot.is_outlier ? "out" : "" }));
  plot.append(...circles);
  const by = Math.max(1, Math.ceil(dots.length / Math.max(2, (width - left) / 60)));
  dots.forEach((dot, at) => { if (at % by === 0) plot.append(svg("text", { x: x(at), y: height - 8, "text-anchor": "middle" }, dot.name.replace(/^rank_0*(?=\d)/, "").slice(0, 8))); });
  const far = ({ ratio, band }) => Math.max(ratio - band[1], band[0] - ratio);
  const named = dots.map((dot, at) => ({ dot, at })).filter(({ dot }) => dot.is_outlier).sort((a, b) => far(b.dot) - far(a.dot)).slice(0, LABELS_MOST);
  for (const { dot, at } of named) {
    const anchor = x(at) < 80 ? "start" : x(at) > width - 80 ? "end" : "middle";
    plot.append(svg("text", { class: "out", x: x(at), y: y(dot.ratio) + (dot.ratio < dot.band[0] ? 16 : -8), "text-anchor": anchor }, `${/^\d/.test(dot.name) ? "rank " : ""}${dot.name}`));
  }
  box.replaceChildren(plot);
  let here = -1;
  const tell = (at) => {
    if (here >= 0) circles[here].classList.remove("here");
    here = Math.max(0, Math.min(dots.length - 1, at));
    circles[here].classList.add("here");
    const { name, ratio, band, is_outlier } = dots[here];
    document.getElementById("dot-info").textContent = `rank ${name}: ${ratio.toFixed(3)}×; middle half of its role ${band.map((one) => one.toFixed(3)).join(" to ")}×${is_outlier ? "; an outlier" : ""}`;
  };
  const open = () => { if (here >= 0 && dots[here].link) location.href = dots[here].link; };
  plot.addEventListener("mousemove", (event) => {
    const area = plot.getBoundingClientRect();
    tell(Math.floor((((event.clientX - area.left) / area.width) * width - left) / step));
  });
  plot.addEventListener("focus", () => tell(Math.max(here, 0)));
  plot.addEventListener("click", open);
  plot.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Enter") open();
    else if (by) tell(here + by);
    else return;
    event.preventDefault();
  });
}

drawDots();
addEventListener("resize", drawDots);

// ---- heat maps

// The color scale ends at the 99th percentile, so that a single outlier does not hide the differences between the other
// cells.
function scale(values) {
  const sizes = values.filter((value) => value !== null).map(Math.abs).sort((a, b) => a - b);
  return sizes[Math.floor(sizes.length * 0.99)] || sizes[sizes.length - 1] || 1;
}

function colour(value, most) {
  const share = Math.min(1, Math.abs(value) / most);
  return value < 0 ? `rgba(20,80,163,${share})` : `rgba(190,30,30,${share})`;
}

function draw(map, canvas) {
  const [tall, wide] = [map.rows.length, map.columns.length];
  const [width, height] = [Math.max(1, Math.min(64, Math.ceil(640 / wide))), Math.max(2, Math.min(24, Math.ceil(320 / tall)))];
  canvas.width = wide * width;
  canvas.height = tall * height;
  const context = canvas.getContext("2d");
  const most = scale(map.values);
  map.values.forEach((value, at) => {
    if (value === null) return;
    context.fillStyle = colour(value, most);
    context.fillRect((at % wide) * width, Math.floor(at / wide) * height, width, height);
  });
}

for (const section of document.querySelectorAll(".map")) {
  const map = maps[Number(section.dataset.map)];
  const canvas = section.querySelector("canvas");
  const told = section.querySelector(".cell");
  draw(map, canvas);
  const ends = { "row-first": map.rows[0], "row-last": map.rows[map.rows.length - 1], "column-first": map.columns[0], "column-last": map.columns[map.columns.length - 1] };
  for (const [end, text] of Object.entries(ends)) section.querySelector("." + end).textContent = text;
  let [row, column] = [0, 0];
  const tell = () => {
    const value = map.values[row * map.columns.length + column];
    const text = value === null ? "no value" : `${value} ${map.unit}`;
    told.textContent = `${map.rows[row]}, ${map.columns[column]}: ${text}`;
  };
  const go = (toRow, toColumn) => {
    row = Math.max(0, Math.min(map.rows.length - 1, toRow));
    column = Math.max(0, Math.min(map.columns.length - 1, toColumn));
    tell();
  };
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const part = (at, from, length, count) => Math.floor(((at - from) / length) * count);
    go(part(event.clientY, box.top, box.height, map.rows.length), part(event.clientX, box.left, box.width, map.columns.length));
  });
  canvas.addEventListener("focus", tell);
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    go(row + step[0], column + step[1]);
  });
}
