// What the command palette offers and in which order: fuzzy matching and what was used lately. Pure but for its memory.

const KEPT = 6;
const KEY = "hyperagent.palette";

const START = 8; // a letter at the beginning of a word
const RUN = 5; // a letter right behind the one before
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase();

// How well `wanted` fits `text`: all its letters in order, or -1. Higher is better; whole words and beginnings count most.
export function fit(wanted, text) {
  const letters = plain(wanted).replace(/\s+/g, "");
  const within = plain(text);
  if (!letters) return 0;
  const whole = within.indexOf(plain(wanted).trim());
  if (whole >= 0) return 1000 - whole - within.length / 100 + (isStart(within, whole) ? 200 : 0);
  let score = 0;
  let at = -1;
  let gaps = 0; // letters strewn over a line are no match: one may be left out
  for (const letter of letters) {
    const next = nextOf(within, letter, at + 1);
    if (next < 0) return -1;
    if (isStart(within, next)) score += START;
    else if (next === at + 1) score += RUN;
    else if (next > at + 3 || gaps++ > 0 || letters.length < 4) return -1;
    at = next;
  }
  return score - within.length / 100;
}

// The letter at the beginning of a word if there is one, unless it goes on right here.
function nextOf(text, letter, from) {
  if (text[from] === letter) return from;
  for (let at = text.indexOf(letter, from); at >= 0; at = text.indexOf(letter, at + 1)) if (isStart(text, at)) return at;
  return text.indexOf(letter, from);
}

const isStart = (text, at) => at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1]);

// The items that fit, the best first; without a wish all of them as they are. Each: {title, words?}.
export function ranked(wanted, items) {
  if (!wanted.trim()) return items;
  return items
    .map((item) => ({ item, score: Math.max(fit(wanted, item.title), fit(wanted, `${item.title} ${item.words ?? ""}`) - 1) }))
    .filter(({ score }) => score >= 0)
    .sort((a, b) => b.score - a.score)
    .map(({ item }) => item);
}

export function readRecent() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY));
    return Array.isArray(found) ? found.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

export function noteRecent(id) {
  try {
    localStorage.setItem(KEY, JSON.stringify([id, ...readRecent().filter((other) => other !== id)].slice(0, KEPT)));
  } catch {
    // Not kept: the order is as ever.
  }
}

// With what was used lately before the others.
export function recentFirst(items, recent) {
  const place = ({ id }) => (recent.includes(id) ? recent.indexOf(id) : recent.length);
  return [...items].sort((a, b) => place(a) - place(b));
}
