// The end of a text that still grows, as it is best shown meanwhile: what is open is closed, and what cannot be told yet (the
// first line of a table, a rule or a list's sign, half an address) waits for its next characters. So nothing is shown as
// broken text that jumps into something else a moment later. Pure; of a finished text nothing is changed.

const WAITS_CHARS = 240; // an open formula or address that is longer is none
const SIGNS = /^[ \t>]*(?:[-*+_=~`]{1,3}|#{1,6}|\d{1,9}[.)]?|[-*+] \[[ xX]?\]?|\|)[ \t]*$/;
const ROW = /^[ \t]*\|/;
const DELIMITERS = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

// `raw`: the last block of a text, from its own beginning.
export function calmed(raw) {
  const lines = withoutOpenTable(raw.split("\n"));
  while (lines.length && SIGNS.test(lines.at(-1)) && !isUnderTable(lines)) lines.pop();
  const text = withoutOpenFormulaBlock(lines.join("\n"));
  const start = Math.max(0, text.lastIndexOf("\n\n"));
  return text.slice(0, start) + closed(text.slice(start));
}

// A table's first row is one only when the line of dashes below it is whole: as many parts as the row has.
function withoutOpenTable(lines) {
  const first = lines.findLastIndex((line, at) => ROW.test(line) && !ROW.test(lines[at - 1] ?? ""));
  if (first < 0 || !lines.slice(first).every((line) => ROW.test(line) || line.trim() === "")) return lines;
  const dashes = lines[first + 1];
  const isTable = dashes !== undefined && DELIMITERS.test(dashes) && cells(dashes) === cells(lines[first]);
  if (isTable) return lines.at(-1).trim() === "|" ? lines.slice(0, -1) : lines;
  return lines.length - first <= 2 ? lines.slice(0, first) : lines;
}

const isUnderTable = (lines) => ROW.test(lines.at(-1)) && DELIMITERS.test(lines.at(-1));
const cells = (row) => row.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).length;

// A formula of its own lines is shown when it is whole.
function withoutOpenFormulaBlock(text) {
  for (const [open, close] of [["$$", "$$"], ["\\[", "\\]"]]) {
    const at = openPlace(text, open, close);
    if (at >= 0) return text.slice(0, at);
  }
  return text;
}

function openPlace(text, open, close) {
  let at = -1;
  for (let from = 0; ; ) {
    at = text.indexOf(open, from);
    if (at < 0) return -1;
    const end = text.indexOf(close, at + open.length);
    if (end < 0) return text.length - at > 4_000 ? -1 : at;
    from = end + close.length;
  }
}

// The last paragraph with its code, bold, italics and struck words closed, and half a link as its words.
function closed(paragraph) {
  const text = withoutHalf(paragraph);
  const open = [];
  let at = 0;
  while (at < text.length) {
    const sign = text[at];
    if (sign === "\\") {
      at += 2;
      continue;
    }
    if (sign === "`") {
      const ticks = /^`+/.exec(text.slice(at))[0];
      const end = text.indexOf(ticks, at + ticks.length);
      if (end < 0) return at + ticks.length >= text.length ? ended(text.slice(0, at), open) : ended(text, [...open, ticks]);
      at = end + ticks.length;
      continue;
    }
    const mark = /^(?:\*{1,3}|~~|__)/.exec(text.slice(at))?.[0];
    if (!mark) {
      at += 1;
      continue;
    }
    const before = text[at - 1] ?? " ";
    const after = text[at + mark.length] ?? "";
    if (open.at(-1) === mark && !/\s/.test(before)) open.pop();
    else if (after === "" && !/\s/.test(before) && open.length) return ended(text.slice(0, at), open); // half of what closes it
    else if (after === "") return ended(text.slice(0, at), open);
    else if (!/\s/.test(after) && (mark !== "__" || /\W/.test(before))) open.push(mark);
    at += mark.length;
  }
  return ended(text, open);
}

function ended(text, open) {
  const trimmed = open.length ? text.trimEnd() : text;
  return trimmed + open.toReversed().join("");
}

// Without what has only begun: a picture, an address, a mark of HTML, a citation's bracket, a formula within the line.
function withoutHalf(text) {
  const short = text.slice(-WAITS_CHARS);
  const head = text.slice(0, text.length - short.length);
  const half = short
    .replace(/\\$/, "")
    .replace(/!(?:\[[^\]\n]*(?:\](?:\([^)\n]*)?)?)?$/, "")
    .replace(/\[(?:\d[\d\s,;–-]*)?$/, "")
    .replace(/\[([^[\]\n]*)$/, "$1")
    .replace(/\[([^[\]\n]*)\]\([^)\n]*$/, "$1")
    .replace(/<[a-z/!][^<>\n]*$/i, "")
    .replace(/\\\((?:(?!\\\))[^])*$/, "");
  return head + withoutOpenDollar(half);
}

function withoutOpenDollar(text) {
  let at = -1;
  for (let from = 0; ; from = at + 1) {
    const start = text.indexOf("$", from);
    if (start < 0) return text;
    if (text[start - 1] === "\\" || /[\s\d$]/.test(text[start + 1] ?? "")) {
      at = text[start + 1] === "$" ? start + 1 : start;
      continue;
    }
    const end = text.indexOf("$", start + 1);
    if (end < 0) return text.includes("\n", start) ? text : text.slice(0, start);
    at = end;
  }
}
