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
    "{tool} cannot be undone.": "{tool} lässt sich nicht rückgängig machen.",
    "“{name}”": "„{name}“",
    "{count} token": ["{count} Token", "{count} Token"],
    "The budget of this run of {budget} does not suffice for another call.": "Das Budget dieses Laufs von {budget} reicht nicht.",
    "A person chose to finish with what there was.": "Jemand schloss ab.",
    "Try again.": "Noch einmal.",
  },
};
const labels = JSON.stringify({ send_email: "Eine Mail senden" });
globalThis.document = { documentElement: { lang: "de" }, getElementById: (id) => (id === "tool-labels" ? { textContent: labels } : null) };
const { endInOurWords, inOurWords } = await import("../../static/js/told.js");

test("a sentence of ours is said in the page's language, with what was told in it", () => {
  assert.equal(inOurWords("Planning"), "Plant");
  assert.equal(inOurWords("Searching the web for: a (b) {c} $1"), "Durchsucht das Web nach: a (b) {c} $1");
  assert.equal(inOurWords("May the mail agent begin?"), "Darf der Agent mail beginnen?");
});

test("a text of several sentences is said sentence by sentence", () => {
  const told = "This run has used 12,500 tokens, and its budget is $2.50. The moon is full. What shall be done?";
  assert.equal(inOurWords(told), "Dieser Lauf hat 12.500 Token verbraucht, und sein Budget ist $2,50. The moon is full. Was soll geschehen?");
});

test("why an answer ends so is said below it, and what a model quotes stays as it is", () => {
  const end = "The budget of this run of 9,000 tokens does not suffice for another call. A person chose to finish with what there was.";
  assert.equal(endInOurWords(`> Try again.\n\nWords.\n\n> ${end}`), "> Try again.\n\nWords.\n\n> Das Budget dieses Laufs von 9.000 Token reicht nicht. Jemand schloss ab.");
  assert.equal(endInOurWords("Planning\n\n> Try again."), "Planning\n\n> Try again.");
  assert.equal(endInOurWords(""), "");
});

test("figures are written as the page's language does, whatever the browser speaks", async () => {
  const { number } = await import("../../static/js/documents_trace.js");
  const { configOf } = await import("../../static/js/chart_drawing.js");
  const axis = { title: "", min: null, max: null };
  const chart = { kind: "bar", labels: [], series: [], isStacked: false, isSideways: false, x: axis, y: axis, r: axis };
  assert.deepEqual([0.83125, 1234.5, 12345].map(number), ["0,831", "1.235", "12.345"]);
  assert.equal(configOf(chart, { series: [] }, { isStill: true }).options.locale, "de");
});

test("a model's own text stays as it is, and so does nothing at all", () => {
  assert.equal(inOurWords("Planning a holiday?"), "Planning a holiday?");
  assert.equal(inOurWords(""), "");
  assert.equal(inOurWords(undefined), undefined);
});

test("a tool is called as people call it, and one of a connected server by its title or its name in words", async () => {
  const { toolLabel } = await import("../../static/js/tools.js");
  assert.equal(inOurWords("send_email cannot be undone."), "„Eine Mail senden“ lässt sich nicht rückgängig machen.");
  assert.equal(toolLabel("mcp_my_tickets_make_one", "Make a ticket (tickets)"), "Make a ticket (tickets)");
  assert.equal(toolLabel("mcp_github_create_issue"), "Create issue (github)");
  assert.equal(toolLabel("send_email", "Something else"), "Eine Mail senden");
  assert.equal(toolLabel("gone_since_long"), "Gone since long");
});
