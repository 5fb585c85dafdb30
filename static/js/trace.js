// How a run came to its answer, as a pure fold of its events: routing, plan, agents with what each did, questions to people.
// Tokens are store.js's, programs and what came of them hands.js's. Names of steps and agents come from models: tables are lists that are searched, never objects.
import { HANDS, lost } from "./hands.js";

const ENDED = new Set(["completed", "failed", "skipped", "cancelled", "deleted"]);

const NO_USAGE = Object.freeze({ prompt_tokens: 0, completion_tokens: 0, cost_usd: 0 });

// `whole`: the run is over and nothing of it is missing here. `added`: what a person told it while it went on, each behind `at`
// characters of the answer.
export const EMPTY_TRACE = Object.freeze({ whole: false, routing: null, plan: null, agents: [], requests: [], added: [] });

export const isEnded = (status) => ENDED.has(status);

export function applyToTrace(trace, event) {
  return Object.hasOwn(EVENTS, event.type) ? EVENTS[event.type](trace, event) : trace;
}

const EVENTS = {
  routing: (trace, { agent, reason, confidence, is_low_confidence, method, alternatives }) => ({
    ...trace,
    routing: { agent, reason: reason ?? "", confidence: confidence ?? 1, isLow: is_low_confidence ?? false, method: method ?? "explicit", alternatives: alternatives ?? [] },
  }),
  plan_overview: planned,
  plan_step: (trace, { step, timestamp }) => withStep(trace, step.id, step, (before) => ({
    ...before, status: before.status === "awaiting_user" ? before.status : "running", startedAt: before.startedAt ?? timestamp, endedAt: null, error: null,
  })),
  plan_step_completed: (trace, { step_id, status, error, timestamp }) =>
    withWorker(withStep(trace, step_id, null, (before) => ended(before, status, error, timestamp)), step_id, (agent) => foundWanting(agent, status)),
  todo_update: (trace, { items, timestamp }) => items.reduce((so_far, item) => withStep(so_far, item.id, null, (step) => ticked(step, item, timestamp)), trace),
  agent_state: agentChanged,
  stage: (trace, event) => withAdded(staged(trace, event), event),
  token_reset: takenBack,
  tool_call: called,
  tool_result: returned,
  handoff: (trace, event) => noted(trace, event, {
    kind: "handoff", source: event.source_agent, target: event.target_agent, task: event.task_description, context: event.context ?? "",
  }),
  ...Object.fromEntries(Object.entries(HANDS).map(([type, apply]) => [type, (trace, event) => withEntries(trace, event.agent_id, (entries) => apply(entries, event))])),
  guardrail: (trace, event) => noted(trace, event, {
    kind: "guardrail", scanner: event.scanner, action: event.action, reason: event.reason,
    place: event.place ?? "", found: event.kind ?? "", tool: event.tool ?? "", count: event.count ?? 1,
  }),
  skill_output: (trace, event) => noted(trace, event, { kind: "skill", skill: event.skill_id, output: event.output }),
  agent_shutdown: (trace, event) => noted({ ...trace, agents: trace.agents.map(withLost) }, event, { kind: "resumed", reason: event.reason }),
  journal_cut: cutShort,
  source: (trace, event) => withAgent(trace, event.agent_id, (agent) => ({ ...agent, sources: withSource(agent.sources, event.source) })),
  usage: (trace, event) => noted(withAgent(trace, event.agent_id, (agent) => ({ ...agent, usage: addUsage(agent.usage, event.usage) })), event, {
    kind: "model", model: event.model ?? "", provider: event.provider ?? "", usage: event.usage,
  }),
  interrupt: asked,
  interrupt_response: answered,
  hitl_required: approvalAsked,
  hitl_approved: (trace, event) => approvalEnded(trace, event, "approved"),
  hitl_denied: (trace, event) => approvalEnded(trace, event, "denied"),
  hitl_timeout: (trace, event) => approvalEnded(trace, event, "timed_out"),
  complete: over,
  error: over,
};

// ── the plan ──

