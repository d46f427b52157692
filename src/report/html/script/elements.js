// Values -> text and elements. Names from traces only ever become text nodes.

// An element with properties (class, dataset, on…, aria-…) and children (elements or text).
function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function name(text) {
  return element("bdi", { class: "name" }, text);
}

// A labelled select; choices are [value, text].
function choice(label, key, choices, preset, changed) {
  const select = element("select", { "data-key": key, onchange: () => changed(select.value) });
  for (const [value, text] of choices) select.append(element("option", { value }, text));
  const wanted = state.get(key);
  select.value = choices.some(([value]) => value === wanted) ? wanted : preset;
  return element("label", {}, label, select);
}

// A labelled text field; `changed` is called shortly after the last key press.
function field(label, key, changed) {
  let waiting = 0;
  const input = element("input", {
    type: "search", "data-key": key, value: state.get(key) || "", autocomplete: "off", spellcheck: "false",
    oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => changed(input.value), 120);
    },
  });
  return element("label", {}, label, input);
}

function time(ns) {
  return (ns / (page.unit === "ms" ? 1e6 : 1e3)).toFixed(3);
}

function signed(ns) {
  return (ns > 0 ? "+" : "") + time(ns);
}

function ratio(time1, time2) {
  return time1 > 0 && time2 > 0 ? (time2 / time1).toFixed(2) + "x" : "";
}

// How a time changed: a sign, a word, and a style by the difference relative to the larger time.
function change(time1, time2) {
  const difference = time2 - time1;
  const part = Math.abs(difference) / Math.max(time1, time2, 1);
  if (difference === 0 || part <= page.noise) return { sign: "·", word: "same", style: "same0" };
  const strength = part < 0.1 ? 1 : part < 0.4 ? 2 : 3;
  return difference > 0
    ? { sign: "▲", word: "more", style: "more" + strength }
    : { sign: "▼", word: "less", style: "less" + strength };
}

// A button that copies a text to the clipboard and confirms it.
function copyButton(what, text) {
  const button = element("button", { type: "button", class: "copy", "data-copy": what, onclick: async (event) => {
    event.stopPropagation();
    const done = await copyText(typeof text === "function" ? text() : text);
    button.textContent = done ? "copied" : "copy failed";
    setTimeout(() => { button.textContent = "copy " + what; }, 1500);
  } }, "copy " + what);
  return button;
}

// A page opened from a file may have no clipboard; then falls back to a selection and the copy command.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = element("textarea", { class: "off-screen", "aria-hidden": "true" });
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}

// A long text, collapsed to its beginning.
const FOLD = 80;
function folded(text) {
  if (text.length <= FOLD) return name(text);
  return element("details", { class: "folded" },
    element("summary", {}, name(text.slice(0, FOLD - 10) + "…")), name(text));
}

// A checkbox.
function tick(label, key, changed) {
  const box = element("input", { type: "checkbox", "data-key": key, onchange: () => changed(box.checked ? "1" : "") });
  box.checked = state.get(key) === "1";
  return element("label", { class: "tick" }, box, label);
}
