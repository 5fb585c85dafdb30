// Cases for the page's reducer: run by `node --test` (store.test.mjs) and, the same ones, in the browser (test_store.py).
import { EMPTY, FINAL, answerText, applyEvent, hasGap, lastNumbers, lastTimes, partsOf, reduce, streamedText, transcript } from "../../static/js/store.js";
import { RUN, delivered, equal, numbered, randomFrom } from "./given.mjs";
import { summary } from "./summaries.mjs";

const user = (id, parent_id, text = "Why?", client_id = null) =>
  ({ id, parent_id, role: "user", text, created_at: "2026-11-01T10:00:00Z", mode: "chat", client_id, execution: null, sources: [] });
const run = (id, status = "pending", more = {}) =>
  ({ id, status, last_seq: 0, error: null, usage: { prompt_tokens: 0, completion_tokens: 0, cost_usd: 0 }, model: null, started_at: null, ended_at: null, ...more });
const reply = (id, parent_id, execution, text = "", sources = [], checks = []) =>
  ({ id, parent_id, role: "assistant", text, created_at: "2026-11-01T10:00:01Z", mode: "chat", client_id: null, execution, sources, checks });
const asked = () => reduce(EMPTY, { type: "said", client_id: "c1", message: user("q", null, "Why?", "c1"), reply: reply("a", "q", run(RUN)) });
const fold = (state, events) => reduce(state, { type: "events", events });
const shown = (state, id = "a") => {
  const message = state.messages.find((one) => one.id === id);
  return answerText(message, state.executions[message.execution_id]);
};
const token = (content, more = {}) => ({ type: "token", content, channel: "answer", ...more });

