// What the page knows of one conversation, as a pure fold: reduce(state, action) → state. No network, no clock, no DOM.
// The same messages read from the server give the same as the events that made them. How a run went is trace.js's.
import { isBefore, merged, placed, shownBranch } from "./message_order.js";
import { EMPTY_TRACE, addUsage, applyToTrace, asUsage, withSource } from "./trace.js";

export const FINAL = new Set(["completed", "failed", "cancelled"]);

// `messages`: the end of the conversation without a gap, in order; `hasEarlier`: there are more before them. `lastBefore`: the
// id of the newest message from before the connection was lost ("": there was none), until the messages were read again.
export const EMPTY = Object.freeze({ messages: [], hasEarlier: false, lastBefore: null, executions: {}, outbox: [], chosen: {}, stale: false });

const NO_USAGE = Object.freeze({ prompt_tokens: 0, completion_tokens: 0, cost_usd: 0 });

const NO_CHECKS = Object.freeze([]);

const NOTHING_ATTACHED = Object.freeze([]);

const NO_FOLLOW_UPS = Object.freeze([]);

const REDUCERS = { loaded, earlier, forgot, events, traced, said, replied, queued, refused, unqueued, chose, reconnected, parted, learned };

export function reduce(state, action) {
  return REDUCERS[action.type](state, action);
}

// The newest messages as the server has them. Live executions keep what events already told; ended ones are the server's
// word. A message that was told while they were read is not among them, and stays; so do those of earlier pages, unless some
// may be missing between them and these.
// `isCurrent`: they were asked for when the connection of now was there already.
function loaded(state, { messages, hasEarlier = false, isCurrent = true }) {
  const first = messages[0];
  const joins = !hasEarlier || state.lastBefore === null || messages.some(({ id }) => id === state.lastBefore);
  const known = joins ? state.messages : state.messages.filter((message) => !isBefore(message, first));
  const read = withRead(state, messages, known);
  const keepsEarlier = hasEarlier && read.messages[0].id !== first.id;
  return { ...read, hasEarlier: keepsEarlier ? state.hasEarlier : hasEarlier, lastBefore: isCurrent ? null : state.lastBefore, stale: false };
}

// The page before the first message; an answer to what was asked before the list changed is of no use.
function earlier(state, { before, messages, hasEarlier }) {
  if (state.messages[0]?.id !== before) return state;
  return { ...withRead(state, messages, state.messages), hasEarlier };
}

function withRead(state, messages, known) {
  const executions = { ...state.executions };
  for (const { execution, text, sources, checks } of messages) {
    if (execution) executions[execution.id] = fromServer(execution, { text, sources, checks }, state.executions[execution.id]);
  }
  const said = new Set(messages.map((message) => message.client_id).filter(Boolean));
  const outbox = state.outbox.some((item) => said.has(item.client_id)) ? state.outbox.filter((item) => !said.has(item.client_id)) : state.outbox;
  const before = new Map(known.map((message) => [message.id, message]));
  const fresh = messages.map((message) => unlessSame(asMessage(message), before.get(message.id)));
  return { ...state, messages: merged(fresh, known), executions, outbox };
}

// What was read again and is as it was is not drawn again.
const unlessSame = (fresh, known) => (known && JSON.stringify(fresh) === JSON.stringify(known) ? known : fresh);

// The server's log does not reach as far as ours (its database was set back): the run is told again from its first event.
function forgot(state, { execution_id: id }) {
  if (!state.executions[id]) return state;
  return { ...state, executions: { ...state.executions, [id]: newExecution(id) } };
}

// A question was stored (ours or another tab's; null: one that is answered again), and the reply that will answer it.
function said(state, { message, reply, client_id }) {
  const outbox = client_id ? state.outbox.filter((item) => item.client_id !== client_id) : state.outbox;
  const chosen = { ...state.chosen };
  if (message) delete chosen[message.parent_id]; // the newest branch is shown
  return addReply({ ...state, chosen, outbox, messages: message ? withMessage(state, message) : state.messages }, reply);
}

// A question got another reply (retry); its `said` may have told it already.
function replied(state, { reply }) {
  return { ...addReply(state, reply), lastBefore: lastBefore(state) };
}

// By the API a message may come before others that were said earlier: then too some may be missing.
const lastBefore = (state) => state.lastBefore ?? state.messages.at(-1)?.id ?? "";

function addReply(state, reply) {
  if (!reply) return state;
  const { execution } = reply;
  const chosen = { ...state.chosen };
  delete chosen[reply.parent_id]; // the newest reply is shown
  const executions = execution
    ? { ...state.executions, [execution.id]: fromServer(execution, reply, state.executions[execution.id]) }
    : state.executions;
  return { ...state, chosen, executions, messages: withMessage(state, reply) };
}

