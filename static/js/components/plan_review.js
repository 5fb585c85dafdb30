// A plan that a person looks over before it runs: change a task's words, drop one, add one, change what waits for what.
import { html, useMemo, useState } from "../../vendor/preact.js";
import { agentLabel, isAvailable } from "../agents.js";
import { t } from "../i18n.js";
import * as edit from "../plan_edit.js";
import { AgentBadge } from "./badge.js";
import { Icon } from "./icons.js";
import { useWords } from "./words.js";

const TASK_CHARS = 60; // of another task, in the list of those that may be waited for

export function PlanReview({ request, trace, roster, sending, answer }) {
  const original = useMemo(() => proposedSteps(request, trace), [request.id]);
  const [steps, setSteps] = useWords(request.id, "plan", original);
  const changed = edit.isChanged(steps, original);
  const fault = edit.faultOf(steps);
  const agents = agentsFor(roster, original);

  return html`<div class="review">
    <ol class="review-steps">
      ${steps.map((step, index) => html`<${Step} key=${step.id} step=${step} number=${index + 1} steps=${steps} sending=${sending} change=${setSteps} />`)}
    </ol>
    ${agents.length > 0 && html`<${AddTask} id=${request.id} agents=${agents} sending=${sending} add=${(task) => setSteps(edit.add(steps, task))} />`}
    ${fault && html`<p class="form-error" role="alert">${fault}</p>`}
    <div class="button-row">
      ${changed
        ? html`<button type="button" class="button button-primary" disabled=${sending || fault} onClick=${() => answer("answered", { plan: edit.asPlan(steps) })}>${t("Accept with changes")}</button>
          <button type="button" class="button" disabled=${sending} onClick=${() => setSteps(original)}>${t("Undo changes")}</button>`
        : html`<button type="button" class="button button-primary" disabled=${sending || fault} onClick=${() => answer("approved")}>${t("Accept")}</button>`}
      <button type="button" class="quiet-button" disabled=${sending} onClick=${() => answer("denied")}>${t("Reject")}</button>
    </div>
  </div>`;
}

// The plan as the question carries it, else the one that the run told last.
function proposedSteps({ details }, trace) {
  const told = details.plan?.tasks ?? details.plan?.steps ?? details.tasks ?? details.steps;
  if (!Array.isArray(told)) {
    const steps = trace.plan?.steps ?? [];
    return steps.map(({ id, agent, task, dependsOn, outcome, tools }) => ({ id, agent, task, dependsOn, rest: { expected_outcome: outcome, tools } }));
  }
  return told.map(({ id, agent, task, depends_on, ...rest }) => ({ id, agent: agent ?? "", task: task ?? "", dependsOn: depends_on ?? [], rest }));
}

function agentsFor(roster, steps) {
  const known = roster.filter(isAvailable).map(({ name }) => name);
  return known.length ? known : [...new Set(steps.map(({ agent }) => agent))];
}

function Step({ step, number, steps, sending, change }) {
  const numberOf = (id) => steps.findIndex((other) => other.id === id) + 1; // 0: a task that is done, of an earlier plan
  const id = `review-${step.id}`;
  return html`<li class="review-step">
    <div class="review-head"><span class="review-number">${number}</span><${AgentBadge} name=${step.agent} />
      <span class="review-edges">${step.dependsOn.filter(numberOf).map((from) => html`<button type="button" key=${from} class="chip" disabled=${sending} onClick=${() => change(edit.unlink(steps, step.id, from))}
        aria-label=${t("Task {number} need not wait for task {other}", { number, other: numberOf(from) })} title=${t("Do not wait for it")}>${t("after {number}", { number: numberOf(from) })}<${Icon} name="close" /></button>`)}<${WaitFor} step=${step} number=${number} steps=${steps} numberOf=${numberOf} sending=${sending} change=${change} /></span>
      <button type="button" class="icon-button small" disabled=${sending} onClick=${() => change(edit.drop(steps, step.id))} aria-label=${t("Drop task {number}", { number })} title=${t("Drop this task")}><${Icon} name="trash" /></button>
    </div>
    <label class="visually-hidden" for=${id}>${t("Task {number}", { number })}</label>
    <textarea id=${id} rows="2" dir="auto" value=${step.task} disabled=${sending} onInput=${(event) => change(edit.retask(steps, step.id, event.currentTarget.value))} onKeyDown=${keepEscape}></textarea>
  </li>`;
}

// Nothing that would make a circle is offered.
function WaitFor({ step, number, steps, numberOf, sending, change }) {
  const others = edit.mayWaitFor(steps, step.id);
  if (!others.length) return null;

  function choose({ currentTarget }) {
    if (currentTarget.value) change(edit.link(steps, step.id, currentTarget.value));
    currentTarget.value = "";
  }

  const words = t("What task {number} waits for as well", { number });
  return html`<select class="review-after" value="" disabled=${sending} aria-label=${words} title=${words} onChange=${choose} onKeyDown=${keepEscape}>
    <option value="">${t("after …")}</option>
    ${others.map(({ id, task }) => html`<option key=${id} value=${id}>${t("after {number}: {task}", { number: numberOf(id), task: task.length > TASK_CHARS ? `${task.slice(0, TASK_CHARS)}…` : task })}</option>`)}
  </select>`;
}

function AddTask({ id, agents, sending, add }) {
  const [agent, setAgent] = useState(agents[0]);
  const [task, setTask] = useWords(id, "task");

  function submit(event) {
    event.preventDefault();
    if (!task.trim()) return;
    add({ agent, task: task.trim() });
    setTask("");
  }

  return html`<form class="review-add" onSubmit=${submit} onKeyDown=${keepEscape}>
    <label class="visually-hidden" for=${`review-agent-${id}`}>${t("Agent of the new task")}</label>
    <select id=${`review-agent-${id}`} value=${agent} disabled=${sending} onChange=${(event) => setAgent(event.currentTarget.value)}>${agents.map((name) => html`<option value=${name}>${agentLabel(name)}</option>`)}</select>
    <label class="visually-hidden" for=${`review-task-${id}`}>${t("New task")}</label>
    <input id=${`review-task-${id}`} type="text" dir="auto" placeholder=${t("Add a task")} value=${task} disabled=${sending} onInput=${(event) => setTask(event.currentTarget.value)} />
    <button type="submit" class="button small-button" disabled=${sending || !task.trim()}><${Icon} name="plus" />${t("Add")}</button>
  </form>`;
}

// Esc elsewhere stops the run; here it is a key that was meant for a field.
function keepEscape(event) {
  if (event.key === "Escape") event.stopPropagation();
}