function planned(trace, { steps, intent, revision = 0, asks_about, notice, timestamp }) {
  const before = trace.plan;
  if (before && revision < before.revision) return trace;
  const isNews = Boolean(notice) || revision > (before?.revision ?? 0);
  const amendments = before?.amendments ?? [];
  return {
    ...trace,
    plan: {
      steps: steps.map((step) => carriedOver(asStep(step), before?.steps.find(({ id }) => id === step.id))),
      revision,
      intent: intent ?? "",
      asksAbout: asks_about ?? [],
      amendments: isNews ? [...amendments, { revision, notice: notice ?? "", byPerson: isEdited(trace) }] : amendments,
    },
  };
}

// Whether the newest plan is what a person made of the one that they were shown.
function isEdited({ plan, requests }) {
  return requests.some(({ kind, status }) => kind === "plan" && status === "answered") && !plan?.amendments.some(({ byPerson }) => byPerson);
}

function asStep({ id, agent, task, expected_outcome, depends_on, tools, stage }) {
  return {
    id, agent: agent ?? "", task: task ?? "", outcome: expected_outcome ?? "", dependsOn: depends_on ?? [], tools: tools ?? [], stage: stage ?? 1,
    status: "pending", error: null, startedAt: null, endedAt: null,
  };
}

// Of an amended plan: what is done, deleted or under way stays so; what failed or was left out is tried anew.
function carriedOver(step, before) {
  if (!before || before.status === "failed" || before.status === "skipped") return step;
  const { status, error, startedAt, endedAt } = before;
  return { ...step, status, error, startedAt, endedAt };
}

// A step that no overview named yet is added where it begins; otherwise nothing is known of it.
function withStep(trace, id, described, change) {
  const plan = trace.plan ?? { steps: [], revision: 0, intent: "", asksAbout: [], amendments: [] };
  const at = plan.steps.findIndex((step) => step.id === id);
  if (at < 0 && !described) return trace;
  const steps = at < 0 ? [...plan.steps, change(asStep(described))] : plan.steps.with(at, change(plan.steps[at]));
  return { ...trace, plan: { ...plan, steps } };
}

function ended(step, told, error, at) {
  const status = told === "cancelled" ? "skipped" : told;
  return { ...step, status, error: error || null, endedAt: step.startedAt === null ? null : (step.endedAt ?? at ?? null) };
}

// The checklist comes behind what agents told: it takes back nothing that has begun.
function ticked(step, { status }, at) {
  if (status === step.status || status === "pending") return step;
  if (status === "running") return isEnded(step.status) || step.status === "awaiting_user" ? step : { ...step, status, startedAt: step.startedAt ?? at ?? null };
  return ended(step, status, step.error, at);
}

// ── the agents ──

function agentChanged(trace, event) {
  const changed = withAgent(trace, event.agent_id, (agent) => {
    const { agent_name, parent_id, status, task, error, modified, user_comment, depends_on, step_id, timestamp } = event;
    const begins = status === "running" || status === "awaiting_user";
    return {
      ...agent,
      name: agent_name,
      parentId: parent_id ?? agent.parentId,
      status,
      task: task ?? agent.task,
      error: error ?? null,
      modified: agent.modified || Boolean(modified),
      comment: user_comment && user_comment !== "unchanged" ? user_comment : agent.comment,
      dependsOn: depends_on?.length ? depends_on : agent.dependsOn,
      stepId: step_id ?? agent.stepId,
      bornAt: agent.bornAt ?? timestamp ?? null,
      startedAt: agent.startedAt ?? (begins ? (timestamp ?? null) : null),
      endedAt: isEnded(status) ? (agent.endedAt ?? timestamp ?? null) : null,
    };
  });
  const { stepId } = changed.agents.find(({ id }) => id === (event.agent_id ?? ""));
  return stepId ? withStep(changed, stepId, null, (step) => movedByAgent(step, event)) : changed;
}

// Whether a task is done is the plan's word (a check may find it wanting); that it runs, waits or broke off its agent's.
function movedByAgent(step, { status, error, task, modified, timestamp }) {
  if (modified && task) step = { ...step, task };
  if (status === "running" || status === "awaiting_user") return { ...step, status, startedAt: step.startedAt ?? timestamp ?? null, endedAt: null, error: null };
  if (!isEnded(status) || isEnded(step.status)) return step;
  return ended(step, status, error, timestamp);
}