// `held`: it waits for the answer that is being written. `place`: {edits} or {after}, where not at the conversation's end.
function queued(state, { client_id, text, mode, options, attachments, place, held }) {
  const item = { client_id, text, mode, ...(options && { options }), ...(attachments?.length && { attachments }), ...(place && { place }), ...(held && { held }), error: null };
  const at = state.outbox.findIndex((other) => other.client_id === client_id);
  return { ...state, outbox: at < 0 ? [...state.outbox, item] : state.outbox.with(at, item) };
}

// What came to stand by an answer after its end: what may be asked next, or what was added too late and not asked.
function learned(state, { message_id, more }) {
  const at = state.messages.findIndex(({ id }) => id === message_id);
  return at < 0 ? state : { ...state, messages: state.messages.with(at, { ...state.messages[at], ...more }) };
}

// The outbox as it is kept for all tabs: as it stands there, with what changed in this one. What another tab saw stored does
// not come back, and what it still has to send stays.
export function keptOutbox(kept, before, after) {
  const changed = after.filter((item) => !before.includes(item));
  const gone = new Set([...changed, ...before.filter(({ client_id }) => !after.some((item) => item.client_id === client_id))].map(({ client_id }) => client_id));
  const held = kept.map((item) => changed.find(({ client_id }) => client_id === item.client_id) ?? item);
  const isThere = new Set(kept.map(({ client_id }) => client_id));
  return [...held.filter((item) => changed.includes(item) || !gone.has(item.client_id)), ...changed.filter(({ client_id }) => !isThere.has(client_id))];
}

function refused(state, { client_id, error }) {
  const outbox = state.outbox.map((item) => (item.client_id === client_id ? { ...item, error } : item));
  return { ...state, outbox };
}

function unqueued(state, { client_id }) {
  return { ...state, outbox: state.outbox.filter((item) => item.client_id !== client_id) };
}

function chose(state, { parent_id, id }) {
  return { ...state, chosen: { ...state.chosen, [parent_id]: id } };
}

// The server was asked for everything after our last numbers: a gap is being closed. `resumed`: meanwhile its database may have
// lost the end of the log and given the same numbers to other events, which nobody can tell from here.
function reconnected(state) {
  const executions = Object.fromEntries(
    Object.entries(state.executions).map(([id, execution]) => [id, { ...execution, gap: false, resumed: execution.resumed || (execution.lastSeq > 0 && isLive(execution)) }]),
  );
  return { ...state, executions };
}

// The connection is gone, and with it what was on its way.
function parted(state) {
  return state.lastBefore === null ? { ...state, lastBefore: lastBefore(state) } : state;
}

// A batch, as it arrived. An execution that no message has yet makes the state stale: the messages are to be read again.
function events(state, { events: batch }) {
  const changed = {};
  let stale = state.stale;
  for (const body of batch) {
    const id = body.execution_id;
    const before = changed[id] ?? state.executions[id];
    stale ||= before === undefined;
    changed[id] = applyEvent(before ?? newExecution(id), body);
  }
  return { ...state, stale, executions: { ...state.executions, ...changed } };
}

// All events of a run that is over (its tokens may be left out): how it went, for who did not watch it.
function traced(state, { execution_id: id, events: all }) {
  const execution = state.executions[id];
  if (!execution || execution.trace.whole) return state;
  const trace = { ...all.reduce(applyToTrace, EMPTY_TRACE), whole: true };
  return { ...state, executions: { ...state.executions, [id]: { ...execution, trace } } };
}

// Only the next number is applied: a lower one is a repetition, a higher one shows a gap.
export function applyEvent(execution, body) {
  if (FINAL.has(execution.status) || body.seq <= execution.lastSeq) return execution;
  if (body.seq > execution.lastSeq + 1) return execution.gap ? execution : { ...execution, gap: true };
  const apply = Object.hasOwn(EVENTS, body.type) ? EVENTS[body.type] : unknown;
  const startedAt = execution.startedAt ?? body.timestamp ?? null;
  const trace = applyToTrace(execution.trace, body);
  const told = execution.resumed && trace.whole ? { ...trace, whole: false } : trace; // read once more, when it is looked at
  return { ...execution, startedAt, trace: told, ...apply(execution, body), lastSeq: body.seq, lastAt: body.timestamp ?? null };
}

