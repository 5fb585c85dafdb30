// How a run came to its answer: one calm line with a live summary, that opens to the plan and the tree of agents.
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { endLine, isWaiting, liveLine } from "../activity.js";
import { agentLabel, isAvailable } from "../agents.js";
import { t } from "../i18n.js";
import { treeOf } from "../plan.js";
import { isLive } from "../store.js";
import { Icon } from "./icons.js";
import { Part } from "./later.js";
import { Plan } from "./plan.js";
import { StateIcon } from "./state_icon.js";
import { Elapsed } from "./ticking.js";
import { WholeResults } from "./whole_results.js";

export const loadWorkers = () => import("./workers.js").then(({ WorkersBody }) => WorkersBody);

// A plan is open until the answer begins, everything else closed, until somebody decides otherwise.
// `showRun`: opens the run view.
export function Activity({ execution, stopping, session, isAnswering, showRun = null }) {
  const { trace } = execution;
  const live = isLive(execution);
  const hasPlan = Boolean(trace.plan?.steps.length);
  const [chosen, setChosen] = useState(null);
  const { element, failed, read } = useTrace(execution, session);
  const isLookedOver = trace.requests.some(({ kind, status }) => kind === "plan" && status === "pending"); // its card shows it
  const open = chosen ?? (live && hasPlan && !isLookedOver && !isAnswering);
  const line = stopping ? t("Stopping") : live ? liveLine(execution) : endLine(execution);
  const id = `activity-${execution.id}`;
  const wholeResult = useMemo(() => session.wholeResult && ((seq) => session.wholeResult(execution.id, seq)), [session, execution.id]);

  return html`<div class=${`activity ${open ? "is-open" : ""}`} ref=${element} role="group" aria-label=${t("Activity")}>
    <div class="activity-head"><button type="button" class="activity-line" aria-expanded=${open ? "true" : "false"} aria-controls=${open ? id : null} onClick=${() => setChosen(!open)}>
      <${LineSign} execution=${execution} live=${live} />
      <span class="activity-words">${line}</span>
      ${live && !isWaiting(execution) && html`<${Elapsed} of=${execution} isLive=${live} />`}
      <${Icon} name="chevron" />
    </button>
    ${showRun && html`<button type="button" class="icon-button small activity-open" onClick=${showRun} aria-label=${t("Open the run view")} title=${t("Open the run view")}><${Icon} name="panel" /></button>`}</div>
    ${live && html`<p class="visually-hidden" role="status">${line}</p>`}
    ${open && html`<div class="activity-body" id=${id}>
      ${hasPlan && html`<${Plan} trace=${trace} isLive=${live} />`}
      ${failed && html`<p class="row-error">${failed} <button type="button" class="link-button" onClick=${read}>${t("Try again")}</button></p>`}
      <${WholeResults.Provider} value=${wholeResult}><${Workers} trace=${trace} status=${execution.status} live=${live} folded=${hasPlan && live && chosen === null} intervene=${session.intervene} /><//>
      ${showRun && html`<button type="button" class="row-button activity-more" onClick=${showRun}><${Icon} name="panel" /><span>${t("Steps, outputs and timeline")}</span><${Icon} name="chevron" /></button>`}
    </div>`}
  </div>`;
}

function LineSign({ execution, live }) {
  if (live) return html`<${StateIcon} status=${isWaiting(execution) ? "awaiting_user" : "running"} />`;
  return html`<${Icon} name=${execution.trace.plan ? "list" : "branch"} />`;
}

// Routing and what the run itself did, then its agents. Beside an open plan they stay folded until they are wanted.
function Workers({ trace, status, live, folded, intervene }) {
  const [chosen, setChosen] = useState(null);
  const nodes = treeOf(trace);
  const open = chosen ?? !folded;
  const hasPlan = Boolean(trace.plan?.steps.length);
  const inside = html`<${Part} load=${loadWorkers} with=${{ trace, status, live, intervene }} />`;
  if (!hasPlan) return inside;
  return html`<button type="button" class="row-button workers-button" aria-expanded=${open ? "true" : "false"} onClick=${() => setChosen(!open)}>
      <${Icon} name="branch" /><span>${t("Agents and tools")}</span><span class="muted">${nodes.length}</span><${Icon} name="chevron" /></button>
    ${open && inside}`;
}

// Where the router was not sure: the same question for another agent, with one click.
export function OtherModes({ routing, modes, roster, ask }) {
  const missing = roster.filter((agent) => !isAvailable(agent)).map(({ name }) => name);
  const names = routing.alternatives.filter((name) => modes.includes(name) && !missing.includes(name));
  if (!routing.isLow || !names.length) return null;
  return html`<p class="other-modes">
    <span>${t("Not sure that {agent} fits best. Ask again with", { agent: agentLabel(routing.agent) })}</span>
    ${names.map((name) => html`<button type="button" key=${name} class="quiet-button" onClick=${() => ask(name)}>${agentLabel(name)}</button>`)}
  </p>`;
}

// Of a run that was over before we came, the events are read when it comes into view.
function useTrace(execution, session) {
  const element = useRef(null);
  const [failed, setFailed] = useState(null);
  const missing = !isLive(execution) && !execution.trace.whole;

  function read() {
    setFailed(null);
    session.trace(execution.id).catch((error) => setFailed(t("How this came about could not be read. {why}", { why: error.message })));
  }

  useEffect(() => {
    if (!missing) return undefined;
    if (location.hash.startsWith("#request-")) return void read(); // a link leads into one of them
    const observer = new IntersectionObserver((entries) => {
      if (!entries.at(-1).isIntersecting) return;
      observer.disconnect();
      read();
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [execution.id, missing]);
  return { element, failed, read };
}