// An agent may end in good order and still not have done what it was asked.
const foundWanting = (agent, status) => (agent.status === "completed" && status === "failed" ? { ...agent, status } : agent);

// The agent that worked on this task last.
function withWorker(trace, stepId, change) {
  const worker = trace.agents.findLast((agent) => agent.stepId === stepId);
  return worker ? withAgent(trace, worker.id, change) : trace;
}

const newAgent = (id) => ({
  id, name: "", parentId: null, status: "running", task: "", error: null, modified: false, comment: null, dependsOn: [], stepId: null,
  bornAt: null, startedAt: null, endedAt: null, usage: NO_USAGE, sources: [], entries: [],
});

function withAgent(trace, agentId, change) {
  const id = agentId ?? "";
  const at = trace.agents.findIndex((agent) => agent.id === id);
  const agents = at < 0 ? [...trace.agents, change(newAgent(id))] : trace.agents.with(at, change(trace.agents[at]));
  return { ...trace, agents };
}

export function withSource(sources, source) {
  const same = (other) => other.source === source.source && other.url === source.url && other.page === source.page && other.section === source.section;
  return sources.some(same) ? sources : [...sources, source];
}

// An event leaves out a cost that nobody knows.
export const asUsage = (usage) => ({ ...usage, cost_usd: usage.cost_usd ?? null });

// A cost that is unknown once stays unknown: null is not free.
export function addUsage(sum, told) {
  const more = asUsage(told);
  const cost = sum.cost_usd === null || more.cost_usd === null ? null : sum.cost_usd + more.cost_usd;
  return { prompt_tokens: sum.prompt_tokens + more.prompt_tokens, completion_tokens: sum.completion_tokens + more.completion_tokens, cost_usd: cost };
}

// ── what an agent did, in order ──

function noted(trace, { agent_id, timestamp }, entry) {
  return withAgent(trace, agent_id, (agent) => ({ ...agent, entries: [...agent.entries, { ...entry, at: timestamp ?? null }] }));
}

function withEntries(trace, agentId, change) {
  return withAgent(trace, agentId, (agent) => ({ ...agent, entries: change(agent.entries) }));
}

// The programs of all agents ran beside the worker that is gone.
function withLost(agent) {
  const entries = lost(agent.entries);
  return entries === agent.entries ? agent : { ...agent, entries };
}

function changedEntry(trace, agentId, at, change) {
  return withAgent(trace, agentId, (agent) => ({ ...agent, entries: agent.entries.with(at, { ...agent.entries[at], ...change }) }));
}

const entriesOf = (trace, agentId) => trace.agents.find(({ id }) => id === (agentId ?? ""))?.entries ?? [];

// What the agent was about is done anew: it will not end.
function cutShort(trace, event) {
  const stopped = (entry) => (entry.status === "running" ? { ...entry, status: "cancelled", endedAt: event.timestamp ?? null } : entry);
  const before = withAgent(trace, event.agent_id, (agent) => ({ ...agent, entries: agent.entries.map(stopped) }));
  return noted(before, event, { kind: "cut", reason: event.reason });
}

function staged(trace, event) {
  const { name, description, status, agent_id, timestamp } = event;
  const open = entriesOf(trace, agent_id).findLastIndex((entry) => entry.kind === "stage" && entry.name === name && entry.status === "running");
  const endedAt = status === "running" ? null : (timestamp ?? null);
  if (open >= 0) return changedEntry(trace, agent_id, open, { status, endedAt, ...(description && { text: description }) });
  return noted(trace, event, { kind: "stage", name, text: description || name, status, endedAt });
}

function withAdded(trace, { heard, agent_id }) {
  return heard ? { ...trace, added: [...trace.added, { ...heard, agentId: agent_id ?? "" }] } : trace;
}

// What was added behind words that are taken back stands behind those that stay.
function takenBack(trace, { agent_id, channel, keep }) {
  const isBehind = ({ agentId, at }) => agentId === (agent_id ?? "") && at > keep;
  if (channel === "thinking" || !trace.added.some(isBehind)) return trace;
  return { ...trace, added: trace.added.map((one) => (isBehind(one) ? { ...one, at: keep } : one)) };
}

