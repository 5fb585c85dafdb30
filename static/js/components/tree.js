// The agents of a run as a tree of rows: who, what on, how long, at what cost; each opens to what it did and what can be done.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { agentsWords, duration, sourcesWords, usageFacts } from "../activity.js";
import { agentLabel } from "../agents.js";
import { parts, t, tn } from "../i18n.js";
import { agentStatus, errorInWords, toolCalls, totalOf, treeOf, waitsFor } from "../plan.js";
import { isEnded } from "../trace.js";
import { AgentBadge } from "./badge.js";
import { Entries } from "./entries.js";
import { Icon } from "./icons.js";
import { Intervene } from "./intervene.js";
import { SourceList } from "./sources.js";
import { StateIcon } from "./state_icon.js";
import { Elapsed } from "./ticking.js";

// `intervene`: how something is told to an agent that works; without it nothing can be. `again(agent)`: lets one work again, in a
// run that is over. `opened`: the id of the one that is open at first.
export function AgentTree({ trace, isLive, intervene, again = null, opened = null }) {
  return html`<${Nodes} nodes=${treeOf(trace)} trace=${trace} isLive=${isLive} intervene=${intervene} again=${again} opened=${opened} label=${t("Agents")} />`;
}

function Nodes({ nodes, label, ...rest }) {
  return html`<ul class="tree" aria-label=${label}>${nodes.map((node) => html`<${Node} key=${node.agent.id} node=${node} ...${rest} />`)}</ul>`;
}

function Node({ node, trace, isLive, intervene, again, opened }) {
  const { agent, children } = node;
  const [open, setOpen] = useState(agent.id === opened);
  const element = useRef(null);
  useEffect(() => {
    if (agent.id === opened) element.current.querySelector(".row-button").scrollIntoView({ block: "nearest" });
  }, [opened]);
  const status = agentStatus(trace, agent, isLive);
  const calls = toolCalls(agent);
  const tokens = usageFacts(agent.usage)[0];
  return html`<li class=${`node is-${status}`} ref=${element} data-agent=${agent.id} data-status=${status}>
    <button type="button" class="row-button" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>
      <${StateIcon} status=${status} />
      <${AgentBadge} name=${agent.name} />
      <span class="node-task" dir="auto">${agent.task}</span>
      ${status === "awaiting_user" && html`<span class="row-note is-waiting">${t("Waiting for an answer")}</span>`}
      <span class="node-facts">
        ${calls > 0 && html`<span class="node-calls">${tn("{count} call", "{count} calls", calls)}</span>`}
        ${tokens && html`<span class="node-tokens">${tokens}</span>`}
        <${Elapsed} of=${agent} isLive=${isLive} />
      </span>
      <${Icon} name="chevron" />
    </button>
    <${Told} agent=${agent} />
    ${again && status === "failed" && html`<p class="row-again"><button type="button" class="quiet-button" onClick=${() => again(agent)}><${Icon} name="retry" />${t("Retry from here")}</button></p>`}
    ${open && html`<${Detail} node=${node} trace=${trace} status=${status} isLive=${isLive} intervene=${intervene} again=${again} />`}
    ${children.length > 0 && html`<${Nodes} nodes=${children} trace=${trace} isLive=${isLive} intervene=${intervene} again=${again} opened=${opened} label=${t("Agents of {agent}", { agent: agentLabel(agent.name) })} />`}
  </li>`;
}

// What a person told this agent, and what went wrong: seen without opening it.
function Told({ agent }) {
  const { error, comment, status, modified } = agent;
  const isWords = comment && comment !== "delete" && comment !== "modify";
  return html`
    ${status === "deleted" && html`<p class="row-told"><${Icon} name="stop" />${t("Stopped by you")}</p>`}
    ${modified && html`<p class="row-told"><${Icon} name="pencil" />${t("You changed its instructions")}</p>`}
    ${isWords && html`<p class="row-told"><${Icon} name="comment" /><span>${parts("You: {words}", { words: html`<span dir="auto">${comment}</span>` })}</span></p>`}
    ${error && status !== "deleted" && html`<p class="row-error" dir="auto">${errorInWords(error)}</p>`}`;
}

function Detail({ node, trace, status, isLive, intervene, again }) {
  const { agent, children } = node;
  const waits = waitsFor(trace, agent);
  const facts = usageFacts(agent.usage);
  const isOpen = isLive && !isEnded(status);
  return html`<div class="node-detail">
    <dl class="row-facts">
      ${agent.task && html`<div><dt>${t("Task")}</dt><dd class="is-text" dir="auto">${agent.task}</dd></div>`}
      ${waits.length > 0 && html`<div><dt>${t("After")}</dt><dd>${waits.map(({ name, number }) => (number ? t("{agent} (task {number})", { agent: agentLabel(name), number }) : agentLabel(name))).join(", ")}</dd></div>`}
      ${facts.length > 0 && html`<div><dt>${t("Used")}</dt><dd>${facts.join(" · ")}</dd></div>`}
      ${children.length > 0 && html`<div><dt>${t("With all below")}</dt><dd>${withBelow(node)}</dd></div>`}
      ${agent.startedAt !== null && agent.endedAt - agent.startedAt >= 50 && html`<div><dt>${t("Took")}</dt><dd>${duration(agent.endedAt - agent.startedAt)}</dd></div>`}
    </dl>
    ${agent.entries.length > 0 && html`<${Entries} entries=${agent.entries} ending=${isOpen ? null : status} />`}
    ${agent.sources.length > 0 && html`<details class="entry-fold"><summary><${Icon} name="link" /><span class="entry-words">${sourcesWords(agent.sources.length)}</span><${Icon} name="chevron" /></summary><${SourceList} sources=${agent.sources} /></details>`}
    ${isOpen && intervene && html`<${Intervene} agent=${agent} intervene=${intervene} />`}
    ${again && isEnded(status) && status !== "failed" && html`<p class="row-again"><button type="button" class="quiet-button" onClick=${() => again(agent)}><${Icon} name="retry" />${t("Let it work again")}</button></p>`}
  </div>`;
}

function withBelow(node) {
  const { usage, agents } = totalOf(node);
  return [agentsWords(agents), ...usageFacts(usage)].join(" · ");
}
