// The approvals of a run at their place in the chat: the calls of one answer are decided one by one, what is decided is a line.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { isIrreversible, titleOf } from "../approvals.js";
import { t } from "../i18n.js";
import { quotedTool } from "../tools.js";
import { ApprovalCard } from "./approval.js";
import { ClosedApproval, SnoozedApproval } from "./approval_closed.js";
import { Icon } from "./icons.js";
import { RiskBadge } from "./risk.js";
import { useNow } from "./ticking.js";

// `asked`: the requests of one batch as the events tell them; `known`: what the API says of them, by id.
export function ApprovalBatch({ asked, known, pathOf, me, actions, failed, retry }) {
  const [chosen, setChosen] = useState(null);
  const open = asked.filter((one) => isOpen(one, known.get(one.id)));
  const shown = open.find(({ id }) => id === chosen) ?? open[0];
  return html`<div class="approvals">${asked.map((one, index) => {
    const request = known.get(one.id);
    if (!request) return html`<${Unknown} key=${one.id} asked=${one} failed=${failed} retry=${retry} />`;
    if (one !== shown && open.includes(one)) return html`<${Folded} key=${one.id} request=${request} place=${{ at: index + 1, of: asked.length }} open=${() => setChosen(one.id)} />`;
    return html`<${Approval} key=${one.id} request=${asTold(one, request)} place=${asked.length > 1 ? { at: index + 1, of: asked.length } : null} path=${pathOf(one.agentId)} me=${me} actions=${actions} />`;
  })}</div>`;
}

// The API may not have been read again since the event, or the event not have come since the decision: what is over is over.
const isOpen = (asked, request) => asked.status === "pending" && (!request || request.status === "pending");
const asTold = (asked, request) => (request.status === "pending" && asked.status !== "pending" ? { ...request, status: asked.status, user_instructions: request.user_instructions || asked.text || "" } : request);

// One approval in whatever state: card, put off, or line. Used by the inbox as well.
export function Approval({ request, me, place = null, path = [], actions, quiet = false }) {
  const [isLate, setLate] = useState(false);
  const [awake, setAwake] = useState(null); // the put-off that somebody looks at all the same
  const now = useNow(Boolean(request.snoozed_until));
  if (request.status !== "pending") return html`<${ClosedApproval} request=${request} me=${me} isLate=${isLate} />`;
  const isSnoozed = request.snoozed_until && Date.parse(request.snoozed_until) > now && awake !== request.snoozed_until;
  if (isSnoozed && request.may_decide !== false) return html`<${SnoozedApproval} request=${request} open=${() => setAwake(request.snoozed_until)} />`;
  return html`<${ApprovalCard} key=${request.arguments_hash} request=${request} me=${me} place=${place} path=${path} actions=${actions} late=${() => setLate(true)} quiet=${quiet} />`;
}

function Folded({ request, place, open }) {
  return html`<button type="button" class="approval-folded" onClick=${open} data-request=${request.request_id}>
    <span class="approval-place">${t("{at} of {of}", place)}</span><span class="folded-title" dir="auto">${titleOf(request)}</span><span class="folded-what" dir="auto">${gist(request)}</span>
    <${RiskBadge} risk=${request.risk} irreversible=${isIrreversible(request)} /><${Icon} name="chevron" /></button>`;
}

// What tells one call from the next, in a few words.
export function gist({ tool_calls: [call] = [] }) {
  const preview = call?.preview ?? {};
  if (preview.kind === "mail") return [[...(preview.to ?? [])].join(", "), preview.subject].filter(Boolean).join(" · ");
  if (preview.kind === "diff") return preview.path ?? "";
  const first = Object.values(call?.arguments ?? {}).find((value) => typeof value === "string" && value);
  return first ? first.split("\n", 1)[0].slice(0, 120) : "";
}

// The event has come, the API's word not yet.
function Unknown({ asked, failed, retry }) {
  const { tool_names: tools = [], task_description: task } = asked.details;
  if (asked.status !== "pending" && !failed) return null;
  return html`<div class="request approval is-loading" data-request=${asked.id} aria-busy=${failed ? "false" : "true"}>
    <p class="request-head"><${Icon} name="shield" />${tools.length ? t("Approval is needed: {tools}", { tools: tools.map((name) => quotedTool(name)).join(", ") }) : t("Approval is needed")}</p>
    ${task && html`<p class="asker-task" dir="auto">${task}</p>`}
    ${failed ? html`<p class="form-error" role="alert">${t("What it is about could not be read.")} ${failed} <button type="button" class="link-button" onClick=${retry}>${t("Try again")}</button></p>` : html`<div class="skeleton-lines"><p></p><p></p></div>`}
  </div>`;
}

// Reads what the events only named: once for each approval, and again when it was decided elsewhere.
export function useKnown(executionId, approvals, requests) {
  const [failed, setFailed] = useState(null);
  const known = requests.known.value;
  const stale = approvals.filter(({ id, status }) => !known.has(id) || (status !== "pending" && known.get(id).status === "pending"));
  const key = stale.map(({ id, status }) => `${id}${status}`).join();

  function read() {
    setFailed(null);
    requests.loadRun(executionId).catch((error) => setFailed(error.message));
  }

  useEffect(() => {
    if (key) read();
  }, [key]);
  return { known, failed, read };
}

// The agents above one, from the top, without the run itself.
export function pathsIn(trace) {
  return (agentId) => {
    const names = [];
    const seen = new Set([agentId]);
    for (let agent = above(trace, agentId); agent && agent.parentId !== null && !seen.has(agent.id); agent = above(trace, agent.id)) {
      seen.add(agent.id);
      names.unshift(agent.name);
    }
    return names;
  };
}

function above(trace, id) {
  const agent = trace.agents.find((one) => one.id === id);
  return trace.agents.find((one) => one.id === agent?.parentId);
}

