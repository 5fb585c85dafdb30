// The run view: what a run planned, who worked on it, what they did, what they made, and when; live, or as it was at any moment.
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { clock as clockWords, duration, isWaiting, statusWords, usageFacts } from "../activity.js";
import { Icon } from "../components/icons.js";
import { StateIcon } from "../components/state_icon.js";
import { useNow } from "../components/ticking.js";
import { WholeResults } from "../components/whole_results.js";
import { t } from "../i18n.js";
import { isLive } from "../store.js";
import { AgainDialog } from "./again_dialog.js";
import { AgentsPart } from "./agents_part.js";
import { OutputsPart } from "./outputs_part.js";
import { PlanPart } from "./plan_part.js";
import { createRun } from "./run.js";
import { StepsPart } from "./steps_part.js";
import { TimelinePart } from "./timeline_part.js";
import { Transport } from "./transport.js";

const PARTS = {
  plan: { name: () => t("Plan"), part: PlanPart },
  agents: { name: () => t("Agents"), part: AgentsPart },
  steps: { name: () => t("Steps"), part: StepsPart },
  outputs: { name: () => t("Outputs"), part: OutputsPart },
  timeline: { name: () => t("Timeline"), part: TimelinePart },
};
const kept = { part: "plan" }; // what was looked at last, of this run or another
const NO_KEYS = "input, textarea, select, [contenteditable]";
const OWN_SPACE = `${NO_KEYS}, button, summary, a, [role=button], [role=tab]`;

export function RunView({ executionId, application, session, close }) {
  const run = useMemo(() => createRun({ executionId, session, api: application.api }), [executionId, session]);
  useEffect(() => run.close, [run]);
  const [chosen, setChosen] = useState(kept.part);
  const [opened, setOpened] = useState(null); // the agent that one came for
  const [again, setAgain] = useState(null); // {agent, entry?}
  const shown = run.shown.value;
  const wholeResult = useMemo(() => (seq) => application.api.wholeResult(executionId, seq), [executionId, application]);

  function onKeyDown(event) {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && !event.target.closest(OWN_SPACE)) {
      event.preventDefault();
      run.toggle();
    }
  }

  const choose = (part) => {
    kept.part = part;
    setChosen(part);
  };
  const showAgent = (id) => {
    setOpened(id);
    choose("agents");
  };
  const isPast = run.cursor.value !== null;
  const mayBegin = run.isOver.value && !isPast; // another run from this one
  const Part = PARTS[chosen].part;
  const context = {
    run, execution: shown, trace: shown?.trace, isLive: isLive(shown), isPast, showAgent, opened, conversationId: session.conversationId, said: session.said.value,
    intervene: isPast ? null : session.intervene,
    again: mayBegin ? (agent, entry = null) => setAgain({ agent, entry }) : null,
  };
  // Tokens, many a second, change the answer alone: the other parts are left as they are.
  const drawn = useMemo(() => shown && html`<${Part} ...${context} />`, [Part, chosen === "timeline" ? shown : shown?.trace, shown?.status, isPast, mayBegin, opened, run]);
  return html`<div class="run-view" onKeyDown=${onKeyDown}>
    <${Head} run=${run} execution=${shown} close=${close} />
    <${Tabs} chosen=${chosen} choose=${choose} />
    <div class="run-body" role="tabpanel" id="run-part" aria-labelledby=${`run-tab-${chosen}`} tabindex="0" data-part=${chosen}>
      ${run.failure.value && html`<p class=${`run-note ${run.failure.value.isGone ? "" : "is-bad"}`} role="alert">${run.failure.value.isMissing ? t("There is no such run here, or it is not yours.") : run.failure.value.message}
        ${!run.failure.value.isFinal && html` <button type="button" class="link-button" onClick=${run.read}>${t("Try again")}</button>`}</p>`}
      ${shown ? html`<${WholeResults.Provider} value=${wholeResult}>${drawn}<//>` : !run.failure.value && html`<div class="run-skeleton" aria-busy="true"><p></p><p></p><p></p><span class="visually-hidden" role="status">${t("Loading the run")}</span></div>`}
    </div>
    ${run.end.value && html`<${Transport} run=${run} />`}
    ${again && html`<${AgainDialog} ...${again} trace=${run.end.value.trace} executionId=${executionId} application=${application} close=${() => setAgain(null)} />`}
  </div>`;
}

function Head({ run, execution, close }) {
  const live = isLive(execution);
  const isPast = run.cursor.value !== null;
  const status = !execution ? "pending" : live && isWaiting(execution) ? "awaiting_user" : execution.status;
  const now = useNow(Boolean(execution) && live && !isPast);
  return html`<header class="run-head">
    <button type="button" class="icon-button run-back mirrored" onClick=${close} aria-label=${t("Back to the chat")} title=${t("Back to the chat")}><${Icon} name="left" /></button>
    <div class="run-title">
      <h2>${t("Run")}</h2>
      ${execution && html`<p class="run-facts"><span class="run-status" data-status=${status}><${StateIcon} status=${status} /><span aria-hidden="true">${isPast && live ? t("Replay") : statusWords(status)}</span></span>
        <${Took} run=${run} execution=${execution} now=${now} />${usageFacts(execution.usage).map((fact) => html`<span key=${fact}>${fact}</span>`)}</p>`}
    </div>
    <button type="button" class="icon-button run-close" onClick=${close} aria-label=${t("Close the run view")} title=${t("Close the run view")}><${Icon} name="close" /></button>
  </header>`;
}

function Took({ run, execution, now }) {
  const { start, end } = run.times(now);
  const until = run.moment.value ?? end;
  if (isLive(execution) && run.moment.value === null) return html`<span>${clockWords(until - start)}</span>`;
  return html`<span>${run.moment.value === null ? duration(until - start) : clockWords(until - start)}</span>`;
}

// Arrows go from one to the next, as in every list of tabs.
function Tabs({ chosen, choose }) {
  const list = useRef(null);
  const names = Object.keys(PARTS);
  function onKeyDown(event) {
    const isRtl = getComputedStyle(list.current).direction === "rtl";
    const at = names.indexOf(chosen);
    const to = { ArrowRight: at + (isRtl ? -1 : 1), ArrowLeft: at + (isRtl ? 1 : -1), Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = names[(to + names.length) % names.length];
    choose(name);
    list.current.querySelector(`[data-part=${name}]`).focus();
  }
  return html`<div class="run-tabs" role="tablist" aria-label=${t("Parts of the run")} ref=${list} onKeyDown=${onKeyDown}>
    ${names.map((name) => html`<button type="button" key=${name} role="tab" id=${`run-tab-${name}`} data-part=${name} aria-selected=${name === chosen ? "true" : "false"} aria-controls="run-part"
      tabindex=${name === chosen ? 0 : -1} onClick=${() => choose(name)}>${PARTS[name].name()}</button>`)}
  </div>`;
}
