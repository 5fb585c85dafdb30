// The plan of a run: as a checklist, or as a graph of who waits for whom. A run without one says so, and shows its agents.
import { html, useMemo, useState } from "../../vendor/preact.js";
import { Plan } from "../components/plan.js";
import { Icon } from "../components/icons.js";
import { t } from "../i18n.js";
import { planRows } from "../plan.js";
import { AgentsPart } from "./agents_part.js";
import { PlanGraph } from "./plan_graph.js";
import { TaskDetail } from "./task_detail.js";

export function PlanPart(context) {
  const { trace, isLive, showAgent } = context;
  const [asGraph, setAsGraph] = useState(kept.asGraph);
  const [chosen, setChosen] = useState(null);
  const rows = useMemo(() => (trace.plan ? planRows(trace, isLive) : []), [trace, isLive]);
  if (!rows.length) return html`<p class="run-note">${isLive ? t("There is no plan yet.") : t("No plan: this run did without one.")}</p><${AgentsPart} ...${context} />`;
  const show = (graph) => {
    kept.asGraph = graph;
    setAsGraph(graph);
  };
  const row = rows.find(({ id }) => id === chosen);
  return html`<div class="run-switch" role="group" aria-label=${t("Shown as")}>
      <button type="button" class="quiet-button" aria-pressed=${asGraph ? "false" : "true"} onClick=${() => show(false)}><${Icon} name="list" />${t("List")}</button>
      <button type="button" class="quiet-button" aria-pressed=${asGraph ? "true" : "false"} onClick=${() => show(true)}><${Icon} name="graph" />${t("Graph")}</button>
    </div>
    ${asGraph
      ? html`<${PlanGraph} rows=${rows} chosen=${chosen} choose=${setChosen} />${row && html`<${TaskDetail} row=${row} trace=${trace} isLive=${isLive} showAgent=${showAgent} close=${() => setChosen(null)} />`}`
      : html`<${Plan} trace=${trace} isLive=${isLive} />`}`;
}

// How it was looked at last, as long as this page is open.
const kept = { asGraph: false };
