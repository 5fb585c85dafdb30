// An approval that waits no more, in a line that opens: who decided what, when, and what was changed. And one that was put off.
import { html, useRef, useState } from "../../vendor/preact.js";
import { callOf, hasEdits, lateWords, outcome, titleOf } from "../approvals.js";
import { parts, t } from "../i18n.js";
import { changesOf } from "../text_diff.js";
import { moment } from "../when.js";
import { useTarget } from "./arrival.js";
import { Changes } from "./edit_arguments.js";
import { Icon } from "./icons.js";
import { Preview } from "./previews.js";

const ICONS = { approved: "check", denied: "close", timed_out: "clock", expired: "clock", cancelled: "retry", answered: "check" };

export function ClosedApproval({ request, me, isLate }) {
  const [open, setOpen] = useState(false);
  const { words, who } = outcome(request, me);
  const call = callOf(request);
  const when = request.ended_at ? moment(request.ended_at, Date.now()) : "";
  const said = request.user_instructions;
  const line = useRef(null);
  useTarget(line, request.request_id);
  return html`<div ref=${line} class=${`request-closed approval-closed is-${request.status}`} data-request=${request.request_id} data-status=${request.status} id=${`request-${request.request_id}`} tabindex="-1">
    <${Icon} name=${ICONS[request.status] ?? "question"} />
    <div class="closed-body">
      <p><span class="request-asked" dir="auto">${titleOf(request)}</span>
        <span class="request-said"><strong>${words}</strong>${who && ` ${who}`}${when && html`<span class="muted"> · ${when}</span>`}</span>
        ${said && html`<span class="closed-words"><span class="muted">${request.status === "denied" ? t("Reason:") : t("Instructions:")}</span> <span dir="auto">${said}</span></span>`}
        ${isLate && html`<span class="closed-late" role="alert">${lateWords(request, me)}</span>`}</p>
      ${hasEdits(request) && call && html`<${Changes} changes=${changesOf(call.arguments, request.edited_arguments)} />`}
      ${call && html`<button type="button" class="link-button small" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? t("Hide what was asked") : t("Show what was asked")}</button>`}
      ${open && call && html`<${Preview} call=${call} />`}
    </div>
  </div>`;
}

export function SnoozedApproval({ request, open }) {
  return html`<div class="request-closed approval-closed is-snoozed" data-request=${request.request_id} data-status="snoozed" id=${`request-${request.request_id}`} tabindex="-1">
    <${Icon} name="clock" />
    <div class="closed-body"><p><span class="request-asked" dir="auto">${titleOf(request)}</span>
      <span class="request-said">${parts("{put_off} until {when}", { put_off: html`<strong>${t("Put off")}</strong>`, when: moment(request.snoozed_until, Date.now()) })}</span></p>
      <button type="button" class="link-button small" onClick=${open}>${t("Decide now")}</button></div>
  </div>`;
}
