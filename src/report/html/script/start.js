// Draws everything from the fragment, and again when the fragment changes.

function drawAll() {
  readState();
  groupsShown = PAGE_OF_GROUPS;
  drawFilters();
  drawRows();
  drawTreeControls();
  drawTree();
  drawFlameControls();
  drawFlame();
  const node = stateNumber("node");
  if (node !== null && positionOf(node) >= 0) reveal(positionOf(node));
  const part = document.getElementById(state.get("at") || "");
  if (part && (state.get("at") !== "tree" || node === null)) part.scrollIntoView();
}

for (const link of document.querySelectorAll("nav a")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const part = link.getAttribute("href").slice(1);
    setState({ at: part });
    document.getElementById(part).scrollIntoView();
  });
}
treeView.addEventListener("keydown", treeKey);
flameView.addEventListener("keydown", flameKey);
window.addEventListener("hashchange", drawAll);
drawAll();
