// A run as lanes of time, one for each agent, parents above their children. Pure.
import { agentStatus, rootOf, treeOf } from "../plan.js";

const MARKED = new Set(["tool", "program", "model"]);

// [{agent, depth, status, from, to, marks: [{at, kind, status}], waits: [{from, to}]}]. `end`: of the run, or now.
export function lanesOf(trace, end, isLive) {
  const root = rootOf(trace);
  const lanes = root ? [laneOf(trace, root, 0, end, isLive)] : [];
  const walk = (nodes, depth) => {
    for (const { agent, children } of nodes) {
      lanes.push(laneOf(trace, agent, depth, end, isLive));
      walk(children, depth + 1);
    }
  };
  walk(treeOf(trace), 1);
  return lanes;
}

function laneOf(trace, agent, depth, end, isLive) {
  const marks = agent.entries.filter(({ kind, at }) => MARKED.has(kind) && at !== null).map(({ kind, at, status }) => ({ kind, at, status: status ?? "completed" }));
  const waits = trace.requests
    .filter(({ agentId, askedAt }) => agentId === agent.id && askedAt !== null)
    .map(({ askedAt, endedAt }) => ({ from: askedAt, to: endedAt ?? agent.endedAt ?? end }));
  const from = agent.startedAt;
  return { agent, depth, status: agentStatus(trace, agent, isLive), from, to: from === null ? null : (agent.endedAt ?? end), marks, waits };
}

// Places of marks (0..1), those that would lie upon each other once: thousands of calls are no more than can be seen.
export function seenMarks(marks, placeOf, steps = 400) {
  const seen = new Map();
  for (const { at, kind, status } of marks) {
    const key = Math.round(placeOf(at) * steps);
    const group = status === "failed" ? "failed" : kind === "model" ? "model" : "tool";
    const before = seen.get(key);
    if (!before || RANK[group] > RANK[before]) seen.set(key, group);
  }
  return [...seen].map(([key, group]) => ({ place: key / steps, group }));
}

const RANK = { model: 0, tool: 1, failed: 2 };

// The round steps of an axis, at most so many of them: [milliseconds since its beginning].
export function ticksOf(total, most = 6) {
  if (total <= 0) return [0];
  const step = STEPS_MS.find((one) => total / one <= most) ?? Math.ceil(total / most / DAY_MS) * DAY_MS;
  return Array.from({ length: Math.floor(total / step) + 1 }, (_, index) => index * step);
}

const DAY_MS = 86_400_000;
const STEPS_MS = [20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, DAY_MS];
