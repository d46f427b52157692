// Draws an overview of the whole step below the timeline, and marks the visible range in the overview.

const MAP_HEIGHT = 34;
let mapPicture = null;

// The overview as an image: all GPU events in the step on both sides. The image is cached until the width or the colors
// change.
function pictureOfMap(width, colours) {
  const key = width + colours.card + devicePixelRatio;
  if (mapPicture?.key === key) return mapPicture.canvas;
  const canvas = element("canvas", { width, height: MAP_HEIGHT });
  const pen = canvas.getContext("2d");
  pen.fillStyle = colours.card;
  pen.fillRect(0, 0, width, MAP_HEIGHT);
  const { start, time, kind } = timeline.slices;
  const hasGpu = kind.includes("g");
  start.forEach((from, at) => {
    if (hasGpu ? kind[at] !== "g" : timeline.slices.row[at] > 1) return;
    const colour = sliceColour(at, colours);
    pen.fillStyle = colour === colours.same ? colours.dim : colour;
    const left = (from / timeline.whole) * width;
    pen.fillRect(left, sliceSide(at) === 1 ? 3 : 19, Math.max((time[at] / timeline.whole) * width, 0.5), 12);
  });
  mapPicture = { key, canvas };
  return canvas;
}

function drawMap({ width, from, to, colours }) {
  const map = document.getElementById("timeline-map");
  map.width = width;
  map.height = MAP_HEIGHT;
  const pen = map.getContext("2d");
  pen.drawImage(pictureOfMap(width, colours), 0, 0);
  const [left, right] = [from, to].map((ns) => (ns / timeline.whole) * width);
  pen.globalAlpha = 0.45;
  pen.fillStyle = colours.line;
  pen.fillRect(0, 0, left, MAP_HEIGHT);
  pen.fillRect(right, 0, width - right, MAP_HEIGHT);
  pen.globalAlpha = 1;
  pen.strokeStyle = colours.focus;
  pen.lineWidth = 2;
  pen.strokeRect(Math.max(left, 1), 1, Math.min(right, width - 1) - Math.max(left, 1), MAP_HEIGHT - 2);
}

// A click or drag in the overview moves the visible range to the pointer.
let isOnMap = false;
function mapPointer(event) {
  if (event.type === "pointerdown") {
    isOnMap = true;
    event.target.setPointerCapture?.(event.pointerId);
  } else if (event.type !== "pointermove") isOnMap = false;
  if (!isOnMap) return;
  const box = event.target.getBoundingClientRect();
  const [from, to] = timelineRange();
  const middle = ((event.clientX - box.left) / box.width) * timeline.whole;
  setRange(middle - (to - from) / 2, middle + (to - from) / 2);
}