// One function for each event type that changes what is shown: the fields that change.
const EVENTS = {
  status_changed: (_, { status, reason }) => ({ status, activity: { kind: status, text: reason ?? "" } }),
  stage: (_, { name, description, status }) =>
    status === "running" ? { activity: { kind: "stage", text: description || name } } : {},
  agent_shutdown: (_, { reason }) => ({ activity: { kind: "resuming", text: reason } }),
  tool_call: (_, { tool, label }) => ({ activity: { kind: "tool", text: tool, label } }),
  tool_result: () => ({ activity: { kind: "running", text: "" } }),
  interrupt_response: () => ({ activity: { kind: "running", text: "" } }),
  config: (execution, { values }) => ({
    model: values.model ?? execution.model,
    provider: values.provider ?? execution.provider,
    notice: values.notice ?? execution.notice,
  }),
  token: addText,
  token_reset: cutText,
  source: (execution, { source }) => ({ sources: withSource(execution.sources, source) }),
  memory: (execution, { action, items }) => ({ memory: withMemory(execution.memory, action, items ?? []) }),
  usage: (execution, { usage, model }) => ({ usage: addUsage(execution.usage, usage), model: execution.model ?? model }),
  complete: (execution, { answer, status, usage, sources, checks, model, timestamp }) => ({
    answer,
    status: status ?? "completed",
    model: model ?? execution.model,
    usage: usage ? asUsage(usage) : execution.usage,
    sources: sources ?? execution.sources,
    checks: asChecks(checks),
    activity: null,
    endedAt: timestamp ?? null,
  }),
  error: (execution, { code, message, timestamp }) => ({
    answer: streamedText(execution, "answer"),
    status: "failed",
    error: { code, message },
    activity: null,
    endedAt: timestamp ?? null,
  }),
};

const unknown = () => ({});

// What the run was told of what is remembered, and what it learned: as the server's own summary of it.
function withMemory(memory, action, items) {
  const before = memory ?? { used: 0, learned: [] };
  if (action === "used") return { ...before, used: before.used + items.length };
  return action === "learned" ? { ...before, learned: [...before.learned, ...items] } : before;
}

function textKey(agentId, channel) {
  return `${channel ?? "answer"}:${agentId ?? ""}`;
}

function addText(execution, { agent_id, channel, content, timestamp }) {
  const key = textKey(agent_id, channel);
  const now = timestamp ?? null;
  const firstWordAt = channel === "thinking" ? execution.firstWordAt : (execution.firstWordAt ?? now);
  const thought = channel === "thinking" ? { from: execution.thought?.from ?? now, to: now } : execution.thought;
  const texts = { ...execution.texts, [key]: (execution.texts[key] ?? "") + content };
  const kind = channel === "thinking" ? "thinking" : "writing";
  const activity = execution.activity?.kind === kind ? execution.activity : { kind, text: "" };
  return { texts, activity, firstWordAt, thought };
}

// `keep` counts characters as the server does: code points, not UTF-16 units.
function cutText(execution, { agent_id, channel, keep }) {
  const key = textKey(agent_id, channel);
  return { texts: { ...execution.texts, [key]: firstCharacters(execution.texts[key] ?? "", keep) } };
}

