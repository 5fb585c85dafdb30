// What a person sees of a conversation and of its runs, without what depends on when they looked: to be compared.
import { resultsOf } from "../../static/js/hands.js";
import { FINAL, answerText } from "../../static/js/store.js";

// The messages: the same from events and from a reload.
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
      checks: execution?.checks ?? [],
    };
  });
}

// How each run went that is known to its end or is being told: the same from events as they come and from the log that is read.
export function runsOf(state) {
  const known = Object.values(state.executions).filter(({ status, trace }) => trace.whole || !FINAL.has(status));
  return Object.fromEntries(known.map(({ id, trace }) => [id, summaryOfTrace(trace)]).sort(([a], [b]) => (a < b ? -1 : 1)));
}

// Without moments: the plan, the tree of agents, their tools, what came of them, and what was asked.
export function summaryOfTrace(trace) {
  const { whole, routing, plan, agents, requests, added } = trace;
  return {
    whole,
    routing,
    plan: plan && { ...plan, steps: plan.steps.map(timeless) },
    tree: agents.map(({ entries, bornAt, ...agent }) => timeless(agent)),
    tools: agents.flatMap(({ id, entries }) => entries.map(({ at, ...entry }) => ({ agent: id, ...timeless(entry) }))),
    outputs: Object.fromEntries(Object.entries(resultsOf(trace)).map(([kind, found]) => [kind, found.map(({ at, ...entry }) => entry)])),
    requests: requests.map(({ askedAt, ...request }) => timeless(request)),
    added,
  };
}

const timeless = ({ startedAt, endedAt, ...rest }) => rest;
