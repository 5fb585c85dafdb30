// Cases for what people are asked: the words, the fields of a call's arguments, what was changed, what is remembered. Run in the browser.
import { deciders, lateWords, outcome } from "../../static/js/approvals.js";
import { hasHidden, revealed } from "../../static/js/plain_text.js";
import { createRequests } from "../../static/js/requests.js";
import { argumentsOf, draftsOf, faultsByField, fieldsOf } from "../../static/js/schema_fields.js";
import { conditionOf, faultOf, firstCondition, pathsOf, rememberOf } from "../../static/js/standing.js";
import { changesOf, folded, lineDiff } from "../../static/js/text_diff.js";
import { EMPTY_TRACE, applyToTrace } from "../../static/js/trace.js";
import { ago, fromNow, laterChoices } from "../../static/js/when.js";
import { equal, numbered, randomFrom } from "./given.mjs";

const NOW = Date.parse("2026-11-20T12:00:00Z");
const at = (seconds) => new Date(NOW + seconds * 1000).toISOString();
const required = (id, more = {}) => ({ type: "hitl_required", request_id: id, agent_name: "mail", agent_id: "w", tool_names: ["send_email"], task_description: "Write", ...more });
const told = (bodies) => numbered(bodies).reduce(applyToTrace, EMPTY_TRACE);

const SCHEMA = {
  $defs: { Size: { enum: ["small", "large"] } },
  required: ["to", "subject", "size"],
  properties: {
    to: { type: "array", items: { type: "string" } },
    subject: { type: "string" },
    body: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
    count: { anyOf: [{ type: "integer" }, { type: "null" }] },
    size: { $ref: "#/$defs/Size" },
    urgent: { type: "boolean" },
    more: { type: "object" },
  },
};
const VALUES = { to: ["bob@example.com"], subject: "Hello", size: "small", urgent: false, more: { a: 1 }, unknown: [1] };