function firstCharacters(text, count) {
  let end = 0;
  for (let i = 0; i < count && end < text.length; i++) end += text.codePointAt(end) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

function newExecution(id) {
  return {
    id, status: "pending", lastSeq: 0, lastAt: null, gap: false, resumed: false, texts: {}, answer: null, activity: null, error: null,
    usage: NO_USAGE, model: null, provider: null, notice: null, sources: [], checks: NO_CHECKS, memory: null, startedAt: null, endedAt: null,
    firstWordAt: null, thought: null, trace: EMPTY_TRACE,
  };
}

// What the cited sentences of an answer say against their sources. An event leaves out what nobody could tell.
function asChecks(checks) {
  return checks?.length ? checks.map((check) => ({ ...check, supported: check.supported ?? null })) : NO_CHECKS;
}

function fromServer(execution, { text, sources, checks }, known) {
  if (!FINAL.has(execution.status)) return underWay(execution, known ?? newExecution(execution.id));
  const ended = {
    ...(known ?? newExecution(execution.id)),
    status: execution.status,
    lastSeq: execution.last_seq ?? 0,
    gap: false,
    answer: text,
    activity: null,
    error: execution.error ?? null,
    usage: execution.usage ?? NO_USAGE,
    model: execution.model ?? known?.model ?? null,
    memory: execution.memory ?? known?.memory ?? null,
    sources: sources ?? [],
    checks: asChecks(checks),
    startedAt: asTime(execution.started_at) ?? known?.startedAt ?? null,
    endedAt: asTime(execution.ended_at) ?? known?.endedAt ?? null,
    thought: known?.thought ?? asThought(execution.thought_ms),
  };
  return known && Object.keys(ended).every((name) => ended[name] === known[name] || READ.has(name) && JSON.stringify(ended[name]) === JSON.stringify(known[name])) ? known : ended;
}

// Small values that come anew with each reading.
const READ = new Set(["error", "usage", "memory", "sources", "checks", "thought"]);

// What events told is newer than what was read or announced before them.
function underWay({ status, last_seq, started_at }, live) {
  if (FINAL.has(live.status)) return live;
  return { ...live, status: (last_seq ?? 0) >= live.lastSeq ? status : live.status, startedAt: live.startedAt ?? asTime(started_at) };
}

// What a run thought that had ended before we looked is read when somebody wants it; here is how long it took.
function asThought(milliseconds) {
  return milliseconds == null ? null : { from: 0, to: milliseconds };
}

function asTime(iso) {
  const time = iso ? Date.parse(iso) : NaN;
  return Number.isNaN(time) ? null : time;
}

function asMessage({ id, parent_id, role, text, created_at, mode, client_id, attachments, follow_ups, unasked, execution }) {
  return {
    id, parent_id: parent_id ?? null, role, text, created_at, mode: mode ?? null, client_id: client_id ?? null, attachments: attachments ?? NOTHING_ATTACHED,
    follow_ups: follow_ups?.length ? follow_ups : NO_FOLLOW_UPS,
    unasked: unasked ?? null,
    execution_id: execution?.id ?? null,
  };
}

// One that was said before those that are here will come with its page.
function withMessage({ messages, hasEarlier }, message) {
  return hasEarlier && isBefore(message, messages[0]) ? messages : placed(messages, asMessage(message));
}

// What was streamed so far in a channel: the text of each agent, in the order in which they began. Only agents that speak for
// the run stream.
export function streamedText(execution, channel) {
  const texts = Object.entries(execution.texts).filter(([key, text]) => text && key.startsWith(`${channel}:`));
  return texts.map(([, text]) => text).join("\n\n");
}

// The thoughts of a run, from all of its events.
export function thoughtsIn(events) {
  const told = { token: addText, token_reset: cutText };
  const thinking = events.filter(({ type, channel }) => Object.hasOwn(told, type) && channel === "thinking");
  return streamedText(thinking.reduce((run, event) => ({ ...run, ...told[event.type](run, event) }), newExecution("")), "thinking");
}

export function answerText(message, execution) {
  if (!execution) return message.text;
  return execution.answer ?? streamedText(execution, "answer");
}

// The answer in the parts between which something was added to it: `added` stands before the part's text.
export function partsOf(text, added) {
  const parts = [{ added: [], text: "" }];
  let taken = 0;
  for (const { text: words, at } of added) {
    const end = firstCharacters(text, at).length;
    if (text.slice(taken, end).trim()) {
      parts.at(-1).text = text.slice(taken, end);
      parts.push({ added: [], text: "" });
      taken = end;
    }
    parts.at(-1).added.push(words);
  }
  parts.at(-1).text = text.slice(taken);
  return parts;
}

export function isLive(execution) {
  return Boolean(execution) && !FINAL.has(execution.status);
}

export function liveExecutions(state) {
  return Object.values(state.executions).filter(isLive);
}

// `{execution_id: seq}` for the socket's `after`: what we have of the executions that go on, as far as we know. One of which
// nothing is known is named too: it may have ended meanwhile, and stand on an earlier page than is read again.
export function lastNumbers(state) {
  return Object.fromEntries(liveExecutions(state).map(({ id, lastSeq }) => [id, lastSeq]));
}

// `{execution_id: milliseconds}`, when the events of these numbers were: by that the server knows whether they are still those.
export function lastTimes(state) {
  return Object.fromEntries(liveExecutions(state).filter(({ lastAt }) => lastAt).map(({ id, lastAt }) => [id, lastAt]));
}

export function hasGap(state) {
  return Object.values(state.executions).some(({ gap }) => gap);
}

// The branch that is shown, oldest first. Each row: the message, its execution, its siblings' ids (itself among them). With
// each token only executions change: the branch of the last messages is remembered.
export function transcript({ messages, chosen, executions }) {
  if (branchOf.messages !== messages || branchOf.chosen !== chosen) branchOf = { messages, chosen, rows: shownBranch(messages, chosen) };
  return branchOf.rows.map(({ message, siblings }) => ({ message, execution: executions[message.execution_id] ?? null, siblings }));
}

let branchOf = { messages: null, chosen: null, rows: [] };

// The message that a question has to name as the one before it, where somebody went to a branch that is not the newest.
export function chosenEnd(state) {
  const shown = transcript(state).at(-1)?.message;
  return shown && shown.id !== state.messages.at(-1)?.id && shown.role === "assistant" ? shown.id : null;
}
