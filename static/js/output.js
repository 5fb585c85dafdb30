// A program's output as it is shown: its last lines while it is folded, all that was kept where somebody wants it. Pure.

export const FOLDED_LINES = 12;
const FOLDED_CHARS = 6_000;
const SHOWN_CHARS = 150_000; // what is drawn at most: a page with more of it is slow

export const textOf = (parts) => parts.map(({ text }) => text).join("");

const CHART = "@chart ";

// A program tells charts in lines of its output: they are drawn, and need not be read.
export function withoutCharts(parts) {
  if (!parts.some(({ text }) => text.includes(CHART))) return parts;
  return parts.map(({ stream, text }) => ({ stream, text: text.replace(/^@chart [^\n]*\n?/gm, "") })).filter(({ text }) => text);
}

const lengthOf = (parts) => parts.reduce((sum, { text }) => sum + text.length, 0);

// The last lines, and how many characters stand before them.
export function tailOf(parts, lines = FOLDED_LINES) {
  const near = lastOf(parts, FOLDED_CHARS);
  const before = startOfLines(textOf(near), lines);
  const shown = lastOf(near, lengthOf(near) - before);
  return { parts: shown, left: lengthOf(parts) - lengthOf(shown) };
}

// All of it, or its end where it is more than a page can bear.
export function shownOf(parts) {
  const shown = lastOf(parts, SHOWN_CHARS);
  return { parts: shown, left: lengthOf(parts) - lengthOf(shown) };
}

// Where the last lines of a text begin. An end of line at the end of all begins no line.
function startOfLines(text, lines) {
  let at = text.endsWith("\n") ? text.length - 1 : text.length;
  for (let found = 0; found < lines; found += 1) {
    if (at <= 0) return 0;
    at = text.lastIndexOf("\n", at - 1);
    if (at < 0) return 0;
  }
  return at + 1;
}

function lastOf(parts, chars) {
  const kept = [];
  for (let left = chars, at = parts.length - 1; at >= 0 && left > 0; at -= 1) {
    const { stream, text } = parts[at];
    kept.unshift(text.length > left ? { stream, text: text.slice(text.length - left) } : parts[at]);
    left -= text.length;
  }
  return kept;
}
