// Draws everything from the fragment, and redraws it when the fragment changes.

function drawAll() {
  readState();
  groupsShown = PAGE_OF_GROUPS;
  drawFilters();
  drawRows();
  drawTreeControls();
  drawTree();
  drawFlameControls();
  drawFlame();
  drawTimelineControls();
  drawTimeline();
  const node = stateNumber("node");
  if (node !== null && positionOf(node) >= 0) reveal(positionOf(node));
  showPlace(node);
}

// Scrolls to the position saved in a link: an offset below the top of a section, since the top itself moves
// with the width of the window.
function showPlace(node) {
  const part = document.getElementById(state.get("at") || "");
  if (!part) return;
  const below = Number(state.get("y"));
  if (state.has("y") && Number.isFinite(below)) {
    scrollTo({ top: part.offsetTop + below, behavior: "instant" });
  } else if (state.get("at") !== "tree" || node === null) {
    part.scrollIntoView();
  }
}

// Saves the current section and the offset in it in the address, shortly after scrolling stops.
let scrolling = 0;
function keepPlace() {
  clearTimeout(scrolling);
  scrolling = setTimeout(() => {
    const parts = [...document.querySelectorAll("main > section[id]")];
    const part = parts.findLast((part) => part.offsetTop <= scrollY + 80);
    setState(part && scrollY > 0 ? { at: part.id, y: Math.round(scrollY - part.offsetTop) } : { at: "", y: "" });
    markPart(part);
  }, 150);
}

// Highlights the current section in the contents bar.
function markPart(part) {
  for (const link of links) {
    if (part && link.getAttribute("href") === "#" + part.id) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

const links = [...document.querySelectorAll("nav a")];
for (const link of [...links, document.querySelector(".skip")]) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const part = document.getElementById(link.getAttribute("href").slice(1));
    setState({ at: part.id, y: "" });
    part.scrollIntoView();
    part.querySelector("h2")?.focus({ preventScroll: true });
  });
}
for (const line of document.querySelectorAll("[data-cause]")) {
  line.querySelector(".why").append(" ", copyButton("cause", line.dataset.cause));
}
for (const shapes of document.querySelectorAll("#changes th bdi.dim, #efficiency th bdi.dim")) {
  if (shapes.textContent.length > FOLD) shapes.replaceWith(folded(shapes.textContent));
}
startTimeline();
treeView.addEventListener("keydown", treeKey);
flameView.addEventListener("keydown", flameKey);
addEventListener("hashchange", drawAll);
drawAll();
addEventListener("scroll", keepPlace, { passive: true });
