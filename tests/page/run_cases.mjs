// Cases for the run view: the replay, its clock, the graph, the list of steps, and what another try would keep.
import { againOf, recordedWords, stepFor } from "../../static/js/run/again.js";
import { clockOf, waitsOf } from "../../static/js/run/clock.js";
import { lanesOf, seenMarks, ticksOf } from "../../static/js/run/lanes.js";
import { NODE, layoutOf, linesOf, neighbour } from "../../static/js/run/layout.js";
import { readLog } from "../../static/js/run/log.js";
import { createOpenRun } from "../../static/js/run/place.js";
import { createReplay } from "../../static/js/run/replay.js";
import { createRun } from "../../static/js/run/run.js";
import { chosenSteps, countedByGroup, piecesOf, stepsOf } from "../../static/js/run/steps.js";
import { applyEvent } from "../../static/js/store.js";
import { EMPTY_TRACE, applyToTrace } from "../../static/js/trace.js";
import { signal } from "../../static/vendor/preact.js";
import { RUN, equal, numbered, randomFrom } from "./given.mjs";

const told = (bodies) => numbered(bodies).reduce(applyToTrace, EMPTY_TRACE);
const root = { type: "agent_state", agent_id: "root", agent_name: "turn", parent_id: null, status: "running" };
const agent = (agent_id, status, more = {}) => ({ type: "agent_state", agent_id, agent_name: agent_id, parent_id: "root", status, task: `Do ${agent_id}`, depends_on: [], ...more });
const call = (agent_id, id, tool = "search") => ({ type: "tool_call", agent_id, tool, args: { query: `about ${id}` }, id });
const result = (agent_id, id, more = {}) => ({ type: "tool_result", agent_id, tool: "search", content: "found", id, ...more });
const token = (content, agent_id = "chat") => ({ type: "token", agent_id, content });
const asked = (agent_id, timestamp) => ({ type: "interrupt", agent_id, request_id: "r", kind: "decision", question: "Which?", options: [], timestamp });
const answered = (agent_id, timestamp) => ({ type: "interrupt_response", agent_id, request_id: "r", kind: "decision", status: "answered", timestamp });
const names = (agents) => agents.map(({ id }) => id).join(" ");
const task = (id, ...dependsOn) => ({ id, dependsOn });
const DIAMOND = [task("a"), task("b", "a"), task("c", "a"), task("d", "a"), task("e", "b", "c", "d")];

// A run with a bit of everything, as chance has it; it ends well.
function randomRun(pick, length) {
  const bodies = [root, { type: "status_changed", status: "running" }];
  for (let at = 0; at < length; at += 1) {
    const id = `w${pick(4)}`;
    bodies.push([
      () => agent(id, ["running", "awaiting_user", "completed", "failed"][pick(4)]),
      () => call(id, `c${pick(20)}`),
      () => result(id, `c${pick(20)}`, { is_error: pick(5) === 0 }),
      () => token(`word${at} `, id),
      () => ({ type: "token_reset", agent_id: id, keep: pick(30) }),
      () => ({ type: "terminal_command", agent_id: id, command: "ls", id: `p${pick(3)}` }),
      () => ({ type: "terminal_output", agent_id: id, content: "line\n", id: `p${pick(3)}` }),
      () => ({ type: "usage", agent_id: id, model: "m", provider: "p", usage: { prompt_tokens: 3, completion_tokens: 1, cost_usd: 0.1 } }),
      () => ({ type: "plan_overview", steps: [{ id: "a", agent: "web", task: "A" }, { id: "b", agent: "web", task: "B", depends_on: ["a"] }], revision: pick(3) }),
      () => ({ type: "plan_step_completed", step_id: "a", status: "completed" }),
      () => asked(id, 1000 + at), () => answered(id, 1000 + at),
    ][pick(12)]());
  }
  return numbered([...bodies, { type: "complete", answer: "Done.", usage: { prompt_tokens: 3, completion_tokens: 1, cost_usd: null } }]);
}

// How a log is read from a server that gives so many events at a time.
function serverOf(events, { most = 500, asked: paths = [] } = {}) {
  return async (after) => {
    paths.push(after);
    const results = events.filter(({ seq }) => seq > after).slice(0, most);
    return { results, next: results.length && results.at(-1).seq < events.length ? "more" : null };
  };
}