export const cases = {
  "tokens are joined in order"() {
    equal(shown(fold(asked(), numbered([token("Be"), token("cause")]))), "Because");
  },

  "an event that comes twice counts once"() {
    const events = numbered([token("a"), token("b")]);
    equal(shown(fold(fold(asked(), events), events)), "ab");
  },

  "after a missing event nothing is applied until it came"() {
    const [one, two, three] = numbered([token("a"), token("b"), token("c")]);
    const behind = fold(fold(asked(), [one]), [three]);
    equal(hasGap(behind), true, "gap");
    equal(shown(behind), "a");
    equal(lastNumbers(behind), { [RUN]: 1 });
    const caughtUp = fold(reduce(behind, { type: "reconnected" }), [two, three]);
    equal([shown(caughtUp), hasGap(caughtUp)], ["abc", false]);
  },

  "when the last event was is known once there was one, and only of a run that goes on"() {
    const [one, two, end] = numbered([token("a"), token("b"), { type: "complete", answer: "ab" }]);
    equal(lastTimes(asked()), {});
    const said = fold(asked(), [one, { ...two, timestamp: 17 }]);
    equal([lastNumbers(said), lastTimes(said)], [{ [RUN]: 2 }, { [RUN]: 17 }]);
    equal(lastTimes(fold(said, [end])), {});
  },

  "an unknown event type is counted and otherwise ignored"() {
    const state = fold(asked(), numbered([token("a"), { type: "hologram", depth: 3 }, { type: "toString" }, token("b")]));
    equal([shown(state), state.executions[RUN].lastSeq], ["ab", 4]);
  },

  "a reset cuts one agent's text in one channel, counted in characters"() {
    const state = fold(asked(), numbered([
      token("😀😀😀 three"), token("thought", { channel: "thinking" }), { type: "token_reset", keep: 2, channel: "answer" }, token("!"),
    ]));
    equal([shown(state), streamedText(state.executions[RUN], "thinking")], ["😀😀!", "thought"]);
  },

  "an answer is cut where something was added to it, counted in characters"() {
    const added = (text, at) => ({ text, at });
    equal(partsOf("Whole.", []), [{ added: [], text: "Whole." }]);
    equal(partsOf("😀 first.\n\nThen.", [added("a", 0), added("b", 8), added("c", 8)]), [{ added: ["a"], text: "😀 first." }, { added: ["b", "c"], text: "\n\nThen." }]);
    equal(partsOf("First.", [added("a", 6)]), [{ added: [], text: "First." }, { added: ["a"], text: "" }]);
    equal(partsOf("", [added("a", 6)]), [{ added: ["a"], text: "" }]);
  },

  "the texts of agents stand in the order in which they began, never mixed"() {
    const state = fold(asked(), numbered([
      token("One ", { agent_id: "one" }), token("Two ", { agent_id: "two" }), token("goes on", { agent_id: "one" }), token("too", { agent_id: "two" }),
    ]));
    equal(shown(state), "One goes on\n\nTwo too");
  },

  "an agent whose text was taken back leaves no trace of it in the answer"() {
    const state = fold(asked(), numbered([
      token("draft", { agent_id: "one" }), { type: "token_reset", agent_id: "one", keep: 0, channel: "answer" }, token("final", { agent_id: "two" }),
    ]));
    equal(shown(state), "final");
  },

  "the complete event has the last word"() {
    const usage = { prompt_tokens: 5, completion_tokens: 2, cost_usd: 0.01 };
    const state = fold(asked(), numbered([token("drft"), { type: "complete", answer: "draft", sources: [], usage, status: "completed" }, token("late")]));
    equal([shown(state), state.executions[RUN].status, state.executions[RUN].usage], ["draft", "completed", usage]);
  },

  "a failed run keeps what was written and says why"() {
    const state = fold(asked(), numbered([token("half"), { type: "error", code: "provider_down", message: "No answer.", retryable: true }]));
    const { status, error } = state.executions[RUN];
    equal([shown(state), status, error], ["half", "failed", { code: "provider_down", message: "No answer." }]);
  },

  "an answer has the model that wrote it, whichever was to"() {
    const expected = { type: "config", values: { model: "large", provider: "p" } };
    const models = [{ model: "small" }, {}].map((written) => fold(asked(), numbered([expected, token("Hi"), { type: "complete", answer: "Hi", ...written }])).executions[RUN].model);
    equal(models, ["small", "large"]);
  },

  "a cost that is unknown once stays unknown"() {
    const usage = (cost_usd) => ({ type: "usage", model: "m", provider: "p", usage: { prompt_tokens: 1, completion_tokens: 1, cost_usd } });
    const state = fold(asked(), numbered([usage(0.5), usage(null), usage(0.25)]));
    equal(state.executions[RUN].usage, { prompt_tokens: 3, completion_tokens: 3, cost_usd: null });
  },

  "a question leaves the outbox when it is stored, and only that one"() {
    const before = ["c1", "c2"].reduce((state, client_id) => reduce(state, { type: "queued", client_id, text: client_id, mode: "chat" }), EMPTY);
    const state = reduce(before, { type: "said", client_id: "c1", message: user("q", null, "c1", "c1"), reply: reply("a", "q", run(RUN)) });
    equal(state.outbox.map(({ client_id }) => client_id), ["c2"]);
  },

  "a refused question stays with the reason until it is sent again"() {
    const queued = reduce(EMPTY, { type: "queued", client_id: "c1", text: "Why?", mode: null });
    const refused = reduce(queued, { type: "refused", client_id: "c1", error: { code: "full", message: "Later." } });
    equal(refused.outbox[0].error, { code: "full", message: "Later." });
    equal(reduce(refused, { type: "queued", client_id: "c1", text: "Why?", mode: null }).outbox, [{ client_id: "c1", text: "Why?", mode: null, error: null }]);
  },

  "a question that a reload shows as stored leaves the outbox"() {
    const queued = reduce(EMPTY, { type: "queued", client_id: "c1", text: "Why?", mode: null });
    equal(reduce(queued, { type: "loaded", messages: [user("q", null, "Why?", "c1")] }).outbox, []);
  },

  "a message told while the list was read is not lost"() {
    const state = reduce(asked(), { type: "loaded", messages: [] });
    equal(state.messages.map(({ id }) => id), ["q", "a"]);
  },

  "a reload in mid-answer keeps the text that was streamed"() {
    const streaming = fold(asked(), numbered([token("so far")]));
    const state = reduce(streaming, { type: "loaded", messages: [user("q", null), reply("a", "q", run(RUN, "running", { last_seq: 1 }))] });
    equal([shown(state), lastNumbers(state)], ["so far", { [RUN]: 1 }]);
  },

  "a fresh page asks for a live run from its first event"() {
    const state = reduce(EMPTY, { type: "loaded", messages: [user("q", null), reply("a", "q", run(RUN, "running", { last_seq: 40 }))] });
    equal(lastNumbers(state), { [RUN]: 0 });
    equal(shown(fold(state, numbered([token("from the start")]))), "from the start");
  },

  "a run whose log was set back is told anew"() {
    const streaming = fold(asked(), numbered([token("lost "), token("end")]));
    const forgotten = reduce(streaming, { type: "forgot", execution_id: RUN });
    equal(shown(fold(forgotten, numbered([token("other")]))), "other");
  },

  "an event of an unknown run asks for a reload"() {
    equal(fold(EMPTY, numbered([token("a")])).stale, true);
    equal(fold(asked(), numbered([token("a")])).stale, false);
  },

  "another reply stands beside the first, and the newest is shown"() {
    const again = reduce(asked(), { type: "replied", reply: reply("b", "q", run("2")) });
    const last = (state) => transcript(state).at(-1);
    equal([last(again).message.id, last(again).siblings], ["b", ["a", "b"]]);
    equal(last(reduce(again, { type: "chose", parent_id: "q", id: "a" })).message.id, "a");
  },

  "the end of a long conversation is shown although its beginning was not loaded"() {
    const state = reduce(EMPTY, { type: "loaded", messages: [user("q9", "a8"), reply("a9", "q9", run(RUN, "completed"), "yes")] });
    equal(transcript(state).map(({ message }) => message.id), ["q9", "a9"]);
  },

  "an ended run takes no more events"() {
    const state = reduce(EMPTY, { type: "loaded", messages: [user("q", null), reply("a", "q", run(RUN, "completed", { last_seq: 9 }), "done")] });
    const execution = state.executions[RUN];
    equal(applyEvent(execution, { ...numbered([token("x")])[0], seq: 10 }) === execution, true);
  },

  "events, however they arrive, give what a reload gives"() {
    for (let seed = 1; seed <= 300; seed++) equal(...sameFromEventsAndReload(seed));
  },
};

