"use strict";
// Heat maps of a fleet: a row for each rank, a column for each step or collective.
const maps = JSON.parse(document.getElementById("data").textContent);

// What most cells are apart from each other decides the scale: one odd cell must not hide the others.
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
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * map.columns.length);
    const row = Math.floor(((event.clientY - box.top) / box.height) * map.rows.length);
    const value = map.values[row * map.columns.length + column];
    if (value === undefined) return;
    const text = value === null ? "nothing" : `${value} ${map.unit}`;
    told.textContent = `${map.rows[row]}, ${map.columns[column]}: ${text}`;
  });
}
