// How a plan and its agents stand, for the page to draw: pure, from what trace.js folded. `isLive`: the run goes on.
import { t } from "./i18n.js";
import { inOurWords } from "./told.js";
import { addUsage, isEnded } from "./trace.js";

// A task or agent that a person is asked about waits for them, whatever it last said of itself; in a run that is over
// nothing goes on.
export function agentStatus(trace, agent, isLive) {
  if (isEnded(agent.status)) return agent.status;
  if (!isLive) return "cancelled";
  return trace.requests.some(({ agentId, status }) => agentId === agent.id && status === "pending") ? "awaiting_user" : agent.status;
}

function stepStatus(trace, step, isLive) {
  if (isEnded(step.status)) return step.status;
  if (!isLive) return "skipped";
  const waits = trace.agents.some((agent) => agent.stepId === step.id && agentStatus(trace, agent, isLive) === "awaiting_user");
  return waits ? "awaiting_user" : step.status;
}

// The tasks with their status as it is shown, and the numbers by which they name each other (from 1, in the plan's order).
export function planRows(trace, isLive) {
  const { steps } = trace.plan;
  const numbers = new Map(steps.map(({ id }, index) => [id, index + 1]));
  return steps.map((step) => ({
    ...step,
    status: stepStatus(trace, step, isLive),
    error: errorOf(trace, step),
    number: numbers.get(step.id),
    after: step.dependsOn.map((id) => numbers.get(id)).filter(Boolean),
  }));
}

// What the status says by itself.
const NO_FAULT = new Set(["skipped", "cancelled", "deleted"]);

// In words: the agent's own, where the plan has but a code such as `timed_out`; else ours.
function errorOf(trace, step) {
  if (!step.error || NO_FAULT.has(step.error)) return null;
  const own = isCode(step.error) && trace.agents.findLast((agent) => agent.stepId === step.id && agent.error && !isCode(agent.error))?.error;
  return errorInWords(own || step.error);
}

// Of an agent: its own words, or ours for a code.
export const errorInWords = (error) => (isCode(error) ? faultWords(error) : inOurWords(error));

const isCode = (error) => /^[a-z0-9_]+$/.test(error);

const FAULTS = {
  not_configured: () => t("What it needs is not set up here"), not_run: () => t("The program could not be run"), program_failed: () => t("The program failed"), no_code: () => t("No program was written"),
  no_result: () => t("Nothing was found"), search_failed: () => t("The search failed"), skill_failed: () => t("The skill failed"), mail_failed: () => t("The mailbox could not be used"),
  recipient_missing: () => t("Nobody to write to was named"), unknown_address: () => t("No address was found"), not_found: () => t("Nothing was found"),
  denied_by_user: () => t("It was not allowed"), hitl_timeout: () => t("Nobody decided in time"), hitl_skipped_non_streaming: () => t("Nobody could be asked"),
  timed_out: () => t("It took too long"), budget: () => t("The budget is used up"), iterations: () => t("It took too many steps"), repetition: () => t("It only repeated itself"),
  errors: () => t("Its tools failed again and again"),
};

function faultWords(code) {
  const spoken = code.replaceAll("_", " ");
  return Object.hasOwn(FAULTS, code) ? FAULTS[code]() : spoken[0].toUpperCase() + spoken.slice(1);
}

// [{stage, rows}] in the order of the stages: what stands in one stage can run together.
export function byStage(rows) {
  const stages = new Map();
  for (const row of rows) {
    if (!stages.has(row.stage)) stages.set(row.stage, []);
    stages.get(row.stage).push(row);
  }
  return [...stages].sort(([a], [b]) => a - b).map(([stage, members]) => ({ stage, rows: members }));
}

// Deleted tasks count no more.
export function progressOf(rows) {
  const counted = rows.filter(({ status }) => status !== "deleted");
  const count = (wanted) => counted.filter(({ status }) => status === wanted).length;
  return { total: counted.length, done: count("completed"), failed: count("failed"), skipped: count("skipped"), running: count("running"), waiting: count("awaiting_user") };
}

// ── the tree ──

// The agent that stands for the run itself: the first without a parent. What it does is the run's, not a node's.
export const rootOf = (trace) => trace.agents.find(({ parentId }) => parentId === null) ?? null;

// [{agent, children}] below the root, in the order in which they appeared. A parent that is missing, or that is below its
// own child, makes a top-level node: none is lost and none comes twice.
export function treeOf(trace) {
  const root = rootOf(trace);
  const byId = new Map(trace.agents.map((agent) => [agent.id, agent]));
  const nodes = new Map(trace.agents.filter((agent) => agent !== root).map((agent) => [agent.id, { agent, children: [] }]));
  const top = [];
  for (const node of nodes.values()) {
    const parent = isAboveItself(node.agent, byId) ? null : nodes.get(node.agent.parentId);
    (parent ? parent.children : top).push(node);
  }
  return top;
}

function isAboveItself(agent, byId) {
  const seen = new Set([agent.id]);
  for (let parent = byId.get(agent.parentId); parent; parent = byId.get(parent.parentId)) {
    if (parent.id === agent.id) return true;
    if (seen.has(parent.id)) return false;
    seen.add(parent.id);
  }
  return false;
}

// The names of what an agent waits for: other agents, or tasks of the plan.
export function waitsFor(trace, agent) {
  const rows = trace.plan?.steps ?? [];
  return agent.dependsOn.map((id) => {
    const other = trace.agents.find((one) => one.id === id);
    const at = rows.findIndex((step) => step.id === (other?.stepId ?? id));
    return { name: other?.name ?? rows[at]?.agent ?? id, number: at < 0 ? null : at + 1 };
  });
}

// What an agent and all below it used, and how many they are.
export function totalOf({ agent, children }) {
  return children.map(totalOf).reduce((sum, below) => ({ usage: addUsage(sum.usage, below.usage), agents: sum.agents + below.agents, calls: sum.calls + below.calls }),
    { usage: agent.usage, agents: 1, calls: toolCalls(agent) });
}

export const toolCalls = (agent) => agent.entries.filter(({ kind }) => kind === "tool").length;

// Milliseconds from the beginning to the end, or to `now` while it goes on; null if it has not begun.
export function elapsed({ startedAt, endedAt }, now) {
  if (startedAt === null || startedAt === undefined) return null;
  return Math.max(0, (endedAt ?? now) - startedAt);
}