// One run's events, and what the server's table says when it is over. The text is kept as an array of characters here.
function randomRun(pick, id) {
  const texts = {};
  const bodies = [{ type: "status_changed", status: "running", reason: null }];
  for (let i = pick(30); i > 0; i--) {
    const agent_id = ["a", "b"][pick(2)];
    const channel = ["answer", "answer", "thinking"][pick(3)];
    const key = channel + agent_id;
    const kind = pick(8);
    if (kind === 0) bodies.push({ type: ["stage", "novelty", "tool_call"][pick(3)], name: "n", description: "d", status: "running", tool: "t" });
    else if (kind === 1) {
      texts[key] ??= [];
      const keep = pick(texts[key].length + 1);
      texts[key] = texts[key].slice(0, keep);
      bodies.push({ type: "token_reset", agent_id, channel, keep, reason: null });
    } else {
      const content = ["word ", "\n\n", "🧪é", "# x\n", "``` "][pick(5)];
      (texts[key] ??= []).push(...content);
      bodies.push(token(content, { agent_id, channel }));
    }
  }
  const streamed = Object.keys(texts).filter((key) => key.startsWith("answer")).map((key) => texts[key].join("")).filter(Boolean).join("\n\n");
  const usage = { prompt_tokens: pick(99), completion_tokens: pick(99), cost_usd: [null, 0.25][pick(2)] };
  const sources = pick(2) ? [{ type: "web", source: "s", url: "https://example.org" }] : [];
  const check = { start: 0, end: 4, sentence: "word", citations: [1], by: "words", why: "" };
  // An event leaves out what nobody could tell; the tables say null.
  const [told, checks] = [[[], []], [[check], [{ ...check, supported: null }]], [[{ ...check, supported: false }], [{ ...check, supported: false }]]][pick(3)];
  const error = { code: "broken", message: "It broke." };
  const end = [
    { body: { type: "complete", answer: `${streamed}.`, sources, checks: told, usage, status: "completed" }, status: "completed", text: `${streamed}.`, sources, checks, usage, error: null },
    { body: { type: "complete", answer: streamed, sources: [], usage, status: "cancelled" }, status: "cancelled", text: streamed, sources: [], usage, error: null },
    { body: { type: "error", ...error, retryable: false }, status: "failed", text: streamed, sources: [], usage: null, error },
  ][pick(3)];
  const events = numbered([...bodies, { type: "usage", model: "m", provider: "p", usage }, end.body], id);
  return { events, stored: { ...end, usage: end.usage ?? usage, last_seq: events.length } };
}

// Two turns; events are cut short, repeated, swapped, and fetched again after reconnects and reloads until the run is over.
function sameFromEventsAndReload(seed) {
  const pick = randomFrom(seed);
  let live = EMPTY;
  const stored = [];
  for (const turn of [1, 2]) {
    const id = `run-${turn}`;
    const { events, stored: end } = randomRun(pick, id);
    const at = (second) => ({ created_at: `2026-11-01T10:0${turn}:0${second}Z` });
    const question = { ...user(`q${turn}`, turn === 1 ? null : "a1", `Question ${turn}`, `c${turn}`), ...at(0) };
    const answer = (execution, text = "", sources = [], checks = []) => ({ ...reply(`a${turn}`, `q${turn}`, execution, text, sources, checks), ...at(1) });
    live = reduce(live, { type: "queued", client_id: `c${turn}`, text: question.text, mode: "chat" });
    const saidFrame = { type: "said", client_id: `c${turn}`, message: question, reply: answer(run(id)) };
    if (pick(3)) live = reduce(live, saidFrame);
    while (!FINAL.has(live.executions[id]?.status)) {
      live = reduce(live, { type: "reconnected" });
      if (pick(4) === 0) live = reduce(live, { type: "loaded", messages: [...stored, question, answer(run(id, "running", { last_seq: 1 }))] });
      if (pick(12) === 0) live = reduce(live, { type: "forgot", execution_id: id });
      live = fold(live, delivered(pick, events, lastNumbers(live)[id] ?? 0));
      if (pick(3) === 0) live = reduce(live, saidFrame);
    }
    live = reduce(live, saidFrame);
    const execution = run(id, end.status, { last_seq: end.last_seq, error: end.error, usage: end.usage });
    stored.push(question, answer(execution, end.text, end.sources, end.checks));
  }
  const reloaded = reduce(EMPTY, { type: "loaded", messages: stored });
  return [summary(live), summary(reloaded), `seed ${seed}`];
}
