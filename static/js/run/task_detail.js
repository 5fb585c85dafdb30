// A task of the plan that was opened in the graph: what it shall bring, where it stands, and the way to its agent.
import { html, useEffect, useRef } from "../../vendor/preact.js";
import { statusWords } from "../activity.js";
import { AgentBadge } from "../components/badge.js";
import { Icon } from "../components/icons.js";
import { StateIcon } from "../components/state_icon.js";
import { Elapsed } from "../components/ticking.js";
import { t, tn } from "../i18n.js";
import { toolLabel } from "../tools.js";

export function TaskDetail({ row, trace, isLive, showAgent, close }) {
  const element = useRef(null);
  useEffect(() => {
    element.current.focus({ preventScroll: true });
    element.current.scrollIntoView({ block: "nearest" });
  }, [row.id]);
  const { number, status, task, agent, after, outcome, tools, error } = row;
  const worker = trace.agents.findLast(({ stepId }) => stepId === row.id);
  const onKeyDown = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  return html`<section class="run-card" ref=${element} tabindex="-1" aria-label=${t("About task {number}", { number })} data-task=${row.id} onKeyDown=${onKeyDown}>
    <header class="run-card-head"><${StateIcon} status=${status} /><strong aria-hidden="true">${statusWords(status)}</strong><${AgentBadge} name=${agent} /><${Elapsed} of=${row} isLive=${isLive} />
      <span class="composer-gap"></span><button type="button" class="icon-button small" onClick=${close} aria-label=${t("Close")}><${Icon} name="close" /></button></header>
    <p dir="auto">${task}</p>
    ${error && html`<p class="row-error" dir="auto">${error}</p>`}
    <dl class="row-facts">
      ${outcome && html`<div><dt>${t("Expected")}</dt><dd dir="auto">${outcome}</dd></div>`}
      <div><dt>${t("Starts")}</dt><dd>${after.length ? tn("after task {tasks}", "after tasks {tasks}", after.length, { tasks: after.join(", ") }) : t("at once")}</dd></div>
      ${tools.length > 0 && html`<div><dt>${t("Tools")}</dt><dd>${tools.map((tool) => html`<span key=${tool} class="badge" title=${tool}>${toolLabel(tool)}</span> `)}</dd></div>`}
    </dl>
    ${worker && html`<button type="button" class="button small-button" onClick=${() => showAgent(worker.id)}><${Icon} name="branch" />${t("Show its agent")}</button>`}
  </section>`;
}
