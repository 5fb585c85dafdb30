// Everything that the agents did, in the order in which it happened: to be searched and filtered, each step to be opened. Of a long
// list only what is near the eyes is drawn.
import { html, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { clock as clockWords } from "../activity.js";
import { agentLabel } from "../agents.js";
import { AgentBadge } from "../components/badge.js";
import { Icon } from "../components/icons.js";
import { t, tn } from "../i18n.js";
import { agentStatus } from "../plan.js";
import { isEnded } from "../trace.js";
import { StepCard, isForkable } from "./step_card.js";
import { GROUP_NAMES, chosenSteps, countedByGroup, piecesOf, stepsOf } from "./steps.js";

const PIECE = 40; // steps that are drawn together
const ROW_PX = 32;
const HEAD_PX = 38; // the line that names another agent

const groupWords = (group) => ({
  tool: t("Tool calls"), program: t("Programs"), browser: t("Browser"), made: t("Things made"), model: t("Model calls"), question: t("Questions"), other: t("Other"),
})[group];

export function StepsPart({ run, trace, isLive, isPast, again, conversationId }) {
  const [query, setQuery] = useState("");
  const [agentId, setAgentId] = useState("");
  const [group, setGroup] = useState("");
  const steps = useMemo(() => stepsOf(trace), [trace.agents, trace.requests]);
  const shown = useMemo(() => chosenSteps(steps, { agentId, group, query }), [steps, agentId, group, query]);
  const counts = useMemo(() => countedByGroup(steps), [steps]);
  const agents = trace.agents.filter(({ entries }) => entries.length);
  const endings = useMemo(() => new Map(trace.agents.map((agent) => {
    const status = agentStatus(trace, agent, isLive);
    return [agent.id, isEnded(status) ? status : null];
  })), [trace, isLive]);
  const { start } = run.times(Date.now());
  const context = { trace, start, endings, again, conversationId, isLive };
  const pieces = piecesOf(shown, PIECE);
  return html`<div class="steps-bar" role="search">
      <label class="steps-search"><${Icon} name="search" /><span class="visually-hidden">${t("Search the steps")}</span><input type="search" placeholder=${t("Search the steps")} value=${query} onInput=${(event) => setQuery(event.currentTarget.value)} /></label>
      <select aria-label=${t("Agent")} value=${agentId} onChange=${(event) => setAgentId(event.currentTarget.value)}><option value="">${t("All agents")}</option>${agents.map(({ id, name, task }) => html`<option key=${id} value=${id}>${task ? `${agentLabel(name)}: ${task.slice(0, 40)}` : agentLabel(name)}</option>`)}</select>
      <select aria-label=${t("Kind")} value=${group} onChange=${(event) => setGroup(event.currentTarget.value)}><option value="">${t("All kinds")}</option>${GROUP_NAMES.filter((name) => counts.has(name)).map((name) => html`<option key=${name} value=${name}>${groupWords(name)} (${counts.get(name)})</option>`)}</select>
    </div>
    <p class="steps-count muted small" role="status">${shown.length === steps.length ? tn("{count} step", "{count} steps", steps.length) : t("{shown} of {count} steps", { shown: shown.length, count: steps.length })}</p>
    ${!steps.length && html`<p class="run-note">${isLive || isPast ? t("Nothing was done yet.") : t("No agent used a tool.")}</p>`}
    <div class="steps">${pieces.map((piece, index) => html`<${Piece} key=${piece[0].key} steps=${piece} before=${pieces[index - 1]?.at(-1) ?? null} context=${context} isFirst=${index === 0} />`)}</div>`;
}

const isOfAnother = (step, before) => step.agentId !== before?.agentId;

// Drawn while it is near; else its room is kept. What somebody opened in it stays.
function Piece({ steps, before, context, isFirst }) {
  const element = useRef(null);
  const [isNear, setNear] = useState(isFirst);
  const room = useRef(steps.length * ROW_PX + steps.filter((step, index) => isOfAnother(step, index === 0 ? before : steps[index - 1])).length * HEAD_PX);

  useLayoutEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      const entry = entries.at(-1);
      const holds = element.current.querySelector("[aria-expanded=true], details[open], :focus");
      if (!entry.isIntersecting && !holds && entry.boundingClientRect.height > 0) room.current = entry.boundingClientRect.height;
      setNear(entry.isIntersecting || Boolean(holds));
    }, { root: element.current.closest(".run-body"), rootMargin: "600px 0px" });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);

  const list = isNear && steps.map((step, index) => {
    const isNewAgent = isOfAnother(step, index === 0 ? before : steps[index - 1]);
    return html`<${Step} key=${step.key} step=${step} isNewAgent=${isNewAgent} context=${context} />`;
  });
  return html`<ol class="steps-piece" ref=${element} style=${{ "--room": `${isNear ? 0 : room.current}px` }}>${list}</ol>`;
}

function Step({ step, isNewAgent, context }) {
  const { entry, agentId, at } = step;
  const { start, endings, again, trace, conversationId, isLive } = context;
  const agent = trace.agents.find(({ id }) => id === agentId);
  return html`<li class="step" data-group=${step.group} data-kind=${entry.kind}>
    ${isNewAgent && step.agent && html`<p class="step-agent"><${AgentBadge} name=${step.agent} /></p>`}
    <div class="step-row">
      <span class="step-time">${at === null ? "" : clockWords(at - start)}</span>
      <div class="step-card"><${StepCard} entry=${entry} ending=${endings.get(agentId) ?? (isLive ? null : "completed")} isLive=${isLive} conversationId=${conversationId} /></div>
      ${again && agent && isForkable(entry) && html`<button type="button" class="icon-button small step-fork" onClick=${() => again(agent, entry)} aria-label=${t("Go another way from here")} title=${t("Go another way from here")}><${Icon} name="fork" /></button>`}
    </div>
  </li>`;
}
