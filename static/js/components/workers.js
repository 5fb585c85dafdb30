// What an open activity shows: how the question was routed, what the run itself did, and its agents.
import { html } from "../../vendor/preact.js";
import { routingLine } from "../activity.js";
import { t } from "../i18n.js";
import { rootOf, treeOf } from "../plan.js";
import { Entries } from "./entries.js";
import { Icon } from "./icons.js";
import { AgentTree } from "./tree.js";

export function WorkersBody({ trace, status, live, intervene, again = null, opened = null, isWhole = trace.whole }) {
  const root = rootOf(trace);
  const nodes = treeOf(trace);
  return html`<div class="workers">
    ${trace.routing && html`<${Routing} routing=${trace.routing} />`}
    ${root?.entries.length > 0 && html`<${Entries} entries=${root.entries} ending=${live ? null : status} />`}
    ${nodes.length > 0 && html`<${AgentTree} trace=${trace} isLive=${live} intervene=${intervene} again=${again} opened=${opened} />`}
    ${!trace.routing && !nodes.length && !root?.entries.length && html`<p class="muted small">${live || isWhole ? t("Nothing to show yet.") : t("Loading…")}</p>`}
  </div>`;
}

function Routing({ routing }) {
  return html`<p class="entry-line routing"><${Icon} name="branch" /><span class="entry-words">${routingLine(routing)}${routing.reason && routing.method !== "explicit" && html` · <span class="muted" dir="auto">${routing.reason}</span>`}</span></p>`;
}
