// Formulas: TeX of a model → MathML that is safe to show. The library is loaded when the first formula appears; until then,
// and where a formula is wrong, its source is shown. The library's elements are copied by lists, as all that a model causes.
import { signal } from "../vendor/preact.js";

const LONGEST = 4_000; // characters of one formula
const KEPT = 400; // formulas that are kept: while an answer grows, its end is drawn again and again
const SPACE = "http://www.w3.org/1998/Math/MathML";

const TAGS = new Set(["math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mprescripts",
  "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "none"]);
const ATTRIBUTES = new Set(["accent", "accentunder", "columnalign", "columnspan", "depth", "display", "displaystyle", "fence", "form",
  "height", "largeop", "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "rowspan", "rspace",
  "scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width"]);
const VALUE = /^[\w.%+ -]{0,40}$/;
const CLASS = /^tml-[a-z-]{1,30}$/;
// Of the library's own styles: space in tables, lines of arrays, and colour. Set one by one, as inline styles are forbidden.
const STYLE = /^(?:padding(?:-(?:left|right|top|bottom))?|border-(?:left|right|top|bottom)|color|width|height)$/;
const STYLE_VALUE = /^[\w.#% -]{1,60}$/;

const library = signal(null); // TeX → element, once it is here
const drawn = new Map(); // key → element, to be cloned
let loading = null;

// Whether formulas can be set. Whoever draws with it is drawn again when that changes.
export const isReady = () => library.value !== null;

export function load() {
  loading ??= import("../vendor/math.js").then(
    ({ mathTree }) => (library.value = mathTree),
    () => (loading = null), // the next formula tries again
  );
  return loading;
}

// A <math> element, or null: not loaded yet, too long, or not to be understood.
export function setFormula(source, isDisplay) {
  if (!library.peek()) return null;
  const key = `${isDisplay ? "d" : "i"}${source}`;
  if (!drawn.has(key)) {
    if (drawn.size >= KEPT) drawn.delete(drawn.keys().next().value);
    drawn.set(key, made(source, isDisplay));
  }
  return drawn.get(key)?.cloneNode(true) ?? null;
}

function made(source, isDisplay) {
  if (source.length > LONGEST) return null;
  try {
    return copied(library.peek()(source, isDisplay));
  } catch {
    return null; // it is shown as it was written
  }
}

function copied(from) {
  const to = document.createElementNS(SPACE, from.localName);
  for (const { name, value } of from.attributes) {
    if (ATTRIBUTES.has(name) && VALUE.test(value)) to.setAttribute(name, value);
  }
  const classes = [...from.classList].filter((name) => CLASS.test(name));
  if (classes.length) to.setAttribute("class", classes.join(" "));
  style(to, from.getAttribute("style"));
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) to.append(node.data);
    else if (TAGS.has(node.localName) && node.namespaceURI === SPACE) to.append(copied(node));
  }
  return to;
}

function style(element, text) {
  for (const part of (text ?? "").split(";")) {
    const [name, value] = part.split(":").map((word) => word.trim());
    if (value && STYLE.test(name) && STYLE_VALUE.test(value)) element.style.setProperty(name, value);
  }
}

// ── where formulas stand in Markdown ──

// $$…$$ and \[…\] over lines; $…$ and \(…\) within one paragraph. A dollar is a formula's only where no space follows the
// first or comes before the last, and no digit after the last: "$5 and $6" are prices.
const BLOCK = /^ {0,3}(?:\$\$((?:\\[^]|[^\\$])+?)\$\$|\\\[([^]+?)\\\])[ \t]*(?:\n+|$)/;
const INLINE = /^(?:\$\$((?:\\[^]|[^\\$])+?)\$\$|\\\[([^]+?)\\\]|\\\(([^]+?)\\\)|\$((?![\s$])(?:\\[^\n]|[^\\$\n])*?)(?<![\s\\])\$(?![\d\w]))/;
const PRICE = /^\d[\d.,]*(?:\s|$)/;

const found = (match) => match?.slice(1).find((part) => part !== undefined)?.trim();

export const mathExtensions = [
  {
    name: "formulaBlock",
    level: "block",
    start: (text) => /(?:^|\n) {0,3}(?:\$\$|\\\[)/.exec(text)?.index,
    tokenizer(text) {
      const match = BLOCK.exec(text);
      const source = found(match);
      return source ? { type: "formulaBlock", raw: match[0], source } : undefined;
    },
    renderer: ({ source }) => `<x-formula-block>${escaped(source)}</x-formula-block>`,
  },
  {
    name: "formula",
    level: "inline",
    start: (text) => /\$|\\[([]/.exec(text)?.index,
    tokenizer(text) {
      const match = INLINE.exec(text);
      const source = found(match);
      if (!source || (match[4] !== undefined && PRICE.test(source) && /\s/.test(source))) return undefined;
      const isDisplay = match[1] !== undefined || match[2] !== undefined;
      return { type: "formula", raw: match[0], source, isDisplay };
    },
    renderer: ({ source, isDisplay }) => (isDisplay ? `<x-formula-block>${escaped(source)}</x-formula-block>` : `<x-formula>${escaped(source)}</x-formula>`),
  },
];

export const FORMULA_TAGS = ["x-formula", "x-formula-block"];

// The formulas of a safe fragment, set where they can be.
export function setFormulas(fragment) {
  for (const place of fragment.querySelectorAll(FORMULA_TAGS.join())) {
    const isDisplay = place.localName === "x-formula-block";
    const source = place.textContent;
    const frame = document.createElement("span");
    frame.className = `formula ${isDisplay ? "is-display" : "is-inline"}`;
    if (!fill(frame, source, isDisplay)) {
      frame.classList.add("is-source");
      frame.textContent = source;
      if (!isReady()) load().then(() => frame.isConnected && fill(frame, source, isDisplay));
    }
    if (isDisplay) frame.tabIndex = 0; // a long one scrolls in its own box
    frame.dataset.source = source;
    place.replaceWith(frame);
  }
}

function fill(frame, source, isDisplay) {
  const set = setFormula(source, isDisplay);
  if (!set) return false;
  frame.classList.remove("is-source");
  frame.replaceChildren(set);
  return true;
}

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
