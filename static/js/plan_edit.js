// Changes that a person makes to a plan before it runs. Pure: a list of {id, agent, task, dependsOn, rest} in, a new one out.
// `rest` is what else the server says of a task; it goes back as it came.
import { t } from "./i18n.js";

export const retask = (steps, id, task) => steps.map((step) => (step.id === id ? { ...step, task } : step));

// What waited for a dropped task waits for what that one waited for: the order of the rest stays.
export function drop(steps, id) {
  const dropped = steps.find((step) => step.id === id);
  return steps
    .filter((step) => step.id !== id)
    .map((step) => (step.dependsOn.includes(id) ? { ...step, dependsOn: unique([...step.dependsOn.filter((other) => other !== id), ...dropped.dependsOn]) } : step));
}

export const unlink = (steps, id, from) =>
  steps.map((step) => (step.id === id ? { ...step, dependsOn: step.dependsOn.filter((other) => other !== from) } : step));

export const link = (steps, id, from) =>
  steps.map((step) => (step.id === id ? { ...step, dependsOn: unique([...step.dependsOn, from]) } : step));

// Those that a task does not wait for yet and may: none that waits for it itself, however far along.
export function mayWaitFor(steps, id) {
  const after = new Set([id]);
  for (let size = 0; size < after.size; ) {
    size = after.size;
    for (const step of steps) if (step.dependsOn.some((other) => after.has(other))) after.add(step.id);
  }
  const known = new Set(steps.find((step) => step.id === id).dependsOn);
  return steps.filter((step) => !after.has(step.id) && !known.has(step.id));
}

export function add(steps, { agent, task }) {
  let number = 1;
  while (steps.some(({ id }) => id === `added-${number}`)) number += 1;
  return [...steps, { id: `added-${number}`, agent, task, dependsOn: [], rest: {} }];
}

// As the server reads it.
export function asPlan(steps) {
  return { tasks: steps.map(({ id, agent, task, dependsOn, rest }) => ({ ...rest, id, agent, task: task.trim(), depends_on: dependsOn })) };
}

export function isChanged(steps, original) {
  return JSON.stringify(asPlan(steps)) !== JSON.stringify(asPlan(original));
}

// Why the plan cannot be sent so, or null.
export function faultOf(steps) {
  if (!steps.length) return t("A plan needs at least one task. Reject the plan if nothing shall be done.");
  return steps.some(({ task }) => !task.trim()) ? t("A task is empty: say what shall be done, or drop it.") : null;
}

const unique = (ids) => [...new Set(ids)];
