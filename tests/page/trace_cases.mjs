// Cases for how a run is told: plan, agents, calls, questions. Run by Node and, the same ones, in the browser.
import { doing, duration, endLine, isWaiting, liveLine, routingLine } from "../../static/js/activity.js";
import { optionsOf } from "../../static/js/agents.js";
import { byStage, planRows, progressOf, treeOf, waitsFor } from "../../static/js/plan.js";
import * as edit from "../../static/js/plan_edit.js";
import { EMPTY, FINAL, lastNumbers, reduce } from "../../static/js/store.js";
import { EMPTY_TRACE, applyToTrace } from "../../static/js/trace.js";
import { RUN, delivered, equal, numbered, randomFrom } from "./given.mjs";

const told = (bodies, before = EMPTY_TRACE) => numbered(bodies).reduce(applyToTrace, before);
const step = (id, depends_on = [], stage = 1, more = {}) => ({ id, agent: "web", task: `Do ${id}`, expected_outcome: "", depends_on, tools: [], stage, ...more });
const DIAMOND = [step("a"), step("b", ["a"], 2), step("c", ["a"], 2), step("d", ["a"], 2), step("e", ["b", "c", "d"], 3)];
const overview = (more = {}) => ({ type: "plan_overview", steps: DIAMOND, revision: 0, asks_about: [], notice: "", intent: "", ...more });
const begins = (id) => ({ type: "plan_step", step: DIAMOND.find((one) => one.id === id) ?? step(id) });
const ends = (id, status = "completed", error = null) => ({ type: "plan_step_completed", step_id: id, status, error });
const todo = (states) => ({ type: "todo_update", items: Object.entries(states).map(([id, status]) => ({ id, text: id, status })) });
const root = { type: "agent_state", agent_id: "root", agent_name: "turn", parent_id: null, status: "running" };
const agent = (agent_id, status = "running", more = {}) => ({ type: "agent_state", agent_id, agent_name: "web", parent_id: "root", status, task: "Look", depends_on: [], ...more });
const call = (id, tool = "search", more = {}) => ({ type: "tool_call", agent_id: "w", tool, args: { query: id }, id, ...more });
const result = (id, content = "found", more = {}) => ({ type: "tool_result", agent_id: "w", tool: "search", content, id, is_error: false, clipped: false, ...more });
const question = (more = {}) => ({ type: "interrupt", agent_id: "w", request_id: "r1", kind: "decision", question: "Which?", options: ["A", "B"], details: {}, ...more });
const statuses = (trace, isLive = true) => planRows(trace, isLive).map(({ status }) => status);
const entriesOf = (trace, id = "w") => trace.agents.find((one) => one.id === id).entries;

