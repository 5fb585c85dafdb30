// How a search went, as people read it: its stages in order with their times, and why a passage is where it is. Pure.
// What the server calls its stages may grow: a name that is not known here is shown as it is, after those that are.
import { language, t } from "./i18n.js";

const STAGES = {
  query: () => t("What is sought"),
  scope: () => t("Where"),
  words: () => t("How rare each word is"),
  weights: () => t("What counts how much"),
  names: () => t("Documents by name"),
  keyword: () => t("By words"),
  dense: () => t("By meaning"),
  candidates: () => t("Both legs together"),
  fused: () => t("Put together"),
  likeness: () => t("Likeness to the others"),
  rerank: () => t("Ranked anew by a model"),
  passages: () => t("Passages with their neighbours"),
  confidence: () => t("Confidence"),
};
// What a passage's place is made of: its share of the score, and the raw figure behind it.
const LEGS = {
  keyword: { words: () => t("Words"), raw: "bm25", unit: "BM25" },
  dense: { words: () => t("Meaning"), raw: "cosine", unit: "cosine" },
  name: { words: () => t("Name of the file") },
  figures: { words: () => t("Figures") },
  like: { words: () => t("Likeness to the others") },
};
const RAW = new Set(["score", ...Object.values(LEGS).map(({ raw }) => raw)]);

// [{key, title, ms, value}]: `value` is what the stage says of itself.
export function stagesOf(trace) {
  const order = Object.keys(STAGES);
  const rank = (key) => (order.includes(key) ? order.indexOf(key) : order.length);
  return Object.entries(trace ?? {})
    .filter(([key, value]) => key !== "took_ms" && !isEmpty(value))
    .map(([key, value]) => ({ key, title: (STAGES[key]?.() ?? wordsOf(key)), ms: msOf(trace)[key] ?? null, value }))
    .sort((one, other) => rank(one.key) - rank(other.key)); // stable: what is not known stays in its own order
}

// The whole in milliseconds (null if it is not told), and [{name, ms, share}] of its parts.
export function timesOf(trace) {
  const { all = null, ...parts } = msOf(trace);
  const longest = Math.max(0, ...Object.values(parts));
  return { whole: all, parts: Object.entries(parts).map(([key, ms]) => ({ name: (STAGES[key]?.() ?? wordsOf(key)), ms, share: longest ? ms / longest : 0 })) };
}

const msOf = (trace) => (isRecord(trace?.took_ms) ? trace.took_ms : typeof trace?.took_ms === "number" ? { all: trace.took_ms } : {});

// [{leg, rank, figures: [[name, number]]}] of what put a passage where it is. What gave nothing is left out.
export function whyOf(chunk, trace) {
  return Object.entries(chunk.why ?? {})
    .filter(([key, value]) => !RAW.has(key) && value !== null && value !== undefined && value !== 0)
    .map(([key, value]) => {
      const { words, raw, unit } = LEGS[key] ?? { words: () => wordsOf(key) };
      const found = Array.isArray(trace?.[key]) ? trace[key].find(({ chunk_id }) => chunk_id === chunk.chunk_id) : null;
      const figures = isRecord(value) ? Object.entries(value).filter(([name]) => name !== "rank") : [[t("share"), value]];
      const behind = raw && typeof chunk.why[raw] === "number" ? [[unit, chunk.why[raw]]] : [];
      return { leg: words(), rank: value.rank ?? found?.rank ?? null, figures: [...behind, ...figures] };
    });
}

export function wordsOf(key) {
  const words = String(key).replaceAll("_", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Numbers as short as they stay honest.
export function number(value) {
  if (Number.isInteger(value)) return value.toLocaleString(language);
  const size = Math.abs(value);
  if (size >= 100) return value.toLocaleString(language, { maximumFractionDigits: 0 });
  return value.toLocaleString(language, { maximumSignificantDigits: 3, notation: size < 1e-6 ? "scientific" : "standard" });
}

export const milliseconds = (ms) => `${number(ms)} ms`;

// How a value is drawn: "text", "list" (of plain values), "table" (of objects), "pairs" (an object of plain values),
// "record" (any other object) or "number".
export function shapeOf(value) {
  if (typeof value === "number") return "number";
  if (Array.isArray(value)) return value.length && value.every(isRecord) ? "table" : "list";
  if (!isRecord(value)) return "text";
  return Object.values(value).some((one) => typeof one === "object" && one !== null) ? "record" : "pairs";
}

// The columns of a table of objects, in the order in which they first come.
export const columnsOf = (rows) => [...new Set(rows.flatMap((row) => Object.keys(row)))];

// [{text, hit}]: a passage cut where a word of the query begins or ends. Short words are in every sentence.
export function marked(text, query) {
  const told = query.toLocaleLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const words = [...new Set(told.filter((word) => word.length > 3 || /\p{N}|[^\p{Script=Latin}]/u.test(word)))].sort((one, other) => other.length - one.length);
  if (!words.length) return [{ text, hit: false }];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(pattern).map((piece, at) => ({ text: piece, hit: at % 2 === 1 })).filter((piece) => piece.text);
}

// What the API takes, of a form's fields as [name, value].
export function wantedOf(fields, documentId) {
  const given = Object.fromEntries([...fields].map(([name, value]) => [name, String(value).trim()]).filter(([, value]) => value));
  const filters = Object.fromEntries(["doc_type", "filename", "date_from", "date_to"].filter((name) => given[name]).map((name) => [name, given[name]]));
  return {
    query: given.q ?? "",
    mode: given.mode ?? "hybrid",
    explain: true,
    ...(given.top_k && { top_k: Number(given.top_k) }),
    ...(given.rerank && { rerank: true }),
    ...(documentId && { document_ids: [documentId] }),
    ...(Object.keys(filters).length && { filters }),
  };
}

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isEmpty = (value) => value === null || value === "" || (Array.isArray(value) && !value.length) || (isRecord(value) && !Object.keys(value).length);
