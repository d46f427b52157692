// Finds the nodes that a path query matches on either side. The grammar is the same as in `tracetree tree --find`. Any
// other search string is treated as a word search.

const QUERY_WORDS = page.query_words;
const QUERY_BEGINS = new RegExp(`^\\s*(${QUERY_WORDS.join("|")})\\s*\\(`);

// The parsed parts of a query; { error } for a syntax error; null if the string does not start like a query.
function parseQuery(text) {
  if (!QUERY_BEGINS.test(text)) return null;
  const parts = [];
  let rest = text.trim();
  for (;;) {
    const found = /^([\p{L}\p{N}_]+)\s*\(\s*"([^"]*)"\s*\)\s*/u.exec(rest);
    if (!found || !QUERY_WORDS.includes(found[1]) || !found[2]) {
      return { error: 'write module("Block_*") / op("aten::linear") / kernel("*gemm*")' };
    }
    parts.push({ word: found[1], like: globOf(found[2]) });
    rest = rest.slice(found[0].length);
    if (!rest) return parts;
    if (rest[0] !== "/") return { error: `expected / or the end of the query, found ${rest}` };
    rest = rest.slice(1).trimStart();
  }
}

// A pattern for entire names: * matches any text, ? one character, | separates alternatives.
function globOf(pattern) {
  const choices = pattern.split("|").map((choice) => [...choice.trim()]);
  return (name) => choices.some((choice) => isLike([...name], choice));
}

// After a mismatch, matching resumes at the most recent *, so it takes at most (name length × pattern length) steps.
function isLike(letters, pattern) {
  let at = 0, inPattern = 0, star = null;
  while (at < letters.length) {
    const letter = pattern[inPattern];
    if (letter === "*") {
      star = [at, inPattern++];
    } else if (letter !== undefined && (letter === "?" || letter === letters[at])) {
      at++;
      inPattern++;
    } else if (star) {
      star = [star[0] + 1, star[1]];
      at = star[0];
      inPattern = star[1] + 1;
    } else {
      return false;
    }
  }
  return pattern.slice(inPattern).every((letter) => letter === "*");
}

const MODULE_PREFIX = "nn.Module: ";
const KIND_WORDS = { f: "frame", o: "op", r: "call", g: "kernel" };

function isModule(at) {
  return tree.kind[at] === "f" && nodeName(at).startsWith(MODULE_PREFIX);
}

// The name of a node on one side; null if that side does not have the node.
function sideName(at, side) {
  const relation = tree.relation[at];
  if (relation === (side === 1 ? "2" : "1")) return null;
  const text = tree.name[at];
  const other = side === 2 && relation !== "2" && "org".includes(tree.kind[at]) ? tree.otherNamesAt.get(at) ?? tree.otherNames.get(text) : undefined;
  const names = relation === "r" ? page.texts[text].split(" | ") : [page.texts[other ?? text]];
  return names[names.length === 2 ? side - 1 : 0];
}

function classOf(instance) {
  return instance.replace(/_[0-9]+$/, "");
}

function withoutLine(name) {
  const split = name.indexOf("): ");
  if (split < 0) return name;
  const place = /^(.*)\(([0-9]*)$/s.exec(name.slice(0, split));
  return place ? `${place[1]}: ${name.slice(split + 3)}` : name;
}

function partMatches(part, word, name, chain) {
  if (part.word !== word) return false;
  if (part.like(name)) return true;
  if (word === "frame") return part.like(withoutLine(name));
  if (word !== "module") return false;
  if (part.like(classOf(name))) return true;
  for (let rest = chain; ; rest = rest.slice(rest.indexOf(".") + 1)) {
    if (part.like(rest)) return true;
    if (!rest.includes(".")) return false;
  }
}

// The nodes that a query matches on either side, as a sorted list.
function findNodes(parts, sides = [1, 2]) {
  const found = new Set();
  const last = parts.length - 1;
  for (const side of sides) {
    const come = new Uint8Array(tree.size);
    const chains = new Map();
    for (let at = 0; at < tree.size; at++) {
      const above = tree.parent[at];
      const progress = above < 0 ? 0 : come[above];
      const chainAbove = chains.get(above) || "";
      come[at] = progress;
      let chain = chainAbove;
      const raw = sideName(at, side);
      const kind = KIND_WORDS[tree.kind[at]];
      if (raw !== null && kind) {
        const word = raw.startsWith(MODULE_PREFIX) && kind === "frame" ? "module" : kind;
        const called = word === "module" ? raw.slice(MODULE_PREFIX.length) : raw;
        if (word === "module") chain = chainAbove ? chainAbove + "." + called : called;
        if (partMatches(parts[progress], word, called, chain)) {
          if (progress === last) found.add(at);
          else come[at] = progress + 1;
        }
      }
      if (chain) chains.set(at, chain);
    }
  }
  return [...found].sort((a, b) => a - b);
}

// Whether the list contains the node, or one of its ancestors or descendants.
function touches(nodes, at) {
  if (at < 0) return false;
  for (let above = at; above >= 0; above = tree.parent[above]) if (nodes.set.has(above)) return true;
  const list = nodes.list;
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low < list.length && list[low] < tree.end[at];
}

// Parses a search string: { nodes } for a query, { words } for a word search, or { error }.
let askedText = null, askedAnswer = null;
function searchOf(text) {
  if (text === askedText) return askedAnswer;
  const parts = parseQuery(text);
  askedText = text;
  if (parts && parts.error) askedAnswer = { error: parts.error };
  else if (parts) {
    const list = findNodes(parts);
    askedAnswer = { nodes: { list, set: new Set(list) } };
  } else askedAnswer = { words: text.toLowerCase().split(/\s+/).filter(Boolean) };
  return askedAnswer;
}

// The path query that selects a node: its enclosing modules, then the node itself.
function queryOf(at) {
  const side = tree.relation[at] === "2" ? 2 : 1;
  const part = (node) => {
    const raw = sideName(node, side);
    if (isModule(node)) return `module("${raw.slice(MODULE_PREFIX.length)}")`;
    const word = KIND_WORDS[tree.kind[node]];
    return word && !raw.includes('"') ? `${word}("${raw.replace(/[|]/g, "?")}")` : "";
  };
  const modules = pathTo(at).filter((node) => node !== at && isModule(node));
  const op = tree.kind[at] === "g" || tree.kind[at] === "r"
    ? pathTo(at).filter((node) => tree.kind[node] === "o").slice(-1) : [];
  return [...modules, ...op, at].map(part).filter(Boolean).join(" / ");
}
