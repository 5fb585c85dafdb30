// Numbers in square brackets that name sources become links to them, and sentences that their sources do not support are marked.
// Works on a fragment that is safe already, and adds nothing but text, its own elements and checked addresses.
import { t } from "./i18n.js";
import { nameOf, placeOf, targetOf } from "./sources.js";

const CITATION = /\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\]/g;
const UNTOUCHED = "a, code, pre, .citation";

// The numbers within a bracket, or null if one of them is no source's: then it is no citation.
export function numbersIn(inside, count) {
  const numbers = [];
  for (const part of inside.split(/[,;]/)) {
    const [first, last = first] = part.split(/[–-]/).map((number) => Number.parseInt(number, 10));
    if (!(first >= 1 && first <= last && last <= count)) return null;
    for (let number = first; number <= last; number++) numbers.push(number);
  }
  return numbers;
}

// `sources`: in the order of their numbers. `isLive`: while the text grows, they are shown and lead nowhere yet.
export function linkCitations(fragment, sources, isLive) {
  if (!sources.length) return;
  for (const node of textNodes(fragment)) {
    const pieces = split(node.data, sources.length);
    if (pieces.length === 1 && typeof pieces[0] === "string") continue;
    node.replaceWith(...pieces.map((piece) => (typeof piece === "string" ? piece : citation(piece, sources[piece - 1], isLive))));
  }
}

function split(text, count) {
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(CITATION)) {
    const numbers = numbersIn(match[1], count);
    if (!numbers) continue;
    if (match.index > end) pieces.push(text.slice(end, match.index));
    pieces.push(...numbers);
    end = match.index + match[0].length;
  }
  if (end < text.length || !pieces.length) pieces.push(text.slice(end));
  return pieces;
}

function citation(number, source, isLive) {
  const target = isLive ? null : targetOf(source);
  const element = document.createElement(target ? "a" : "span");
  element.className = "citation";
  element.textContent = String(number);
  if (isLive) return element;
  element.dataset.source = String(number);
  const place = placeOf(source);
  element.setAttribute("aria-label", t("Source {number}: {name}", { number, name: [nameOf(source), place].filter(Boolean).join(", ") }));
  if (!target) {
    element.tabIndex = 0;
    element.setAttribute("role", "note");
    return element;
  }
  element.setAttribute("href", target.href);
  element.setAttribute("target", "_blank");
  element.setAttribute("rel", target.isOwn ? "noopener" : "noopener noreferrer nofollow");
  return element;
}

// `sentences`: [{text, why}], each as it reads once it is rendered.
export function markUnsupported(fragment, sentences) {
  for (const { text, why } of sentences) {
    for (const range of placesOf(text, textNodes(fragment, "pre, .unsupported"))) wrap(range, why);
  }
}

// Where a text stands in nodes, whatever the space between its words: [[{node, start, end}, …], …].
function placesOf(text, nodes) {
  const words = text.split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const all = nodes.map((node) => node.data).join("");
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+"), "g");
  return [...all.matchAll(pattern)].map((match) => partsOf(nodes, match.index, match.index + match[0].length));
}

function partsOf(nodes, start, end) {
  const parts = [];
  let at = 0;
  for (const node of nodes) {
    const first = Math.max(start, at);
    const last = Math.min(end, at + node.data.length);
    if (first < last) parts.push({ node, start: first - at, end: last - at });
    at += node.data.length;
  }
  return parts;
}

// From the last part on, so that the places before it stay right.
function wrap(found, why) {
  const words = t("Not supported by the source it cites");
  found.forEach((part, index) => {
    const mark = document.createElement("span");
    mark.className = "unsupported";
    mark.title = why ? `${words}. ${why}` : words;
    const rest = part.node.splitText(part.start);
    rest.splitText(part.end - part.start);
    rest.replaceWith(mark);
    mark.append(rest);
    if (index < found.length - 1) return;
    const said = document.createElement("span");
    said.className = "visually-hidden";
    said.textContent = ` (${t("not supported by the source it cites")})`;
    mark.append(said);
  });
}

function textNodes(root, without = UNTOUCHED) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement?.closest(without)) nodes.push(walker.currentNode);
  }
  return nodes;
}
