// Keeps the state of the view in the address fragment, so a link shows the same view to others. State keys: at, y,
// unit, change, q, only, group, sort, dir, presence, f.<facet>, open, row, show, order, find, node, zoom, width,
// view, of, chains, apart, seek, t, slice, axis, colour, pick, deep, measure.

const state = new URLSearchParams();

// Reads the fragment. A bare name such as #tree selects the section to show.
function readState() {
  for (const key of [...state.keys()]) state.delete(key);
  const text = location.hash.slice(1);
  if (!text.includes("=")) {
    if (text) state.set("at", text);
    return;
  }
  for (const [key, value] of new URLSearchParams(text)) state.set(key, value);
}

// Changes the state; an empty value removes the key.
function setState(changes) {
  keepState(changes, "replaceState");
}

// Changes the state in a way that the Back button undoes: a new tab, a sort order, a filter, a
// zoom.
function goTo(changes) {
  keepState(changes, "pushState");
}

function keepState(changes, how) {
  for (const [key, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) state.delete(key);
    else state.set(key, String(value));
  }
  const text = "#" + state.toString();
  history[text === location.hash ? "replaceState" : how](null, "", text);
}

// A number from the state, or null if the state has none.
function stateNumber(key) {
  const text = state.get(key);
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}
