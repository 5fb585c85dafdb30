// What another run that begins from this one keeps, and what it does anew, as the server decides it (agents/engine/copying.py):
// who could have seen what is done anew, does its own work anew. For people, before they say so. Pure.
import { agentLabel } from "../agents.js";
import { t } from "../i18n.js";
import { toolLabel } from "../tools.js";
import { isEnded } from "../trace.js";

const EVERYTHING = Infinity;
const NOTHING = -Infinity;

// `from`: when the step began from which the agent goes on; without it the agent begins anew. → {anew, onward, kept}: agents.
// `onward`: they keep what they recorded before, and go on.
export function againOf(trace, agentId, from = NOTHING) {
  const byId = new Map(trace.agents.map((agent) => [agent.id, agent]));
  const until = new Map();
  const gone = new Set();

  function forget(agent) {
    if (gone.has(agent.id)) return;
    gone.add(agent.id);
    for (const child of trace.agents) if (child.parentId === agent.id) forget(child);
    dependents(agent);
  }

  function dependents(agent) {
    for (const other of trace.agents) if (isAfter(other, agent)) reopen(other, NOTHING);
  }

  function reopen(agent, time) {
    if (gone.has(agent.id) || (until.has(agent.id) && time >= until.get(agent.id))) return;
    until.set(agent.id, time);
    for (const child of trace.agents) if (child.parentId === agent.id && bornAt(child) >= time) forget(child);
    const parent = byId.get(agent.parentId);
    if (parent) reopen(parent, agent.endedAt ?? EVERYTHING);
    dependents(agent);
  }

  const first = byId.get(agentId);
  if (!first) return { anew: [], onward: [], kept: trace.agents };
  reopen(first, from);
  const isAnew = ({ id }) => gone.has(id) || until.get(id) === NOTHING;
  const isOnward = ({ id }) => !gone.has(id) && until.has(id) && until.get(id) !== NOTHING;
  return {
    anew: trace.agents.filter(isAnew),
    onward: trace.agents.filter(isOnward),
    kept: trace.agents.filter((agent) => !isAnew(agent) && !isOnward(agent) && isEnded(agent.status)),
  };
}

const bornAt = ({ bornAt: born, startedAt }) => born ?? startedAt ?? 0;

// What an agent waits for is named by agents, or by tasks of the plan.
const isAfter = (other, agent) => other.dependsOn.includes(agent.id) || (agent.stepId !== null && other.dependsOn.includes(agent.stepId));

// The recorded step that is shown as this entry: of its kind and name, begun nearest to it. `steps`: as the API gives them.
export function stepFor(steps, entry) {
  const same = steps.filter(({ kind, name }) => (entry.kind === "model" ? kind === "model" : entry.kind === "tool" && kind === "tool" && name === entry.tool));
  const timeOf = (step) => Date.parse(entry.kind === "model" ? (step.ended_at ?? step.started_at) : step.started_at);
  if (same.length) return same.reduce((best, step) => (Math.abs(timeOf(step) - entry.at) < Math.abs(timeOf(best) - entry.at) ? step : best));
  return steps.findLast((step) => Date.parse(step.started_at) <= entry.at) ?? steps[0] ?? null;
}

const REQUEST_CHARS = 60;
const KINDS = {
  model: () => t("Asked {model}", { model: t("the model") }),
  tool: (name) => toolLabel(name),
  ask: () => t("A question"),
  fork: (name) => t("Began the agent {agent}", { agent: agentLabel(name) }),
  note: (name) => t("Noted: {what}", { what: name.replaceAll("_", " ") }),
};

// A recorded step in words, to choose it by.
export function recordedWords({ path, kind, name, request }) {
  const what = Object.hasOwn(KINDS, kind) ? KINDS[kind](name ?? "") : [kind, name].filter(Boolean).join(" ");
  const asked = String(request ?? "").replace(/\s+/g, " ").slice(0, REQUEST_CHARS);
  return [path, what, asked].filter(Boolean).join(" · ");
}
