// Words for people: what a run does, how it went, how long it took, what it used. Pure.
import { agentLabel } from "./agents.js";
import { language, t, tn } from "./i18n.js";
import { agentStatus, planRows, progressOf, rootOf, toolCalls } from "./plan.js";
import { inOurWords } from "./told.js";
import { quotedTool } from "./tools.js";

const DOING = {
  pending: () => t("Waiting for a free worker"),
  running: () => t("Working"),
  awaiting_user: () => t("Waiting for your answer"),
  awaiting_approval: () => t("Waiting for approval"),
  thinking: () => t("Thinking"),
  writing: () => t("Writing"),
  resuming: () => t("A worker stopped; another one goes on"),
};

const TOOLS = { execute_code: () => t("Running a program"), execute_script: () => t("Running a script") };

const STATUS = {
  pending: () => t("Not begun"), running: () => t("Running"), awaiting_user: () => t("Waiting for a person"), completed: () => t("Done"), failed: () => t("Failed"),
  skipped: () => t("Skipped"), cancelled: () => t("Stopped"), deleted: () => t("Stopped by you"),
};

// What a table says of a name; a name that it does not know is said as it is.
const inWords = (table, name, otherwise = name) => (Object.hasOwn(table, name) ? table[name]() : otherwise);

export const statusWords = (status) => inWords(STATUS, status);

export const isWaiting = ({ status, trace }) => status === "awaiting_user" || (status === "running" && onlyPeopleAreWaitedFor(trace));

// Somebody is asked, and no agent works meanwhile.
function onlyPeopleAreWaitedFor(trace) {
  if (!trace.requests.some(({ status }) => status === "pending")) return false;
  const root = rootOf(trace);
  return !trace.agents.some((agent) => agent !== root && agentStatus(trace, agent, true) === "running");
}

export function doing(execution) {
  if (isWaiting(execution)) return waitingWords(execution);
  const { kind, text, label } = execution.activity ?? { kind: execution.status, text: "" };
  if (kind === "stage") return inOurWords(text);
  if (kind === "tool") return inWords(TOOLS, text, t("Using {tool}", { tool: quotedTool(text, label) }));
  return inWords(DOING, kind, t("Working"));
}

// Others than the reader may have to approve, so it does not say whose turn it is.
function waitingWords({ trace }) {
  const pending = trace.requests.filter(({ status }) => status === "pending");
  return pending.length && pending.every(({ kind }) => kind === "approval") ? DOING.awaiting_approval() : DOING.awaiting_user();
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
  return t("Plan · {done} of {total} done", { done, total });
}

// "Research and Web work": who works on a task now.
function atWork(rows, execution) {
  const names = [...new Set(rows.filter(({ status }) => status === "running").map(({ agent }) => agentLabel(agent)))];
  if (!names.length) return execution.activity?.kind === "writing" ? t("Writing the answer") : doing(execution);
  if (names.length > 3) return tn("{count} agent at work", "{count} agents at work", names.length);
  return t("{agents} at work", { agents: listed(names) });
}

function listed(names) {
  if (names.length < 2) return names.join("");
  return t("{names} and {last}", { names: names.slice(0, -1).join(", "), last: names.at(-1) });
}

// One line when it is over.
export function endLine({ trace, startedAt, endedAt, status }) {
  const time = startedAt !== null && endedAt !== null && endedAt - startedAt >= 50 ? duration(endedAt - startedAt) : null;
  const broken = status === "cancelled" ? t("stopped") : status === "failed" ? t("failed") : null;
  if (trace.plan?.steps.length) {
    const rows = planRows(trace, false);
    const { failed } = progressOf(rows);
    return [planCount(rows), failed ? tn("{count} failed", "{count} failed", failed) : null, broken, time].filter(Boolean).join(" · ");
  }
  const workers = trace.agents.filter((agent) => agent !== rootOf(trace));
  const calls = trace.agents.reduce((sum, agent) => sum + toolCalls(agent), 0);
  const sources = trace.agents.reduce((sum, agent) => sum + agent.sources.length, 0);
  const names = [...new Set(workers.map(({ name }) => agentLabel(name)))];
  const who = names.length > 3 ? agentsWords(names.length) : names.length ? listed(names) : t("Activity");
  return [who, callsWords(calls), sourcesWords(sources), broken, time].filter(Boolean).join(" · ");
}

// Nothing is said of none.
export const agentsWords = (count) => (count ? tn("{count} agent", "{count} agents", count) : null);
export const callsWords = (count) => (count ? tn("{count} tool call", "{count} tool calls", count) : null);
export const sourcesWords = (count) => (count ? tn("{count} source", "{count} sources", count) : null);

export function duration(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  const whole = Math.round(seconds);
  if (seconds < 9.95) return t("{count} s", { count: decimal(seconds, 1) });
  if (whole < 60) return t("{count} s", { count: whole });
  if (whole >= 3_600) return t("{hours} h {minutes} min", { hours: Math.floor(whole / 3_600), minutes: String(Math.floor((whole % 3_600) / 60)).padStart(2, "0") });
  return t("{minutes} min {seconds} s", { minutes: Math.floor(whole / 60), seconds: String(whole % 60).padStart(2, "0") });
}

// Whole seconds, for a clock that ticks.
export function clock(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return t("{count} s", { count: seconds });
  const two = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

const decimal = (value, places) => value.toLocaleString(language, { minimumFractionDigits: places, maximumFractionDigits: places });

export function cost(usd) {
  if (usd === null || usd === undefined) return t("price unknown");
  if (usd === 0) return t("no cost");
  if (usd < 0.0001) return t("under {price}", { price: "$0.0001" });
  return `$${decimal(usd, usd < 0.01 ? 4 : 2)}`;
}

// Tokens and money of a run or an agent; only what is known.
export function usageFacts(usage) {
  const tokens = usage ? usage.prompt_tokens + usage.completion_tokens : 0;
  return tokens ? [tn("{count} token", "{count} tokens", tokens), cost(usage.cost_usd)] : [];
}

// The facts below an answer: model (if one was asked), time, tokens, money.
export function facts({ model, usage, startedAt, endedAt }) {
  const asked = usage.prompt_tokens + usage.completion_tokens > 0;
  return [asked ? model : null, startedAt !== null && endedAt - startedAt >= 50 ? duration(endedAt - startedAt) : null, ...usageFacts(usage)].filter(Boolean);
}

// Of a call whose effect was found to have happened before: in another try of the run, or before its code changed.
export const alreadyDone = () => ({ label: t("already done"), title: t("This had happened before. It was found, and not done again.") });

const METHODS = { explicit: () => t("as you chose"), heuristic: () => t("heuristic"), model: () => t("by the model"), fallback: () => t("fallback") };

// "Routed to Research · heuristic · 0.92"
export function routingLine({ agent, method, confidence }) {
  const to = agent === "planner" ? t("Planned for several agents") : t("Routed to {agent}", { agent: agentLabel(agent) });
  const how = inWords(METHODS, method);
  return [to, how, method === "explicit" ? null : decimal(confidence, 2)].filter(Boolean).join(" · ");
}

const ANSWERED = {
  pending: () => t("Waiting for an answer"), answered: () => t("Answered"), approved: () => t("Approved"), denied: () => t("Declined"), timed_out: () => t("Nobody answered in time"),
  expired: () => t("The run ended before it was answered"), cancelled: () => t("Withdrawn"),
};

export const requestWords = (status) => inWords(ANSWERED, status);
