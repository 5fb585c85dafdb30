// What runs tell in sentences of ours, in the language of the page that shows it.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.hyperagentMessages = {
  language: "de",
  plural: (n) => Number(n !== 1),
  messages: {
    Planning: "Plant",
    "Searching the web for: {query}": "Durchsucht das Web nach: {query}",
    "May the {agent} agent begin?": "Darf der Agent {agent} beginnen?",
    "This run has used {used}, and its budget is {budget}.": "Dieser Lauf hat {used} verbraucht, und sein Budget ist {budget}.",
    "What shall be done?": "Was soll geschehen?",
    "{count} token": ["{count} Token", "{count} Token"],
  },
};
globalThis.document = { documentElement: { lang: "de" } };
const { inOurWords } = await import("../../static/js/told.js");

test("a sentence of ours is said in the page's language, with what was told in it", () => {
  assert.equal(inOurWords("Planning"), "Plant");
  assert.equal(inOurWords("Searching the web for: a (b) {c} $1"), "Durchsucht das Web nach: a (b) {c} $1");
  assert.equal(inOurWords("May the mail agent begin?"), "Darf der Agent mail beginnen?");
});

test("a text of several sentences is said sentence by sentence", () => {
  const told = "This run has used 12,500 tokens, and its budget is $2.50. The moon is full. What shall be done?";
  assert.equal(inOurWords(told), "Dieser Lauf hat 12.500 Token verbraucht, und sein Budget ist $2,50. The moon is full. Was soll geschehen?");
});

test("a model's own text stays as it is, and so does nothing at all", () => {
  assert.equal(inOurWords("Planning a holiday?"), "Planning a holiday?");
  assert.equal(inOurWords(""), "");
  assert.equal(inOurWords(undefined), undefined);
});