export const cases = {
  "approvals of one answer of the model make a batch, later ones another"() {
    const { requests } = told([required("a"), required("b"), { type: "hitl_approved", request_id: "a", agent_id: "w" }, { type: "hitl_denied", request_id: "b", agent_id: "w", reason: "No" }, required("c"), required("d", { agent_id: "v" })]);
    equal(requests.map(({ id, batch, status, text }) => [id, batch, status, text]), [["a", "a", "approved", null], ["b", "a", "denied", "No"], ["c", "c", "pending", null], ["d", "d", "pending", null]]);
  },

  async "what comes while a run's requests are read is read with the next reading, for all who ask meanwhile"() {
    const answers = [];
    const requests = createRequests({ listRequests: () => new Promise((answer) => answers.push((...ids) => answer({ results: ids.map((id) => ({ request_id: id })), next: null }))) });
    const asked = ["first", "second", "third"].map(() => requests.loadRun("run"));
    answers[0]("a");
    await asked[0];
    equal([[...requests.known.value.keys()], answers.length], [["a"], 2]);
    answers[1]("a", "b");
    await Promise.all(asked);
    equal([[...requests.known.value.keys()], answers.length], [["a", "b"], 2]);
  },

  "a run that is over waits for no approval"() {
    const { requests, agents } = told([required("a"), { type: "complete", answer: "Done" }]);
    equal([requests[0].status, agents[0].entries[0].status], ["expired", "expired"]);
  },

  "a timeout is nobody's no"() {
    const { words, who } = outcome({ status: "timed_out", decided_by: null, decided_by_name: "" }, "1");
    equal([words, who], ["Nobody decided in time", ""]);
    equal(lateWords({ status: "timed_out" }, "1"), "Nobody decided in time. Your answer changed nothing.");
  },

  "an outcome says who, by which door, and whether it was changed"() {
    const by = { status: "approved", decided_by: "2", decided_by_name: "Bob", decided_via: "admin", edited_arguments: null };
    equal(outcome(by, "1"), { words: "Approved", who: "by Bob in the administration", edited: false });
    equal(outcome({ ...by, decided_via: "page", edited_arguments: {} }, "2"), { words: "Approved with changes", who: "by you", edited: true });
    equal(lateWords(by, "1"), "Approved by Bob in the administration meanwhile. Your answer changed nothing.");
  },

  "who may decide is said"() {
    equal(deciders({ approvers: { kind: "role", name: "reviewer", different_person: true } }), "a reviewer, but not you");
    equal(deciders({ approvers: { kind: "group", name: "Finance" } }), "anybody of the group Finance");
    equal(deciders({ approvers: { kind: "self" } }), "you alone");
  },

  "each argument has the field that fits its schema"() {
    const kinds = fieldsOf(SCHEMA, { ...VALUES, body: "a\nb" }).map(({ name, kind, nullable, required: must }) => [name, kind, nullable, must]);
    equal(kinds, [["to", "list", false, true], ["subject", "text", false, true], ["body", "long", true, false], ["count", "integer", true, false], ["size", "choice", false, true], ["urgent", "boolean", false, false], ["more", "json", false, false]]);
    equal(fieldsOf({ type: "string" }, {}), null, "no object");
    equal(fieldsOf({ properties: { x: { $ref: "#/$defs/Nowhere" } } }, {})[0].kind, "json", "a reference that leads nowhere");
  },

  "arguments that nobody touched come back as they were"() {
    const fields = fieldsOf(SCHEMA, VALUES);
    equal(argumentsOf(fields, draftsOf(fields, VALUES), VALUES), { arguments: VALUES, faults: {} });
  },

  "what was typed becomes the argument's own type, or a fault at its field"() {
    const fields = fieldsOf(SCHEMA, VALUES);
    const drafts = { ...draftsOf(fields, VALUES), count: "3", more: "{", urgent: true, size: "large" };
    const { arguments: found, faults } = argumentsOf(fields, drafts, VALUES);
    equal([found.count, found.urgent, found.size, Object.keys(faults)], [3, true, "large", ["more"]]);
    equal(argumentsOf(fields, { ...drafts, count: "3.5" }, VALUES).faults.count, "“3.5” is not a whole number.");
  },

  "the server's faults stand at their fields"() {
    const found = faultsByField({ "edited_arguments.to.0": ["Not an address."], "edited_arguments.new": ["Unknown."], instructions: ["Too long."] }, ["to", "subject"]);
    equal(found, { to: ["Not an address."], "": ["Unknown.", "Too long."] });
  },

  "a diff applied to the text before gives the text after"() {
    for (let seed = 1; seed <= 300; seed++) {
      const pick = randomFrom(seed);
      const text = () => Array.from({ length: pick(12) }, () => "abcd"[pick(4)]).join("\n");
      const [before, after] = [text(), text()];
      const rows = lineDiff(before, after);
      const side = (other) => rows.filter(({ kind }) => kind !== other).map(({ text: line }) => line).join("\n");
      equal([side("new"), side("gone")], [before, after], `seed ${seed}`);
    }
  },

  "long stretches without a change are folded and can be opened"() {
    const before = Array.from({ length: 30 }, (_, line) => `line ${line}`).join("\n");
    const rows = folded(lineDiff(before, before.replace("line 15", "other")));
    equal(rows.filter(({ kind }) => kind === "fold").map(({ rows: inside }) => inside.length), [12, 11]);
  },

  "changes are named by argument"() {
    equal(changesOf({ a: "x", b: [1, 2], c: 1 }, { a: "y", b: [1, 2], d: null }), [{ name: "a", before: "x", after: "y" }, { name: "c", before: "1", after: "" }]);
  },

  "signs that deceive are named"() {
    equal(revealed("bob\u202Emoc.elpmaxe@"), "bob⟨U+202E⟩moc.elpmaxe@");
    equal([hasHidden("a\u200Bb"), hasHidden("Grüße, 你好\n\tمرحبا 👩‍💻")], [true, false]);
  },

  "a rule begins as narrow as the call"() {
    const paths = pathsOf({ body: "x", to: ["bob@example.com"], deep: { size: 3, list: [{}] }, none: null });
    equal(Object.keys(paths), ["body", "to", "deep.size"]);
    equal(firstCondition(paths), { path: "to", op: "domain", value: "example.com" });
    equal(firstCondition(paths, ["to"]), { path: "body", op: "equals", value: "x" });
    equal(firstCondition(paths, ["to", "body"])?.path, "deep.size");
    equal(conditionOf("deep.size", 3), { path: "deep.size", op: "at_most", value: "3" });
  },

  "a rule about a file begins with its path, and with how its text begins where that is wanted"() {
    const paths = pathsOf({ content: "  Hello\r\nWorld\n", note: " ", path: "notes/a.md", scope: "conversation" });
    equal(firstCondition(paths), { path: "path", op: "equals", value: "notes/a.md" });
    const condition = conditionOf("content", paths.content);
    equal(condition, { path: "content", op: "starts_with", value: "  Hello" });
    equal(rememberOf({ scope: "rule", conditions: [condition], until: "", uses: "" }, paths).conditions, [condition]);
  },

  "what is remembered has the types of the arguments"() {
    const draft = { scope: "rule", conditions: [{ path: "n", op: "at_most", value: "5" }, { path: "t", op: "one_of", value: "a, b" }], until: "", uses: "7" };
    equal(rememberOf(draft, { n: 3, t: "a" }), { scope: "rule", conditions: [{ path: "n", op: "at_most", value: 5 }, { path: "t", op: "one_of", value: ["a", "b"] }], uses: 7 });
    equal([rememberOf({ ...draft, scope: "once" }, {}), rememberOf({ ...draft, scope: "run" }, {})], [null, { scope: "run" }]);
    equal([faultOf({ ...draft, uses: "0" }) !== null, faultOf({ ...draft, conditions: [{ value: " " }] }) !== null, faultOf(draft)], [true, true, null]);
  },

  "times are said as people say them"() {
    equal([fromNow(at(3 * 86_400 + 5), NOW), fromNow(at(90), NOW), fromNow(at(40), NOW), fromNow(at(-5), NOW)], ["in 3 days", "in a minute", "in 40 seconds", "now"]);
    equal([30 * 86_400 - 5, 86_400 - 5, 1.6 * 86_400, 4 * 3_600 - 5].map((left) => fromNow(at(left), NOW)), ["in 30 days", "in a day", "in 2 days", "in 4 hours"]);
    equal([ago(at(-20), NOW), ago(at(-7_300), NOW)], ["just now", "2 hours ago"]);
  },

  "nothing is put off beyond its end"() {
    equal(laterChoices(NOW, at(2 * 3_600)).map(({ label }) => label), ["In an hour"]);
    equal(laterChoices(NOW, null).length, 5);
  },
};
