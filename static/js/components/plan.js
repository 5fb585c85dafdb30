// The plan as a checklist: stages, tasks with state and time, what each shall bring, what was amended on the way.
import { html, useState } from "../../vendor/preact.js";
import { statusWords } from "../activity.js";
import { parts, t, tn } from "../i18n.js";
import { byStage, planRows, progressOf } from "../plan.js";
import { quotedTool, toolLabel } from "../tools.js";
import { AgentBadge } from "./badge.js";
import { Icon } from "./icons.js";
import { StateIcon } from "./state_icon.js";
import { Elapsed } from "./ticking.js";

const MOST_SEGMENTS = 24;

export function Plan({ trace, isLive }) {
  const rows = planRows(trace, isLive);
  const { asksAbout, amendments } = trace.plan;
  return html`<div class="plan" role="group" aria-label=${t("Plan")}>
    <${ProgressBar} rows=${rows} />
    ${isLive && asksAbout.length > 0 && html`<p class="plan-note"><${Icon} name="question" /><span>${t("This plan will ask you about: {tools}", { tools: asksAbout.map((name) => quotedTool(name)).join(", ") })}</span></p>`}
    ${amendments.map(({ revision, notice, byPerson }) => html`<p class="plan-note" key=${revision}>
      <${Icon} name="pencil" /><span>${notice ? parts("{what}: {notice}", { what: amendedWords(byPerson, revision), notice: html`<span dir="auto">${notice}</span>` }) : amendedWords(byPerson, revision)}</span></p>`)}
    <ol class="plan-stages">
      ${byStage(rows).map(({ stage, rows: members }) => html`<li key=${stage} class=${members.length > 1 ? "plan-stage is-together" : "plan-stage"}>
        ${members.length > 1 && html`<p class="plan-together">${t("Together")}</p>`}
        <ol>${members.map((row) => html`<${Task} key=${row.id} row=${row} isLive=${isLive} />`)}</ol>
      </li>`)}
    </ol>
  </div>`;
}

function amendedWords(byPerson, revision) {
  if (byPerson) return t("You changed this plan");
  return revision > 0 ? t("Plan amended") : t("About this plan");
}

function ProgressBar({ rows }) {
  const { done, total, failed, skipped } = progressOf(rows);
  const words = [tn("{done} of {count} task done", "{done} of {count} tasks done", total, { done }), failed ? tn("{count} failed", "{count} failed", failed) : null, skipped ? tn("{count} skipped", "{count} skipped", skipped) : null].filter(Boolean).join(", ");
  const counts = rows.filter(({ status }) => status !== "deleted");
  return html`<div class=${`plan-bar ${total > MOST_SEGMENTS ? "is-dense" : ""}`} role="progressbar" aria-label=${t("Progress of the plan")} aria-valuemin="0"
    aria-valuemax=${total} aria-valuenow=${done} aria-valuetext=${words}>
    ${counts.map(({ id, status }) => html`<span key=${id} class=${`is-${status}`}></span>`)}
  </div>`;
}

function Task({ row, isLive }) {
  const [open, setOpen] = useState(false);
  const { number, status, task, agent, after, outcome, tools, error } = row;
  return html`<li class=${`task-row is-${status}`} data-step=${row.id} data-status=${status}>
    <button type="button" class="row-button" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>
      <${StateIcon} status=${status} />
      <span class="task-text" dir="auto">${task}</span>
      ${status === "awaiting_user" && html`<span class="row-note is-waiting">${t("Waiting for an answer")}</span>`}
      ${(status === "deleted" || status === "skipped") && html`<span class="row-note">${statusWords(status)}</span>`}
      <${AgentBadge} name=${agent} />
      <span class="task-time"><${Elapsed} of=${row} isLive=${isLive} /></span>
      <${Icon} name="chevron" />
    </button>
    ${error && html`<p class="row-error" dir="auto">${error}</p>`}
    ${open && html`<dl class="row-facts" aria-label=${t("About task {number}", { number })}>
      <div><dt>${t("Task {number}", { number })}</dt><dd dir="auto">${task}</dd></div>
      ${outcome && html`<div><dt>${t("Expected")}</dt><dd dir="auto">${outcome}</dd></div>`}
      <div><dt>${t("Starts")}</dt><dd>${after.length ? tn("after task {tasks}", "after tasks {tasks}", after.length, { tasks: after.join(", ") }) : t("at once")}</dd></div>
      ${tools.length > 0 && html`<div><dt>${t("Tools")}</dt><dd>${tools.map((tool) => html`<span class="badge" title=${tool}>${toolLabel(tool)}</span> `)}</dd></div>`}
    </dl>`}
  </li>`;
}