export const cases = {
  "a plan follows its events"() {
    const trace = told([overview(), begins("a"), ends("a"), begins("b"), begins("c"), ends("c", "failed", "no network"), todo({ d: "skipped" })]);
    equal(statuses(trace), ["completed", "running", "failed", "skipped", "pending"]);
    equal(planRows(trace, true)[2].error, "no network", "error");
    equal(progressOf(planRows(trace, true)), { total: 5, done: 1, failed: 1, skipped: 1, running: 1, waiting: 0 }, "progress");
  },

  "each task has its time"() {
    const [a, b] = planRows(told([overview(), begins("a"), ends("a"), begins("b")]), true);
    equal([a.startedAt, a.endedAt, b.startedAt, b.endedAt], [1001, 1002, 1003, null]);
  },

  "tasks of one stage stand together"() {
    equal(byStage(planRows(told([overview()]), true)).map(({ rows }) => rows.map(({ number }) => number)), [[1], [2, 3, 4], [5]]);
    equal(planRows(told([overview()]), true)[4].after, [2, 3, 4], "waits for");
  },

  "what was added stands behind what had been said, and never behind words that were taken back"() {
    const heard = (at) => ({ type: "stage", agent_id: "w", name: "heard", description: "d", status: "completed", heard: { text: "In metres", at } });
    const reset = (keep, more = {}) => ({ type: "token_reset", agent_id: "w", channel: "answer", keep, ...more });
    const at = (...bodies) => told([heard(16), ...bodies]).added.map(({ text, at }) => [text, at]);
    equal(at(), [["In metres", 16]]);
    equal(at(reset(18), reset(3, { channel: "thinking" }), reset(3, { agent_id: "other" })), [["In metres", 16]]);
    equal(at(reset(3)), [["In metres", 3]]);
  },

  "the checklist takes back nothing that agents told"() {
    const before = [root, overview(), begins("a"), agent("w", "awaiting_user", { step_id: "a" })];
    equal(statuses(told([...before, todo({ a: "running", b: "pending" })]))[0], "awaiting_user");
    equal(statuses(told([overview(), ends("a"), todo({ a: "pending" }), todo({ a: "running" })]))[0], "completed");
    equal(statuses(told([overview(), todo({ a: "completed", b: "deleted" })])).slice(0, 2), ["completed", "deleted"]);
  },

  "whether a task is done is the plan's word, not its agent's"() {
    const trace = told([root, overview(), agent("w", "running", { step_id: "a" }), agent("w", "completed", { step_id: "a" }), ends("a", "failed")]);
    equal(statuses(trace)[0], "failed");
  },

  "a code for an error gives way to the agent's words"() {
    const trace = told([root, overview(), agent("w", "failed", { step_id: "a", error: "The site is down." }), ends("a", "failed", "tool_failed")]);
    equal(planRows(trace, true)[0].error, "The site is down.");
    equal(planRows(told([overview(), ends("a", "failed", "timed_out")]), true)[0].error, "It took too long");
    const coded = told([root, overview(), agent("w", "failed", { step_id: "a", error: "no_code" }), ends("a", "failed", "no_code")]);
    equal(planRows(coded, true)[0].error, "No program was written");
  },

  "a task that people decided against is left out, and the plan says why"() {
    const trace = told([overview(), ends("a", "skipped", "denied_by_user"), ends("b", "skipped", "skipped"), ends("c", "deleted", "deleted")]);
    equal(planRows(trace, true).slice(0, 3).map(({ status, error }) => [status, error]), [["skipped", "It was not allowed"], ["skipped", null], ["deleted", null]]);
    equal(progressOf(planRows(trace, true)).failed, 0);
  },

  "an amended plan keeps what is done and tries anew what failed"() {
    const before = [overview(), begins("a"), ends("a"), begins("b"), ends("b", "failed")];
    const trace = told([...before, overview({ revision: 1, notice: "another way", steps: [...DIAMOND.slice(0, 3), step("f", ["a"], 2)] })]);
    equal(planRows(trace, true).map(({ id, status }) => [id, status]), [["a", "completed"], ["b", "pending"], ["c", "pending"], ["f", "pending"]]);
    equal(trace.plan.amendments.map(({ revision, notice }) => [revision, notice]), [[1, "another way"]], "amendments");
    equal(told([overview({ revision: 2, steps: [] })], trace).plan.steps.length, 0, "newer");
    equal(told([overview({ revision: 0, steps: [] })], trace) === trace, true, "older is ignored");
  },

  "a task that no overview named is shown when it begins"() {
    equal(told([begins("z")]).plan.steps.map(({ id, status }) => [id, status]), [["z", "running"]]);
    equal(told([ends("z"), todo({ z: "running" })]).plan, null, "nothing is known of it");
  },

  "a task whose agent asks waits for a person"() {
    const trace = told([root, overview(), begins("a"), agent("w", "running", { step_id: "a" }), question()]);
    equal(statuses(trace)[0], "awaiting_user");
    equal(statuses(told([{ type: "interrupt_response", request_id: "r1", kind: "decision", status: "answered" }], trace))[0], "running");
  },

  "in a run that is over nothing goes on"() {
    const trace = told([root, overview(), begins("a"), question(), { type: "error", code: "x", message: "y" }]);
    equal(statuses(trace, false), Array(5).fill("skipped"));
    equal([trace.whole, trace.requests[0].status], [true, "expired"]);
  },

  "results find their calls by id, in whatever order they come"() {
    const trace = told([call("1"), call("2"), result("2", "two"), result("1", "one", { is_error: true })]);
    equal(entriesOf(trace).map(({ id, result, status }) => [id, result, status]), [["1", "one", "failed"], ["2", "two", "completed"]]);
    equal(entriesOf(trace).map(({ at, endedAt }) => endedAt - at), [3, 1], "durations");
  },

  "a time is told in the largest unit that it fills"() {
    const told = [0, 1_240, 9_940, 9_960, 59_400, 59_600, 119_700, 3_599_700].map(duration);
    equal(told, ["0.0 s", "1.2 s", "9.9 s", "10 s", "59 s", "1 min 00 s", "2 min 00 s", "1 h 00 min"]);
  },

  "a result without an id belongs to the oldest open call of its tool"() {
    const trace = told([call(null, "fetch"), call(null), call(null), result(null, "one")]);
    equal(entriesOf(trace).map(({ tool, result }) => [tool, result]), [["fetch", null], ["search", "one"], ["search", null]]);
  },

  "what was found done before is marked as such"() {
    const trace = told([call("1"), call("2"), result("1"), result("2", "sent", { already_done: true })]);
    equal(entriesOf(trace).map(({ id, alreadyDone }) => [id, alreadyDone]), [["1", false], ["2", true]]);
  },

  "a result whose call was never told is shown for itself"() {
    equal(entriesOf(told([result("9", "lonely")])).map(({ args, result, status }) => [args, result, status]), [[null, "lonely", "completed"]]);
  },

  "calls belong to the stage in which they were made"() {
    const stage = (name, status) => ({ type: "stage", agent_id: "w", name, description: name, status });
    const trace = told([call("0"), stage("search", "running"), call("1"), stage("read", "running"), call("2", "search", { stage: "search" }), call("3"),
      stage("search", "completed"), stage("read", "failed"), call("4")]);
    const tools = entriesOf(trace).filter(({ kind }) => kind === "tool").map(({ id, stage: parent }) => [id, parent]);
    equal(tools, [["0", null], ["1", 1], ["2", 1], ["3", 3], ["4", null]]);
    equal(entriesOf(trace).filter(({ kind }) => kind === "stage").map(({ status, at, endedAt }) => [status, endedAt - at]), [["completed", 5], ["failed", 4]]);
  },

  "an agent that begins anew leaves nothing running behind"() {
    const trace = told([root, agent("w"), call("1"), { type: "journal_cut", agent_id: "w", path: "0", reason: "other instructions" },
      agent("w", "running", { modified: true, user_comment: "modify" })]);
    equal(entriesOf(trace).map(({ kind, status }) => [kind, status]), [["tool", "cancelled"], ["cut", undefined]]);
    equal(trace.agents[1].modified, true, "modified");
  },

  "what an agent found is listed once, and what it used is added up"() {
    const source = (url) => ({ type: "source", agent_id: "w", source: { type: "web", source: "s", url } });
    const usage = (cost_usd) => ({ type: "usage", agent_id: "w", model: "m", provider: "p", usage: { prompt_tokens: 10, completion_tokens: 1, cost_usd } });
    const [w] = told([source("https://a.example"), source("https://a.example"), source("https://b.example"), usage(0.5), usage(null)]).agents;
    equal([w.sources.length, w.usage], [2, { prompt_tokens: 20, completion_tokens: 2, cost_usd: null }]);
  },

  "agents make a tree, whatever their parents are said to be"() {
    const shape = (nodes) => nodes.map(({ agent: { id }, children }) => (children.length ? [id, shape(children)] : id));
    const under = (id, parent_id) => agent(id, "running", { parent_id });
    equal(shape(treeOf(told([root, under("a", "root"), under("b", "a"), under("c", "a"), under("d", "nobody")]))), [["a", ["b", "c"]], "d"]);
    equal(shape(treeOf(told([root, under("x", "y"), under("y", "x"), under("z", "x")]))), [["x", ["z"]], "y"], "a circle");
    equal(shape(treeOf(told([root, under("s", "s")]))), ["s"], "its own parent");
  },

  "an agent waits for others by their names"() {
    const trace = told([root, overview(), agent("w", "completed", { step_id: "a" }), agent("v", "pending", { step_id: "b", depends_on: ["w"] })]);
    equal(waitsFor(trace, trace.agents[2]), [{ name: "web", number: 1 }]);
    equal(waitsFor(trace, { dependsOn: ["c", "elsewhere"] }), [{ name: "web", number: 3 }, { name: "elsewhere", number: null }]);
  },

  "names that objects are born with are names like others"() {
    for (const name of ["__proto__", "constructor", "toString"]) {
      const trace = told([root, overview({ steps: [step(name)] }), begins(name), agent(name, "running", { agent_name: name, step_id: name }),
        call(name, name, { agent_id: name }), question({ request_id: name, agent_id: name }), ends(name)]);
      equal([statuses(trace), trace.agents.length, trace.agents[1].entries[0].tool, trace.requests[0].id], [["completed"], 2, name, name]);
      equal([liveLine({ trace, status: "running", activity: null }).length > 0, endLine({ trace, startedAt: null, endedAt: null, status: "completed" })], [true, "Plan · 1 of 1 done"]);
    }
    equal(told([{ type: "__proto__" }, { type: "constructor" }, { type: "hologram" }]) === EMPTY_TRACE, true, "types");
  },

  "a question keeps who was asked what, and what they said"() {
    const trace = told([question(), question(), { type: "interrupt_response", request_id: "r1", kind: "decision", status: "answered", choice: "B", text: null }]);
    equal(trace.requests.map(({ status, choice, question: asked, options }) => [status, choice, asked, options]), [["answered", "B", "Which?", ["A", "B"]]]);
  },

  "tokens change nothing in how a run is told"() {
    const before = reduce(EMPTY, { type: "events", events: numbered([root, overview()]) });
    const after = reduce(before, { type: "events", events: numbered([root, overview(), { type: "token", content: "x" }]) });
    equal(after.executions[RUN].trace === before.executions[RUN].trace, true);
  },

  "one line says how it stands"() {
    const live = (bodies, more = {}) => ({ trace: told(bodies), status: "running", activity: null, ...more });
    equal(liveLine(live([])), "Working");
    equal(liveLine(live([], { activity: { kind: "tool", text: "web_search" } })), "Using “Web search”");
    equal(liveLine(live([root, overview(), begins("a"), ends("a"), begins("b")])), "Plan · 1 of 5 done · Web at work");
    equal(liveLine(live([root, overview(), agent("w", "awaiting_user", { step_id: "a" }), question()])), "Plan · 0 of 5 done · Waiting for your answer");
    equal(doing(live([root, question()], { status: "awaiting_user" })), "Waiting for your answer");
    equal(endLine({ trace: told([root, agent("w"), call("1"), call("2")]), startedAt: 0, endedAt: 12_000, status: "completed" }), "Web · 2 tool calls · 12 s");
    equal(endLine({ trace: told([overview(), ends("a"), ends("b", "failed")]), startedAt: 0, endedAt: 61_000, status: "cancelled" }), "Plan · 1 of 5 done · 1 failed · stopped · 1 min 01 s");
    equal(routingLine({ agent: "research", method: "heuristic", confidence: 0.92 }), "Routed to Research · heuristic · 0.92");
  },

  "who waits for a person while others work does not hold up the run"() {
    const both = [root, agent("w"), agent("v"), question()];
    equal(isWaiting({ trace: told(both), status: "running" }), false);
    equal(isWaiting({ trace: told([...both, agent("v", "completed")]), status: "running" }), true);
  },

  "a dropped task hands on what it waited for"() {
    const task = (id, dependsOn) => ({ id, agent: "web", task: id.toUpperCase(), dependsOn, rest: { entities: { of: id } } });
    const steps = [task("a", []), task("b", ["a"]), task("c", ["a", "b"])];
    equal(edit.drop(steps, "b").map(({ id, dependsOn }) => [id, dependsOn]), [["a", []], ["c", ["a"]]]);
    equal(edit.drop(steps, "a")[1].dependsOn, ["b"]);
    equal(edit.drop(edit.unlink(steps, "c", "a"), "b")[1].dependsOn, ["a"], "in a chain");
    equal(edit.unlink(steps, "c", "b")[2].dependsOn, ["a"]);
    equal(edit.add(edit.add(steps, { agent: "code", task: "D" }), { agent: "code", task: "E" }).slice(3).map(({ id, task }) => [id, task]), [["added-1", "D"], ["added-2", "E"]]);
    equal([edit.isChanged(steps, edit.retask(steps, "a", "A")), edit.isChanged(steps, edit.retask(steps, "a", "Z"))], [false, true]);
    equal([edit.faultOf(steps), Boolean(edit.faultOf([])), Boolean(edit.faultOf(edit.retask(steps, "a", " ")))], [null, true, true]);
    equal(edit.asPlan(steps).tasks[1], { entities: { of: "b" }, id: "b", agent: "web", task: "B", depends_on: ["a"] });
  },

  "a task may wait for any other but those that wait for it, however far along"() {
    const task = (id, dependsOn) => ({ id, agent: "web", task: id.toUpperCase(), dependsOn, rest: {} });
    const steps = edit.add([task("a", []), task("b", ["a"]), task("c", ["b"]), task("d", ["done-before"])], { agent: "code", task: "E" });
    const offered = (id) => edit.mayWaitFor(steps, id).map((step) => step.id);
    equal(offered("a"), ["d", "added-1"], "not b, and not c after it");
    equal(offered("c"), ["a", "d", "added-1"], "not what it waits for already");
    equal(offered("added-1"), ["a", "b", "c", "d"], "an added task");
    const linked = edit.link(edit.link(steps, "added-1", "c"), "added-1", "c");
    equal(edit.asPlan(linked).tasks[4].depends_on, ["c"], "once");
    equal(edit.mayWaitFor(linked, "a").map((step) => step.id), ["d"], "the added one waits for it now");
    equal(edit.mayWaitFor([task("only", [])], "only"), [], "nothing to wait for");
  },

  "a mode is asked with its own choices only"() {
    equal(optionsOf("research", { depth: "deep", scenario: "" }), { depth: "deep" });
    equal(optionsOf("research", { depth: "nonsense", scenario: "news" }), { depth: "standard", scenario: "news" });
    equal([optionsOf("chat", { depth: "deep" }), optionsOf("task", { showPlan: true })], [undefined, { show_plan: true }]);
  },

  "how a run is told is the same live, after a reload in the middle, and read when it is over"() {
    for (let seed = 1; seed <= 300; seed++) equal(...sameLiveAndLater(seed));
  },
};

