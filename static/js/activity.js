// Words for people: what a run does, how it went, how long it took, what it used. Pure.
import { agentLabel } from "./agents.js";
import { agentStatus, planRows, progressOf, rootOf, toolCalls } from "./plan.js";

const DOING = {
  pending: "Waiting for a free worker",
  running: "Working",
  awaiting_user: "Waiting for your answer",
  awaiting_approval: "Waiting for approval",
  thinking: "Thinking",
  writing: "Writing",
  resuming: "A worker stopped; another one goes on",
};

const TOOLS = Object.assign(Object.create(null), { execute_code: "Running a program", execute_script: "Running a script" });

const STATUS = {
  pending: "Not begun", running: "Running", awaiting_user: "Waiting for a person", completed: "Done", failed: "Failed", skipped: "Skipped",
  cancelled: "Stopped", deleted: "Stopped by you",
};

export const statusWords = (status) => STATUS[status] ?? status;

export const isWaiting = ({ status, trace }) => status === "awaiting_user" || (status === "running" && onlyPeopleAreWaitedFor(trace));

// Somebody is asked, and no agent works meanwhile.
function onlyPeopleAreWaitedFor(trace) {
  if (!trace.requests.some(({ status }) => status === "pending")) return false;
  const root = rootOf(trace);
  return !trace.agents.some((agent) => agent !== root && agentStatus(trace, agent, true) === "running");
}

export function doing(execution) {
  if (isWaiting(execution)) return waitingWords(execution);
  const { kind, text } = execution.activity ?? { kind: execution.status, text: "" };
  if (kind === "stage") return text;
  if (kind === "tool") return TOOLS[text] ?? `Using ${text}`;
  return DOING[kind] ?? "Working";
}

// Others than the reader may have to approve, so it does not say whose turn it is.
function waitingWords({ trace }) {
  const pending = trace.requests.filter(({ status }) => status === "pending");
  return pending.length && pending.every(({ kind }) => kind === "approval") ? DOING.awaiting_approval : DOING.awaiting_user;
}

// One line while the run goes on.
export function liveLine(execution) {
  const { trace } = execution;
  if (!trace.plan?.steps.length) return doing(execution);
  const rows = planRows(trace, true);
  return [planCount(rows), isWaiting(execution) ? waitingWords(execution) : atWork(rows, execution)].filter(Boolean).join(" · ");
}

function planCount(rows) {
  const { done, total } = progressOf(rows);
  return `Plan · ${done} of ${total} done`;
}

// "Research and Web work": who works on a task now.
function atWork(rows, execution) {
  const names = [...new Set(rows.filter(({ status }) => status === "running").map(({ agent }) => agentLabel(agent)))];
  if (!names.length) return execution.activity?.kind === "writing" ? "Writing the answer" : doing(execution);
  if (names.length > 3) return `${names.length} agents at work`;
  return `${listed(names)} at work`;
}

const listed = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);

// One line when it is over.
export function endLine({ trace, startedAt, endedAt, status }) {
  const time = startedAt !== null && endedAt !== null && endedAt - startedAt >= 50 ? duration(endedAt - startedAt) : null;
  const broken = status === "cancelled" ? "stopped" : status === "failed" ? "failed" : null;
  if (trace.plan?.steps.length) {
    const rows = planRows(trace, false);
    const { failed } = progressOf(rows);
    return [planCount(rows), failed ? `${failed} failed` : null, broken, time].filter(Boolean).join(" · ");
  }
  const workers = trace.agents.filter((agent) => agent !== rootOf(trace));
  const calls = trace.agents.reduce((sum, agent) => sum + toolCalls(agent), 0);
  const sources = trace.agents.reduce((sum, agent) => sum + agent.sources.length, 0);
  const names = [...new Set(workers.map(({ name }) => agentLabel(name)))];
  const who = names.length > 3 ? `${names.length} agents` : names.length ? listed(names) : "Activity";
  return [who, counted(calls, "tool call"), counted(sources, "source"), broken, time].filter(Boolean).join(" · ");
}

export const counted = (count, word) => (count ? `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}` : null);

export function duration(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

// Whole seconds, for a clock that ticks.
export function clock(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function cost(usd) {
  if (usd === null || usd === undefined) return "price unknown";
  if (usd === 0) return "no cost";
  if (usd < 0.0001) return "under $0.0001";
  return `$${usd.toFixed(usd < 0.01 ? 4 : 2)}`;
}

// Tokens and money of a run or an agent; only what is known.
export function usageFacts(usage) {
  const tokens = usage ? usage.prompt_tokens + usage.completion_tokens : 0;
  return tokens ? [`${tokens.toLocaleString("en")} tokens`, cost(usage.cost_usd)] : [];
}

// The facts below an answer: model (if one was asked), time, tokens, money.
export function facts({ model, usage, startedAt, endedAt }) {
  const asked = usage.prompt_tokens + usage.completion_tokens > 0;
  return [asked ? model : null, startedAt !== null && endedAt - startedAt >= 50 ? duration(endedAt - startedAt) : null, ...usageFacts(usage)].filter(Boolean);
}

// Of a call whose effect was found to have happened before: in another try of the run, or before its code changed.
export const ALREADY_DONE = { label: "already done", title: "This had happened before. It was found, and not done again." };

const METHODS = { explicit: "as you chose", heuristic: "heuristic", model: "by the model", fallback: "fallback" };

// "Routed to Research · heuristic · 0.92"
export function routingLine({ agent, method, confidence }) {
  const to = agent === "planner" ? "Planned for several agents" : `Routed to ${agentLabel(agent)}`;
  const how = METHODS[method] ?? method;
  return [to, how, method === "explicit" ? null : confidence.toFixed(2)].filter(Boolean).join(" · ");
}

const ANSWERED = {
  pending: "Waiting for an answer", answered: "Answered", approved: "Approved", denied: "Declined", timed_out: "Nobody answered in time",
  expired: "The run ended before it was answered", cancelled: "Withdrawn",
};

export const requestWords = (status) => ANSWERED[status] ?? status;