export const cases = {
  "the state at every position is the fold of the events before it"() {
    for (let seed = 1; seed <= 12; seed += 1) {
      const pick = randomFrom(seed);
      const events = randomRun(pick, 120);
      const replay = createReplay(RUN, 16);
      equal(replay.extend(events), events.length, "length");
      const fresh = createReplay(RUN).at(0);
      const folds = [fresh];
      for (const event of events) folds.push(applyEvent(folds.at(-1), event));
      for (let look = 0; look < 200; look += 1) {
        const position = pick(events.length + 1);
        equal(replay.at(position), folds[position], `seed ${seed}, position ${position}`);
      }
    }
  },

  "a replay takes what comes later, and nothing twice or out of order"() {
    const events = randomRun(randomFrom(3), 40);
    const replay = createReplay(RUN, 8);
    replay.extend(events.slice(0, 20));
    replay.at(20);
    replay.extend([...events.slice(10, 30), events[35]]);
    equal(replay.length, 30);
    replay.extend(events.slice(28));
    equal(replay.at(replay.length).status, "completed");
    equal(replay.at(events.length + 5), replay.at(events.length), "beyond the end");
  },

  "a moment leads to what was told by then"() {
    const replay = createReplay(RUN);
    replay.extend(numbered([root, token("a"), { ...token("b"), timestamp: 900 }, { ...token("c"), timestamp: 5000 }]));
    equal([replay.positionAt(0), replay.positionAt(1001), replay.positionAt(4999), replay.positionAt(5000)], [0, 3, 3, 4]);
    equal([replay.timeOf(0), replay.timeOf(3), replay.timeOf(4)], [1000, 1001, 5000]);
  },

  async "a log is read whole by pages that are known and by those that are not"() {
    const events = numbered(Array.from({ length: 1730 }, (_, at) => token(`${at}`)));
    for (const [until, most] of [[0, 500], [1730, 500], [1200, 500], [1730, 130], [9000, 500]]) {
      const found = [];
      const last = await readLog({ read: serverOf(events, { most }), until, found: (more) => found.push(...more) });
      equal([last, found.length, found.every(({ seq }, at) => seq === at + 1)], [1730, 1730, true], `until ${until}, pages of ${most}`);
    }
    const more = [];
    equal(await readLog({ read: serverOf(events), after: 1700, found: (part) => more.push(...part) }), 1730);
    equal(more.length, 30, "what came since");
  },

  "waits for people are the spans in which nothing else happened"() {
    const trace = told([
      { ...root, timestamp: 0 }, agent("a", "running", { timestamp: 0 }), agent("b", "running", { timestamp: 100 }), asked("a", 1_000),
      { ...call("b", "1"), timestamp: 8_000 }, { ...result("b", "1"), timestamp: 9_000 }, answered("a", 60_000), { type: "complete", answer: "x", timestamp: 61_000 },
    ]);
    equal(waitsOf(trace, 61_000), [{ from: 1_000, to: 8_000 }, { from: 9_000, to: 60_000 }]);
  },

  "a clock that skips the waits shows the rest as it went, and leads back"() {
    const times = { start: 1_000, end: 101_000, waits: [{ from: 11_000, to: 91_000 }] };
    const plain = clockOf({ ...times, skips: false });
    const short = clockOf({ ...times, skips: true });
    equal([plain.total, short.total], [100_000, 21_000]);
    equal([short.playedAt(6_000), short.playedAt(51_000), short.playedAt(101_000)], [5_000, 10_500, 21_000]);
    for (const moment of [0, 4_999, 10_250, 10_999, 11_000, 21_000]) equal(short.playedAt(short.timeAt(moment)), moment, `moment ${moment}`);
    equal([plain.placeOf(0), plain.placeOf(51_000), plain.placeOf(999_999)], [0, 0.5, 1]);
    equal(clockOf({ start: 5, end: 5, waits: [], skips: true }).placeOf(5), 0, "no time at all");
  },

  "lanes stand below their parents and hold their calls and waits"() {
    const trace = told([root, agent("a", "running"), agent("b", "running", { parent_id: "a" }), call("b", "1"), asked("a", 1004), agent("b", "failed", { parent_id: "a" }), agent("c", "pending")]);
    const lanes = lanesOf(trace, 2_000, true);
    equal(lanes.map((lane) => [lane.agent.id, lane.depth, lane.status, lane.from, lane.to]), [
      ["root", 0, "running", 1000, 2000], ["a", 1, "awaiting_user", 1001, 2000], ["b", 2, "failed", 1002, 1005], ["c", 1, "pending", null, null],
    ]);
    equal(lanes[1].waits, [{ from: 1004, to: 2000 }]);
    equal(lanes[2].marks.map(({ at }) => at), [1003]);
  },

  "marks that lie upon each other are one, and a failure is seen"() {
    const marks = Array.from({ length: 5_000 }, (_, at) => ({ at, kind: "tool", status: at === 77 ? "failed" : "completed" }));
    const seen = seenMarks(marks, (at) => at / 5_000, 100);
    equal(seen.length, 101);
    equal(seen.filter(({ group }) => group === "failed").length, 1);
  },

  "an axis has few and round marks"() {
    equal(ticksOf(42_000), [0, 10_000, 20_000, 30_000, 40_000]);
    for (const total of [0, 1, 90, 3_500, 61_000, 9e6, 4e8, 9e10]) equal(ticksOf(total).length <= 7, true, `of ${total}`);
  },

  "a graph stands in layers, none over another"() {
    const layout = layoutOf(DIAMOND);
    equal(layout.layers, [["a"], ["b", "c", "d"], ["e"]]);
    const middle = (id) => layout.nodes.get(id).x + NODE.width / 2;
    equal([middle("a"), middle("e")], [middle("c"), middle("c")], "the middle");
    equal(layout.edges.length, 6);
    equal(layout.edges.every(({ path }) => /^M[\d.]+ [\d.]+C/.test(path) && !path.includes("NaN")), true, "curves");
  },

  "whatever depends on whatever, the graph is drawn"() {
    for (let seed = 1; seed <= 60; seed += 1) {
      const pick = randomFrom(seed);
      const count = 1 + pick(14);
      const tasks = Array.from({ length: count }, (_, at) => task(`t${at}`, ...Array.from({ length: pick(4) }, () => `t${pick(seed % 7 === 0 ? count : Math.max(1, at))}`), ...(pick(9) ? [] : ["nobody"])));
      const layout = layoutOf(tasks);
      equal(layout.nodes.size, count, "all are there");
      for (const row of layout.layers) {
        const xs = row.map((id) => layout.nodes.get(id).x);
        equal(xs.every((x, at) => x >= 0 && x + NODE.width <= layout.width && (at === 0 || x >= xs[at - 1] + NODE.width)), true, `seed ${seed}: ${xs}`);
      }
      for (const { from, to } of layout.edges) equal(layout.nodes.get(from).layer < layout.nodes.get(to).layer, true, "down");
    }
    equal(layoutOf([]).layers, []);
    equal(layoutOf([task("a", "b"), task("b", "a")]).nodes.size, 2, "a circle");
  },

  "arrows walk along the edges"() {
    const layout = layoutOf(DIAMOND);
    const walk = (from, ...keys) => keys.reduce((id, key) => neighbour(layout, DIAMOND, id, key) ?? id, from);
    equal([walk("a", "ArrowDown"), walk("b", "ArrowRight"), walk("d", "ArrowDown"), walk("e", "ArrowUp", "ArrowUp")], ["c", "c", "e", "a"]);
    equal([neighbour(layout, DIAMOND, "a", "ArrowUp"), neighbour(layout, DIAMOND, "b", "ArrowLeft")], [null, null]);
  },

  "a text is cut into lines"() {
    equal(linesOf("Find recent benchmarks and prices", 12, 2), ["Find recent", "benchmarks…"]);
    equal(linesOf("Short", 12, 2), ["Short"]);
    equal(linesOf("Donaudampfschifffahrt", 8, 2), ["Donauda…"]);
    equal(linesOf("", 8, 2), [""]);
  },

  "all that was done and asked is one list, to be searched"() {
    const trace = told([root, agent("a", "running"), agent("b", "running"), call("b", "one", "fetch"), call("a", "two"), result("b", "one", { tool: "fetch", content: "Prices" }), asked("a", 1006),
      { type: "usage", agent_id: "a", model: "gpt", provider: "p", usage: { prompt_tokens: 1, completion_tokens: 1, cost_usd: 0 } }]);
    const steps = stepsOf(trace);
    equal(steps.map(({ group, agentId }) => `${group} ${agentId}`), ["tool b", "tool a", "question a", "model a"]);
    const chosen = (wanted) => chosenSteps(steps, wanted).map(({ group }) => group);
    equal([chosen({ query: "PRICES one" }), chosen({ agentId: "a" }), chosen({ group: "tool" }), chosen({ query: "nowhere" })], [["tool"], ["tool", "question", "model"], ["tool", "tool"], []]);
    equal(countedByGroup(steps).get("tool"), 2);
    equal(piecesOf([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]);
  },

  "who saw what is done anew does its work anew too"() {
    const trace = told([
      root, agent("plan", "running"), agent("plan", "completed"),
      agent("a", "pending"), agent("b", "pending", { depends_on: ["a"] }), agent("c", "pending"), agent("d", "pending", { depends_on: ["b", "c"] }),
      agent("a", "running"), agent("a", "completed"), agent("b", "running"), agent("b1", "running", { parent_id: "b" }), agent("b1", "completed", { parent_id: "b" }),
      agent("c", "running"), agent("c", "completed"), agent("b", "failed"), agent("d", "skipped"), agent("composer", "running"), agent("composer", "completed"),
    ]);
    const again = againOf(trace, "b");
    equal([names(again.anew), names(again.onward), names(again.kept)], ["b d b1 composer", "root", "plan a c"]);
    const first = againOf(trace, "a");
    equal([names(first.anew), names(first.kept)], ["a b d b1 composer", "plan c"]);
    equal(againOf(trace, "nobody").kept.length, trace.agents.length);
  },

  "from a step on, an agent keeps what it did before"() {
    const trace = told([root, agent("a", "running"), call("a", "1"), agent("early", "running", { parent_id: "a" }), agent("early", "completed", { parent_id: "a" }), call("a", "2"), agent("late", "running", { parent_id: "a" }), agent("a", "completed"), agent("z", "running")]);
    const again = againOf(trace, "a", 1005);
    equal([names(again.anew), names(again.onward), names(again.kept)], ["late z", "root a", "early"]);
  },

  "the recorded step of a call is the nearest of its name"() {
    const step = (path, kind, name, at) => ({ path, kind, name, started_at: new Date(at).toISOString(), ended_at: new Date(at + 50).toISOString() });
    const steps = [step("0", "note", "start", 1_000), step("1", "model", "agent", 1_100), step("2", "tool", "search", 1_200), step("3", "model", "agent", 1_400), step("4", "tool", "search", 1_600)];
    const at = (entry) => stepFor(steps, entry)?.path;
    equal([at({ kind: "tool", tool: "search", at: 1_590 }), at({ kind: "tool", tool: "search", at: 1_205 }), at({ kind: "model", at: 1_452 }), at({ kind: "stage", at: 1_130 })], ["4", "2", "3", "1"]);
    equal(stepFor([], { kind: "tool", tool: "x", at: 1 }), null);
  },

  "a recorded step is called as people call it"() {
    const words = (kind, name, request = null) => recordedWords({ path: "1.2", kind, name, request });
    equal([words("tool", "web_search", '{"query":\n "x"}'), words("model", "agent"), words("ask", "approval"), words("fork", "rag", "x".repeat(80)), words("note", "sandbox_lacks"), words("later", "kind")],
      ['1.2 · Web search · {"query": "x"}', "1.2 · Asked the model", "1.2 · A question", `1.2 · Began the agent Documents · ${"x".repeat(60)}`, "1.2 · Noted: sandbox lacks", "1.2 · later kind"]);
  },

  async "of a run that is read by hand as well only one round goes on"() {
    const { setTimeout: set, clearTimeout: clear } = globalThis;
    const waiting = new Set();
    let last = 0;
    globalThis.setTimeout = () => waiting.add(++last) && last;
    globalThis.clearTimeout = (id) => waiting.delete(id);
    try {
      const run = createRun({ executionId: RUN, session: { state: signal({ executions: {} }) }, api: { listEventsAfter: async () => ({ results: [], next: null }) } });
      while (run.reading.value) await null;
      await null;
      await run.read();
      await run.read();
      equal(waiting.size, 1, "rounds that wait");
    } finally {
      Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
    }
  },

  "the address says which run is open, and back closes it"() {
    const entries = [{ url: "/c/1/?x=1#a", state: null }];
    const location = { get pathname() { return "/c/1/"; }, get search() { return new URL(entries.at(-1).url, "http://x").search; }, get hash() { return "#a"; } };
    const history = {
      get state() { return entries.at(-1).state; },
      pushState: (state, _, url) => entries.push({ state, url }),
      replaceState: (state, _, url) => entries.splice(-1, 1, { state, url }),
      back: () => entries.pop(),
    };
    const place = createOpenRun({ location, history });
    equal(place.openRun.value, null);
    place.openRun.value = RUN;
    place.openRun.value = RUN.replace("1", "2");
    equal([entries.length, entries.at(-1).url], [2, `/c/1/?x=1&run=${RUN.replace("1", "2")}#a`]);
    place.openRun.value = null;
    equal([entries.length, entries.at(-1).url, place.openRun.value], [1, "/c/1/?x=1#a", null]);
    entries.push({ state: null, url: `/c/1/?run=${RUN}` });
    place.follow();
    equal(place.openRun.value, RUN, "a link");
    place.openRun.value = null;
    equal(entries.at(-1).url, "/c/1/#a", "what was not opened here leaves its address");
  },
};