// One run with everything in it, in some order.
function randomBodies(pick) {
  const id = () => ["a", "b", "c", "d", "e"][pick(5)];
  const who = () => ["w", "v"][pick(2)];
  const status = () => ["pending", "running", "awaiting_user", "completed", "failed", "skipped", "deleted"][pick(7)];
  const kinds = [
    () => overview({ revision: pick(3), notice: ["", "amended"][pick(2)] }),
    () => begins(id()),
    () => ends(id(), status()),
    () => todo({ [id()]: status(), [id()]: status() }),
    () => agent(who(), status(), { parent_id: ["root", "w", "v"][pick(3)], step_id: [null, id()][pick(2)], modified: pick(2) === 1 }),
    () => call(id(), ["search", "fetch"][pick(2)], { agent_id: who() }),
    () => result([null, id()][pick(2)], "r", { agent_id: who(), tool: ["search", "fetch"][pick(2)] }),
    () => ({ type: "stage", agent_id: who(), name: id(), description: "d", status: ["running", "completed"][pick(2)] }),
    () => question({ request_id: id(), agent_id: who() }),
    () => ({ type: "interrupt_response", request_id: id(), kind: "decision", status: "answered", choice: "A" }),
    () => ({ type: "journal_cut", agent_id: who(), path: "0", reason: "r" }),
    () => ({ type: "token", agent_id: who(), content: "word " }),
    () => ({ type: "token_reset", agent_id: who(), keep: pick(9), channel: ["answer", "thinking"][pick(2)] }),
    () => ({ type: "stage", agent_id: who(), name: "heard", description: "d", status: "completed", heard: { text: id(), at: pick(9) } }),
    () => ({ type: "novelty", agent_id: who() }),
  ];
  return [root, ...Array.from({ length: 5 + pick(40) }, () => kinds[pick(kinds.length)]()), { type: "complete", answer: "Done.", sources: [], status: "completed" }];
}