// `stage`: the place of the stage that the call belongs to, among the agent's entries.
function called(trace, event) {
  const { tool, label, args, id, agent_id, stage } = event;
  const open = (entry) => entry.kind === "stage" && entry.status === "running";
  const entries = entriesOf(trace, agent_id);
  const named = stage ? entries.findLastIndex((entry) => open(entry) && entry.name === stage) : -1;
  const parent = named >= 0 ? named : entries.findLastIndex(open);
  return noted(trace, event, { kind: "tool", id: id ?? null, tool, label: label ?? "", args: args ?? {}, stage: parent < 0 ? null : parent, status: "running", result: null, clipped: false, endedAt: null });
}

// Matched by id; a result without one belongs to the oldest open call of that tool.
function returned(trace, event) {
  const { tool, content, id, is_error, clipped, already_done, agent_id, timestamp, seq } = event;
  const waits = (entry) => entry.kind === "tool" && entry.status === "running" && (id ? entry.id === id : entry.tool === tool);
  const at = entriesOf(trace, agent_id)[id ? "findLastIndex" : "findIndex"](waits);
  const outcome = { status: is_error ? "failed" : "completed", result: content, clipped: clipped ?? false, seq, alreadyDone: already_done ?? false, endedAt: timestamp ?? null };
  if (at >= 0) return changedEntry(trace, agent_id, at, outcome);
  return noted(trace, event, { kind: "tool", id: id ?? null, tool, args: null, stage: null, ...outcome });
}

// ── questions to people ──

// What a call would do is not told by events: the API tells it, to those who may see it. `batch`: the first of the approvals that
// this agent asks for at once, the calls of one answer of its model.
function approvalAsked(trace, event) {
  const { request_id: id, agent_id, tool_names, task_description, timestamp } = event;
  const agentId = agent_id ?? "";
  const details = { tool_names: tool_names ?? [], task_description: task_description ?? "" };
  const open = trace.requests.find((other) => other.kind === "approval" && other.agentId === agentId && other.status === "pending" && other.id !== id);
  const request = {
    id, kind: "approval", question: "", details, options: [], agentId, status: "pending", batch: open?.batch ?? id,
    choice: null, text: null, by: null, askedAt: timestamp ?? null, endedAt: null,
  };
  const told = noted(trace, event, { kind: "approval", id, tools: details.tool_names, task: details.task_description, status: "pending" });
  return withRequest(told, request);
}

function approvalEnded(trace, event, status) {
  const { request_id, reason, timestamp } = event;
  const ended = withEntry(trace, request_id, { status, reason: reason ?? "" });
  const requests = ended.requests.map((request) => (request.id === request_id ? { ...request, status, text: reason || null, endedAt: timestamp ?? null } : request));
  return { ...ended, requests };
}

function withEntry(trace, id, change) {
  const isIt = (entry) => entry.kind === "approval" && entry.id === id;
  const owner = trace.agents.find(({ entries }) => entries.some(isIt));
  return owner ? changedEntry(trace, owner.id, owner.entries.findIndex(isIt), change) : trace;
}

function asked(trace, { request_id, kind, question, details, options, agent_id, timestamp }) {
  const request = {
    id: request_id, kind, question, details: details ?? {}, options: options ?? [], agentId: agent_id ?? "", status: "pending",
    choice: null, text: null, by: null, askedAt: timestamp ?? null, endedAt: null,
  };
  return withRequest(trace, request);
}

function withRequest(trace, request) {
  return { ...trace, requests: [...trace.requests.filter(({ id }) => id !== request.id), request] };
}

function answered(trace, { request_id, status, choice, text, decided_by, timestamp }) {
  const requests = trace.requests.map((request) =>
    request.id === request_id ? { ...request, status, choice: choice ?? null, text: text ?? null, by: decided_by ?? null, endedAt: timestamp ?? null } : request,
  );
  return { ...trace, requests };
}

// A run that is over asks nothing more.
function over(trace) {
  const pending = trace.requests.filter(({ status }) => status === "pending");
  const closed = pending.reduce((so_far, { id }) => withEntry(so_far, id, { status: "expired" }), trace);
  return { ...closed, whole: true, requests: trace.requests.map((request) => (request.status === "pending" ? { ...request, status: "expired" } : request)) };
}
