// Heat maps of a fleet: one row per rank, one column per step or collective.
const maps = JSON.parse(document.getElementById("data").textContent);

// The 99th percentile sets the scale, so that a single outlier does not hide the other cells.
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