function sameLiveAndLater(seed) {
  const pick = randomFrom(seed);
  const events = numbered(randomBodies(pick));
  const execution = { id: RUN, status: "running", last_seq: 0, error: null, usage: null, model: null, started_at: null, ended_at: null };
  const message = (over) => ({ id: "m", parent_id: null, role: "assistant", text: over ? "Done." : "", created_at: "2026-11-01T10:00:00Z",
    execution: over ? { ...execution, status: "completed", last_seq: events.length } : execution, sources: [] });
  let live = reduce(EMPTY, { type: "loaded", messages: [message(false)] });
  while (!FINAL.has(live.executions[RUN].status)) {
    live = reduce(live, { type: "reconnected" });
    if (pick(6) === 0) live = reduce(EMPTY, { type: "loaded", messages: [message(false)] });
    live = reduce(live, { type: "events", events: delivered(pick, events, lastNumbers(live)[RUN] ?? 0) });
  }
  let later = reduce(EMPTY, { type: "loaded", messages: [message(true)] });
  if (later.executions[RUN].trace.whole) throw new Error("nothing was read yet");
  later = reduce(later, { type: "traced", execution_id: RUN, events: events.filter(({ type }) => type !== "token") });
  const heard = live.executions[RUN].trace; // not known to be whole where the line was broken
  return [{ ...heard, whole: true }, later.executions[RUN].trace, `seed ${seed}`];
}
