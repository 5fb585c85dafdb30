// What a person may want remembered of a decision, from the card to the API's `remember`. Pure.
import { t } from "./i18n.js";

export const SCOPES = [
  { name: "once", words: () => t("Ask me again next time") },
  { name: "run", words: () => t("Remember for this run") },
  { name: "conversation", words: () => t("Remember for this conversation") },
  { name: "rule", words: () => t("Make a rule…") },
];

export const OPS = [
  { name: "equals", words: () => t("is exactly") },
  { name: "one_of", words: () => t("is one of") },
  { name: "domain", words: () => t("has the domain") },
  { name: "starts_with", words: () => t("begins with") },
  { name: "matches", words: () => t("looks like") },
  { name: "at_most", words: () => t("is at most") },
];

// The arguments that a condition can name: {path: value} of texts, numbers, truths and lists of them, one level down.
export function pathsOf(values) {
  const found = {};
  for (const [name, value] of Object.entries(values ?? {})) {
    if (isPlain(value)) found[name] = value;
    else if (value && typeof value === "object" && !Array.isArray(value)) {
      for (const [inner, deep] of Object.entries(value)) if (isPlain(deep)) found[`${name}.${inner}`] = deep;
    }
  }
  return found;
}

const isPlain = (value) => ["string", "number", "boolean"].includes(typeof value) || (Array.isArray(value) && value.every((item) => typeof item === "string"));

const ADDRESS = /^[^@\s]+@([^@\s]+)$/;

// A condition that fits the call as it is: narrow, so that widening it is the person's own doing. `taken`: what has one already.
export function firstCondition(paths, taken = []) {
  const names = Object.keys(paths);
  const left = names.filter((name) => !taken.includes(name));
  const name = (left.length ? left : names).toSorted((one, other) => rankOf(paths[one]) - rankOf(paths[other]))[0];
  return name === undefined ? null : conditionOf(name, paths[name]);
}

// Addresses say most of a call; a text of many lines, or an empty one, is nothing to compare with.
function rankOf(value) {
  if (addressesOf(value).length) return 0;
  const texts = Array.isArray(value) ? value : [value];
  return texts.length && texts.every((item) => String(item).trim() !== "" && !LINE_END.test(item)) ? 1 : 2;
}

const LINE_END = /\r\n|\r|\n/;

export function conditionOf(path, value) {
  const addresses = addressesOf(value);
  if (addresses.length) return { path, op: "domain", value: addresses[0].replace(ADDRESS, "$1") };
  if (typeof value === "number") return { path, op: "at_most", value: String(value) };
  // A field has one line: of more it takes how they begin.
  if (typeof value === "string" && LINE_END.test(value)) return { path, op: "starts_with", value: value.split(LINE_END)[0] };
  return { path, op: Array.isArray(value) ? "one_of" : "equals", value: Array.isArray(value) ? value.join(", ") : String(value) };
}

function addressesOf(value) {
  return (Array.isArray(value) ? value : [value]).filter((item) => typeof item === "string" && ADDRESS.test(item.trim()));
}

// `draft`: {scope, conditions, until (a day, yyyy-mm-dd), uses (text)} → what the API takes, null for "once".
export function rememberOf(draft, paths) {
  if (draft.scope === "once") return null;
  if (draft.scope !== "rule") return { scope: draft.scope };
  return {
    scope: "rule",
    conditions: draft.conditions.map(({ path, op, value }) => ({ path, op, value: asValue(op, value, paths[path]) })),
    ...(draft.until && { until: new Date(`${draft.until}T23:59:59`).toISOString() }),
    ...(draft.uses.trim() && { uses: Number(draft.uses) }),
  };
}

// Typed text as the argument's own type: a rule on a number compares numbers.
function asValue(op, text, known) {
  if (op === "one_of") return text.split(",").map((item) => item.trim()).filter(Boolean).map((item) => typed(item, known));
  if (op === "equals" || op === "at_most") return typed(text.trim(), known);
  return op === "starts_with" ? text : text.trim();
}

function typed(text, known) {
  if (typeof known === "number" && text !== "" && Number.isFinite(Number(text))) return Number(text);
  if (typeof known === "boolean") return text === "true";
  return text;
}

// Why it cannot be sent so, or null.
export function faultOf(draft) {
  if (draft.scope !== "rule") return null;
  if (draft.conditions.some(({ value }) => !value.trim())) return t("A condition is empty: fill it in, or drop it.");
  if (draft.uses.trim() && !/^[1-9]\d*$/.test(draft.uses.trim())) return t("The number of uses is a whole number from 1.");
  if (draft.until && new Date(`${draft.until}T23:59:59`).getTime() < Date.now()) return t("The last day is over already.");
  return null;
}
