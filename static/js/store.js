// What the page knows of one conversation, as a pure fold: reduce(state, action) → state. No network, no clock, no DOM.
// The same messages read from the server give the same `summary` as the events that made them. How a run went is trace.js's.
import { EMPTY_TRACE, addUsage, applyToTrace, withSource } from "./trace.js";

export const FINAL = new Set(["completed", "failed", "cancelled"]);

export const EMPTY = Object.freeze({ messages: [], executions: {}, outbox: [], chosen: {}, stale: false });

const NO_USAGE = Object.freeze({ prompt_tokens: 0, completion_tokens: 0, cost_usd: 0 });

const NO_CHECKS = Object.freeze([]);

const NOTHING_ATTACHED = Object.freeze([]);

const REDUCERS = { loaded, forgot, events, traced, said, replied, queued, refused, unqueued, chose, reconnected };

export function reduce(state, action) {
  return REDUCERS[action.type](state, action);
}

// The messages as the server has them. Live executions keep what events already told; ended ones are the server's word.
// A message that was told while they were read is not among them, and stays.
function loaded(state, { messages }) {
  const executions = { ...state.executions };
  for (const { execution, text, sources, checks } of messages) {
    if (execution) executions[execution.id] = fromServer(execution, { text, sources, checks }, state.executions[execution.id]);
  }
  const known = new Set(messages.map((message) => message.client_id).filter(Boolean));
  const outbox = state.outbox.filter((item) => !known.has(item.client_id));
  return { ...state, messages: inOrder(messages.map(asMessage), state.messages), executions, outbox, stale: false };
}

function inOrder(fresh, known) {
  const ids = new Set(fresh.map(({ id }) => id));
  const others = known.filter(({ id }) => !ids.has(id));
  if (!others.length) return fresh;
  return [...fresh, ...others].sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
}

// The server's log does not reach as far as ours (its database was set back): the run is told again from its first event.
function forgot(state, { execution_id: id }) {
  if (!state.executions[id]) return state;
  return { ...state, executions: { ...state.executions, [id]: newExecution(id) } };
}

// A question was stored (ours or another tab's; null: one that is answered again), and the reply that will answer it.
function said(state, { message, reply, client_id }) {
  const outbox = client_id ? state.outbox.filter((item) => item.client_id !== client_id) : state.outbox;
  return addReply({ ...state, outbox, messages: message ? withMessage(state.messages, message) : state.messages }, reply);
}

// A question got another reply (retry); its `said` may have told it already.
function replied(state, { reply }) {
  return addReply(state, reply);
}

function addReply(state, reply) {
  if (!reply) return state;
  const { execution } = reply;
  const chosen = { ...state.chosen };
  delete chosen[reply.parent_id]; // the newest reply is shown
  const executions = execution
    ? { ...state.executions, [execution.id]: fromServer(execution, reply, state.executions[execution.id]) }
    : state.executions;
  return { ...state, chosen, executions, messages: withMessage(state.messages, reply) };
}

