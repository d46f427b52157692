// Helpers that turn values into strings and page elements. Names from traces are only ever inserted as text nodes,
// never as HTML.

// Creates an element with properties (class, dataset, on…, aria-…) and children (elements or text).
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

const shortKernels = new Map(page.kernels.map(([full, short]) => [page.texts[full], short]));
function shortKernel(name) {
  return shortKernels.get(name) ?? name;
}

// A kernel name in short form, with the full name in the tooltip and in copied text.
function kernelName(text) {
  const short = shortKernel(text);
  return short === text ? name(text) : element("bdi", { class: "name", title: text, "data-full": text }, short);
}

// A labeled list of choices, each given as [value, text].
function choice(label, key, choices, preset, changed) {
  const select = element("select", { "data-key": key, onchange: () => changed(select.value) });
  for (const [value, text] of choices) select.append(element("option", { value }, text));
  const wanted = state.get(key);
  select.value = choices.some(([value]) => value === wanted) ? wanted : preset;
  return element("label", {}, label, select);
}

// A labeled text field; `changed` is called shortly after the last keystroke.
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

// A button that copies text to the clipboard and confirms that the text was copied.
function copyButton(what, text) {
  const button = element("button", { type: "button", class: "copy", "data-copy": what, onclick: async (event) => {
    event.stopPropagation();
    const done = await copyText(typeof text === "function" ? text() : text);
    button.textContent = done ? "copied" : "copy failed";
    setTimeout(() => { button.textContent = "copy " + what; }, 1500);
  } }, "copy " + what);
  return button;
}

// A page that was opened from a file may have no access to the clipboard. In this case, the text is selected and copied
// with the browser's copy command.
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

// A labeled checkbox.
function tick(label, key, changed) {
  const box = element("input", { type: "checkbox", "data-key": key, onchange: () => changed(box.checked ? "1" : "") });
  box.checked = state.get(key) === "1";
  return element("label", { class: "tick" }, box, label);
}

// Copied text contains the full names of kernels.
document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (selection.isCollapsed) return;
  const range = selection.getRangeAt(0);
  const nameOf = (node) => (node.closest ? node : node.parentElement)?.closest("[data-full]");
  const within = nameOf(range.startContainer);
  if (within && within === nameOf(range.endContainer)) {
    if (selection.toString() !== within.textContent) return;
    event.clipboardData.setData("text/plain", within.dataset.full);
  } else {
    let text = selection.toString();
    const names = [...range.cloneContents().querySelectorAll("[data-full]")];
    if (!names.length) return;
    for (const { textContent, dataset } of names) text = text.replace(textContent, () => dataset.full);
    event.clipboardData.setData("text/plain", text);
  }
  event.preventDefault();
});
