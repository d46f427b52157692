// Shows the controls of the flame graph and highlights the frames that a search finds.

// Highlights the frames whose names match, and shows how many calls and frames match and their
// total time.
function seekInFlame(text) {
  setState({ seek: text });
  markFlame();
}

function markFlame() {
  let drawn = 0;
  for (const button of flameView.querySelectorAll(".frame")) {
    const isHit = isFound(button.frame);
    button.classList.toggle("hit", isHit);
    drawn += isHit ? 1 : 0;
  }
  tellFound(drawn);
}

function tellFound(drawn) {
  const wanted = (state.get("seek") || "").toLowerCase();
  const line = document.getElementById("flame-found");
  if (!line) return;
  if (!wanted) return line.replaceChildren();
  const fits = page.texts.map((text) => text.toLowerCase().includes(wanted));
  // If matching calls are nested, only the outermost call is counted.
  let count = 0, one = 0, two = 0;
  for (let at = 0; at < tree.size; at++) {
    if (!fits[tree.name[at]]) continue;
    count++;
    one += tree.all1[at];
    two += tree.all2[at];
    at = tree.end[at] - 1;
  }
  line.textContent = count === 0 ? `no name matches “${state.get("seek")}”`
    : `${count === 1 ? "1 call" : count + " calls"}, ${drawn} ${drawn === 1 ? "frame" : "frames"}: ${time(one, 1)} → ${time(two, 2)} ${unitWords()}`;
}

function drawFlameControls() {
  flame = readFlame();
  const redraw = (key) => (value) => {
    goTo({ [key]: value, ...(key === "view" || key === "apart" ? { zoom: "" } : {}) });
    drawFlameControls();
    drawFlame();
  };
  const reset = element("button", { type: "button", onclick: () => zoomTo(rootFrame()) }, "reset zoom");
  const controls = [choice("view", "view", VIEWS, "", redraw("view"))];
  if (["diff", "up", "sandwich"].includes(view())) controls.push(choice("frame width shows the time in", "width", WIDTHS, "", redraw("width")));
  if (view() === "sandwich") controls.push(choice("op", "of", opsOf(), biggestOp(), redraw("of")));
  controls.push(choice("chains of only children", "chains", CHAINS, "", redraw("chains")),
    field("highlight frames by name", "seek", seekInFlame),
    tick("each layer of a class apart", "apart", redraw("apart")));
  if (view() !== "sandwich") controls.push(reset);
  document.getElementById("flame-controls").replaceChildren(...controls,
    element("span", { id: "flame-found", role: "status" }));
  drawFlameLegend();
}

// The ops that the user can choose, including the selected op.
function opsOf() {
  const ops = new Set();
  for (let at = 0; at < tree.size; at++) if (tree.kind[at] === "o" && tree.events[at]) ops.add(page.texts[tree.name[at]]);
  if (state.get("of")) ops.add(state.get("of"));
  ops.add(biggestOp());
  return [...ops].sort().map((op) => [op, op]);
}
