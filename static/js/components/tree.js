// The agents of a run as a tree of rows: who, what on, how long, at what cost; each opens to what it did and what can be done.
import { html, useState } from "../../vendor/preact.js";
import { counted, duration, usageFacts } from "../activity.js";
import { agentLabel } from "../agents.js";
import { agentStatus, toolCalls, treeOf, waitsFor } from "../plan.js";
import { isEnded } from "../trace.js";
import { AgentBadge } from "./badge.js";
import { Entries } from "./entries.js";
import { Icon } from "./icons.js";
import { Intervene } from "./intervene.js";
import { SourceList } from "./sources.js";
import { StateIcon } from "./state_icon.js";
import { Elapsed } from "./ticking.js";

export function AgentTree({ trace, isLive, intervene }) {
  return html`<${Nodes} nodes=${treeOf(trace)} trace=${trace} isLive=${isLive} intervene=${intervene} label="Agents" />`;
}

function Nodes({ nodes, label, ...rest }) {
  return html`<ul class="tree" aria-label=${label}>${nodes.map((node) => html`<${Node} key=${node.agent.id} node=${node} ...${rest} />`)}</ul>`;
}

function Node({ node, trace, isLive, intervene }) {
  const { agent, children } = node;
  const [open, setOpen] = useState(false);
  const status = agentStatus(trace, agent, isLive);
  const calls = toolCalls(agent);
  const tokens = usageFacts(agent.usage)[0];
  return html`<li class=${`node is-${status}`} data-agent=${agent.id} data-status=${status}>
    <button type="button" class="row-button" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>
      <${StateIcon} status=${status} />
      <${AgentBadge} name=${agent.name} />
      <span class="node-task" dir="auto">${agent.task}</span>
      ${status === "awaiting_user" && html`<span class="row-note is-waiting">Waiting for an answer</span>`}
      <span class="node-facts">
        ${calls > 0 && html`<span class="node-calls">${counted(calls, "call")}</span>`}
        ${tokens && html`<span class="node-tokens">${tokens}</span>`}
        <${Elapsed} of=${agent} isLive=${isLive} />
      </span>
      <${Icon} name="chevron" />
    </button>
    <${Told} agent=${agent} />
    ${open && html`<${Detail} agent=${agent} trace=${trace} status=${status} isLive=${isLive} intervene=${intervene} />`}
    ${children.length > 0 && html`<${Nodes} nodes=${children} trace=${trace} isLive=${isLive} intervene=${intervene} label=${`Agents of ${agentLabel(agent.name)}`} />`}
  </li>`;
}

// What a person told this agent, and what went wrong: seen without opening it.
function Told({ agent }) {
  const { error, comment, status, modified } = agent;
  const isWords = comment && comment !== "delete" && comment !== "modify";
  return html`
    ${status === "deleted" && html`<p class="row-told"><${Icon} name="stop" />Stopped by you</p>`}
    ${modified && html`<p class="row-told"><${Icon} name="pencil" />You changed its instructions</p>`}
    ${isWords && html`<p class="row-told"><${Icon} name="comment" /><span>You: <span dir="auto">${comment}</span></span></p>`}
    ${error && status !== "deleted" && html`<p class="row-error" dir="auto">${error}</p>`}`;
}

function Detail({ agent, trace, status, isLive, intervene }) {
  const waits = waitsFor(trace, agent);
  const facts = usageFacts(agent.usage);
  const isOpen = isLive && !isEnded(status);
  return html`<div class="node-detail">
    <dl class="row-facts">
      ${agent.task && html`<div><dt>Task</dt><dd class="is-text" dir="auto">${agent.task}</dd></div>`}
      ${waits.length > 0 && html`<div><dt>After</dt><dd>${waits.map(({ name, number }) => (number ? `${agentLabel(name)} (task ${number})` : agentLabel(name))).join(", ")}</dd></div>`}
      ${facts.length > 0 && html`<div><dt>Used</dt><dd>${facts.join(" · ")}</dd></div>`}
      ${agent.startedAt !== null && agent.endedAt - agent.startedAt >= 50 && html`<div><dt>Took</dt><dd>${duration(agent.endedAt - agent.startedAt)}</dd></div>`}
    </dl>
    ${agent.entries.length > 0 && html`<${Entries} entries=${agent.entries} ending=${isOpen ? null : status} />`}
    ${agent.sources.length > 0 && html`<details class="entry-fold"><summary><${Icon} name="link" /><span class="entry-words">${counted(agent.sources.length, "source")}</span><${Icon} name="chevron" /></summary><${SourceList} sources=${agent.sources} /></details>`}
    ${isOpen && html`<${Intervene} agent=${agent} intervene=${intervene} />`}
  </div>`;
}