function queued(state, { client_id, text, mode, options, attachments }) {
  const others = state.outbox.filter((item) => item.client_id !== client_id);
  return { ...state, outbox: [...others, { client_id, text, mode, ...(options && { options }), ...(attachments?.length && { attachments }), error: null }] };
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

// The server was asked for everything after our last numbers: a gap is being closed.
function reconnected(state) {
  const executions = Object.fromEntries(
    Object.entries(state.executions).map(([id, execution]) => [id, { ...execution, gap: false }]),
  );
  return { ...state, executions };
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
  return { ...execution, startedAt, trace: applyToTrace(execution.trace, body), ...apply(execution, body), lastSeq: body.seq };
}

// One function for each event type that changes what is shown: the fields that change.
const EVENTS = {
  status_changed: (_, { status, reason }) => ({ status, activity: { kind: status, text: reason ?? "" } }),
  stage: (_, { name, description, status }) =>
    status === "running" ? { activity: { kind: "stage", text: description || name } } : {},
  agent_shutdown: (_, { reason }) => ({ activity: { kind: "resuming", text: reason } }),
  tool_call: (_, { tool }) => ({ activity: { kind: "tool", text: tool } }),
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
  complete: (execution, { answer, status, usage, sources, checks, timestamp }) => ({
    answer,
    status: status ?? "completed",
    usage: usage ?? execution.usage,
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

function addText(execution, { agent_id, channel, content }) {
  const key = textKey(agent_id, channel);
  const texts = { ...execution.texts, [key]: (execution.texts[key] ?? "") + content };
  const kind = channel === "thinking" ? "thinking" : "writing";
  const activity = execution.activity?.kind === kind ? execution.activity : { kind, text: "" };
  return { texts, activity };
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
    id, status: "pending", lastSeq: 0, gap: false, texts: {}, answer: null, activity: null, error: null,
    usage: NO_USAGE, model: null, provider: null, notice: null, sources: [], checks: NO_CHECKS, memory: null, startedAt: null, endedAt: null,
    trace: EMPTY_TRACE,
  };
}

// What the cited sentences of an answer say against their sources. An event leaves out what nobody could tell.
function asChecks(checks) {
  return checks?.length ? checks.map((check) => ({ ...check, supported: check.supported ?? null })) : NO_CHECKS;
}

function fromServer(execution, { text, sources, checks }, known) {
  if (!FINAL.has(execution.status)) {
    const live = known ?? newExecution(execution.id);
    return FINAL.has(live.status) ? live : { ...live, status: execution.status, startedAt: live.startedAt ?? asTime(execution.started_at) };
  }
  return {
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
  };
}

function asTime(iso) {
  const time = iso ? Date.parse(iso) : NaN;
  return Number.isNaN(time) ? null : time;
}

function asMessage({ id, parent_id, role, text, created_at, mode, client_id, attachments, execution }) {
  return {
    id, parent_id: parent_id ?? null, role, text, created_at, mode: mode ?? null, client_id: client_id ?? null, attachments: attachments ?? NOTHING_ATTACHED,
    execution_id: execution?.id ?? null,
  };
}

function withMessage(messages, message) {
  const at = messages.findIndex((other) => other.id === message.id);
  return at < 0 ? [...messages, asMessage(message)] : messages.with(at, asMessage(message));
}

// What was streamed so far in a channel: the text of each agent, in the order in which they began. Only agents that speak for
// the run stream.
export function streamedText(execution, channel) {
  const texts = Object.entries(execution.texts).filter(([key, text]) => text && key.startsWith(`${channel}:`));
  return texts.map(([, text]) => text).join("\n\n");
}

export function answerText(message, execution) {
  if (!execution) return message.text;
  return execution.answer ?? streamedText(execution, "answer");
}

export function isLive(execution) {
  return Boolean(execution) && !FINAL.has(execution.status);
}

export function liveExecutions(state) {
  return Object.values(state.executions).filter(isLive);
}

// `{execution_id: seq}` for the socket's `after`: what we have of the executions that still run.
export function lastNumbers(state) {
  return Object.fromEntries(liveExecutions(state).filter(({ lastSeq }) => lastSeq > 0).map(({ id, lastSeq }) => [id, lastSeq]));
}

export function hasGap(state) {
  return Object.values(state.executions).some(({ gap }) => gap);
}

// The branch that is shown, oldest first: from the root along the chosen child, or the newest where nobody chose.
// Each row: the message, its execution, its siblings' ids (itself among them).
export function transcript(state) {
  const known = new Set(state.messages.map(({ id }) => id));
  const children = new Map();
  for (const message of state.messages) {
    const parent = known.has(message.parent_id) ? message.parent_id : null; // of a long conversation only the end is loaded
    const siblings = children.get(parent);
    if (siblings) siblings.push(message);
    else children.set(parent, [message]);
  }
  const rows = [];
  let branch = children.get(null);
  while (branch?.length) {
    const message = branch.find(({ id }) => id === state.chosen[branch[0].parent_id]) ?? branch.at(-1);
    rows.push({ message, execution: state.executions[message.execution_id] ?? null, siblings: branch.map(({ id }) => id) });
    branch = children.get(message.id);
  }
  return rows;
}

// What a person sees of the conversation, without what depends on when they looked: the same from events and from a reload.
export function summary(state) {
  return state.messages.map((message) => {
    const execution = state.executions[message.execution_id];
    return {
      id: message.id,
      parent_id: message.parent_id,
      role: message.role,
      text: answerText(message, execution),
      status: execution?.status ?? null,
      error: execution?.error ?? null,
      usage: execution && FINAL.has(execution.status) ? execution.usage : null,
      sources: execution?.sources ?? [],
      checks: execution?.checks ?? NO_CHECKS,
    };
  });
}
