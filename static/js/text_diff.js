// What differs between two texts, line by line, and between two sets of arguments. Pure.
import { asText } from "./plain_text.js";

const MOST_CELLS = 1_000_000; // of the table that is compared; larger texts are shown as all gone and all new
const CONTEXT = 3; // unchanged lines around a change

// [{kind: "same" | "gone" | "new", text}]
export function lineDiff(before, after) {
  const a = lines(before);
  const b = lines(after);
  const endsLine = (part) => !part.length || part.at(-1) === "";
  if (endsLine(a) && endsLine(b)) for (const part of [a, b]) part.pop(); // behind the last line end is nothing that could differ
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const same = (part) => part.map((text) => ({ kind: "same", text }));
  return [...same(a.slice(0, start)), ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...same(end ? a.slice(-end) : [])];
}

const lines = (text) => (text === "" ? [] : String(text).split("\n"));

// The longest common subsequence, as the textbook has it.
function middle(a, b) {
  const gone = (text) => ({ kind: "gone", text });
  const fresh = (text) => ({ kind: "new", text });
  if (a.length * b.length > MOST_CELLS) return [...a.map(gone), ...b.map(fresh)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const below = (i + 1) * width + j;
      common[i * width + j] = a[i] === b[j] ? common[below + 1] + 1 : Math.max(common[below], common[i * width + j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) found.push({ kind: "same", text: a[i++] }) && j++;
    else if (j >= b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) found.push(gone(a[i++]));
    else found.push(fresh(b[j++]));
  }
  return found;
}

// Long stretches without a change become {kind: "fold", count, rows}.
export function folded(rows) {
  const near = rows.map(() => false);
  rows.forEach(({ kind }, at) => {
    if (kind !== "same") for (let i = at - CONTEXT; i <= at + CONTEXT; i++) if (i in near) near[i] = true;
  });
  const found = [];
  rows.forEach((row, at) => {
    if (near[at]) found.push(row);
    else if (found.at(-1)?.kind === "fold") found.at(-1).rows.push(row);
    else found.push({ kind: "fold", rows: [row] });
  });
  return found.flatMap((row) => (row.kind === "fold" && row.rows.length <= CONTEXT ? row.rows : [row]));
}

// [{name, before, after}] of the arguments that were changed, as texts.
export function changesOf(original, edited) {
  const names = [...new Set([...Object.keys(original ?? {}), ...Object.keys(edited ?? {})])];
  const differs = (name) => JSON.stringify(original?.[name] ?? null) !== JSON.stringify(edited?.[name] ?? null);
  return names.filter(differs).map((name) => ({ name, before: asText(original?.[name]), after: asText(edited?.[name]) }));
}
