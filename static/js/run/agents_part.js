// The agents of a run as a tree: state, task, time, tokens and cost of each and of all below it; what can be done to each.
import { html } from "../../vendor/preact.js";
import { WorkersBody } from "../components/workers.js";

export function AgentsPart({ execution, trace, isLive, intervene, again, opened }) {
  return html`<div class="run-agents"><${WorkersBody} trace=${trace} status=${execution.status} live=${isLive} intervene=${intervene} again=${again} opened=${opened} isWhole=${true} /></div>`;
}
