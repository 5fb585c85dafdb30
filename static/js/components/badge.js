// An agent's sign and name.
import { html } from "../../vendor/preact.js";
import { agentIcon, agentLabel } from "../agents.js";
import { Icon } from "./icons.js";

export function AgentBadge({ name }) {
  return html`<span class="agent-badge"><${Icon} name=${agentIcon(name)} /><bdi>${agentLabel(name)}</bdi></span>`;
}
