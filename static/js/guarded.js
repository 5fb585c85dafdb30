// What guardrails did to a run, in words: line by line for whoever looks closely, and in one for whoever reads the answer. Pure.
import { t, tn } from "./i18n.js";
import { inOurWords } from "./told.js";
import { quotedTool } from "./tools.js";

const ACTIONS = new Map([
  ["block", () => t("Refused")],
  ["warn", () => t("Noticed")],
  ["log", () => t("Noted")],
  ["redact", () => t("Taken out")],
  ["quote", () => t("Made harmless")],
]);
const WHERE = new Map([
  ["input", () => t("in your question")],
  ["output", () => t("in the answer")],
  // What a tool brought is told by the tool's name.
  ["content", () => t("in the project's instructions")],
]);
const VALUES = new Map([
  ["email", (count) => tn("{count} e-mail address", "{count} e-mail addresses", count)],
  ["phone", (count) => tn("{count} phone number", "{count} phone numbers", count)],
  ["card", (count) => tn("{count} card number", "{count} card numbers", count)],
  ["iban", (count) => tn("{count} bank account", "{count} bank accounts", count)],
  ["ssn", (count) => tn("{count} social security number", "{count} social security numbers", count)],
  ["ip", (count) => tn("{count} IP address", "{count} IP addresses", count)],
  ["secret", (count) => tn("{count} secret", "{count} secrets", count)],
]);
const REMOVED = new RegExp(`\\[(${[...VALUES.keys()].join("|")}) removed\\]`, "g");

/** One finding: {action, where, what, count}, each in words; `isGrave` if something was refused. */
export function guardWords({ action, place, tool, reason, count }) {
  const where = tool ? t("in {tool}", { tool: quotedTool(tool) }) : (WHERE.get(place)?.() ?? "");
  return { action: ACTIONS.get(action)?.() ?? action, where, what: inOurWords(reason), count: count > 1 ? `× ${count}` : "", isGrave: action === "block" };
}

/** What was taken out of an answer, told by what stands there instead: "3 e-mail addresses, 1 phone number"; empty if nothing was. */
export function removedWords(text) {
  const counts = new Map();
  for (const [, kind] of text.matchAll(REMOVED)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => VALUES.get(kind)(count)).join(", ");
}
