// All that the agents of a run did and asked, in one list to search. Pure.

import { toolLabel } from "../tools.js";

// What a kind of entry is called where one chooses what to see.
const GROUPS = {
  tool: "tool", program: "program", browser: "browser", stream: "browser", chart: "made", image: "made", file: "made", preview: "made",
  model: "model", approval: "question", question: "question",
};

export const GROUP_NAMES = ["tool", "program", "browser", "made", "model", "question", "other"];

const groupOf = (kind) => (Object.hasOwn(GROUPS, kind) ? GROUPS[kind] : "other");

// [{key, agentId, agent, group, entry, at}] in the order in which they began. An approval is an entry already.
export function stepsOf(trace) {
  const names = new Map(trace.agents.map(({ id, name }) => [id, name]));
  const done = trace.agents.flatMap((agent) => agent.entries.map((entry, index) => stepOf(`${agent.id}.${index}`, agent.id, agent.name, entry)));
  const asked = trace.requests.filter(({ kind }) => kind !== "approval").map((request) =>
    stepOf(`request.${request.id}`, request.agentId, names.get(request.agentId) ?? "", { ...request, kind: "question", asks: request.kind, at: request.askedAt }));
  return [...done, ...asked].sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
}

const stepOf = (key, agentId, agent, entry) => ({ key, agentId, agent, group: groupOf(entry.kind), entry, at: entry.at });

const words = new WeakMap(); // entry → its text, to be searched

function textOf(entry) {
  if (!words.has(entry)) words.set(entry, `${entry.kind === "tool" ? toolLabel(entry.tool, entry.label) : ""} ${JSON.stringify(entry)}`.toLocaleLowerCase());
  return words.get(entry);
}

// Every word has to be somewhere in what the step says.
export function chosenSteps(steps, { agentId = "", group = "", query = "" }) {
  const wanted = query.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  return steps.filter((step) =>
    (!agentId || step.agentId === agentId) && (!group || step.group === group) && wanted.every((word) => textOf(step.entry).includes(word)));
}

export function countedByGroup(steps) {
  const counts = new Map();
  for (const { group } of steps) counts.set(group, (counts.get(group) ?? 0) + 1);
  return counts;
}

// A list cut into pieces, which are drawn when they come into view.
export function piecesOf(list, size) {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));
}
