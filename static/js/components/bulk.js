// One answer to several requests: what is about to be decided is listed before it is.
import { html, useState } from "../../vendor/preact.js";
import { announce } from "../announce.js";
import { riskOf } from "../approvals.js";
import { t, tn } from "../i18n.js";
import { useModal } from "./dialogs.js";
import { Icon } from "./icons.js";
import { RiskBadge } from "./risk.js";

// `chosen`: [{id, title, gist, risk}] of the rows; `ask(decision)` opens the dialog, `clear()` selects nothing.
export function BulkBar({ chosen, ask, clear }) {
  if (!chosen.length) return null;
  return html`<div class="bulk-bar" role="toolbar" aria-label=${t("Selected requests")}>
    <span class="bulk-count">${tn("{count} selected", "{count} selected", chosen.length)}</span>
    <button type="button" class="button button-primary small-button" onClick=${() => ask("approved")}><${Icon} name="check" />${t("Approve…")}</button>
    <button type="button" class="button small-button" onClick=${() => ask("denied")}><${Icon} name="close" />${t("Deny…")}</button>
    <button type="button" class="quiet-button" onClick=${clear}>${t("Select none")}</button>
  </div>`;
}

export function BulkDialog({ chosen, decision, send, close }) {
  const [reason, setReason] = useState("");
  const [state, setState] = useState({ sending: false, error: null, results: null });
  const isYes = decision === "approved";
  const count = chosen.length;
  const grave = chosen.filter(({ risk }) => risk === "high").length;
  const modal = useModal(close);

  async function confirm(event) {
    event.preventDefault();
    setState({ sending: true, error: null, results: null });
    try {
      const { results } = await send({ request_ids: chosen.map(({ id }) => id), decision, ...(reason.trim() && { instructions: reason.trim() }) });
      const failed = results.filter(({ ok }) => !ok);
      announce(outcomeWords({ isYes, done: results.length - failed.length, failed: failed.length }));
      if (failed.length) setState({ sending: false, error: null, results });
      else close();
    } catch (error) {
      setState({ sending: false, error: error.message, results: null });
    }
  }

  return html`<dialog class="modal bulk" aria-labelledby="bulk-title" ...${modal}>
    <form class="modal-body" onSubmit=${confirm}>
      <h2 id="bulk-title">${isYes ? tn("Approve this request?", "Approve these {count} requests?", count) : tn("Deny this request?", "Deny these {count} requests?", count)}</h2>
      ${isYes && grave > 0 && html`<p class="bulk-warning"><${Icon} name="warning" /><span>${count === 1 ? t("It is of high risk.") : tn("{count} of them is of high risk.", "{count} of them are of high risk.", grave)} ${t("Approve only what you have read.")}</span></p>`}
      <ul class="bulk-list">${chosen.map((one) => html`<li key=${one.id}><span class="bulk-what"><strong dir="auto">${one.title}</strong><span class="muted" dir="auto">${one.gist}</span>${outcomeOf(one.id, state.results)}</span>${riskOf(one.risk).name !== "unknown" && html`<${RiskBadge} risk=${one.risk} />`}</li>`)}</ul>
      ${!isYes && !state.results && html`<div class="field"><label for="bulk-reason">${t("Reason")}</label><textarea id="bulk-reason" rows="2" maxlength="4000" dir="auto" value=${reason} disabled=${state.sending} onInput=${(event) => setReason(event.currentTarget.value)}></textarea><p class="help small">${t("Optional. The agents read it.")}</p></div>`}
      ${state.error && html`<p class="form-error" role="alert">${state.error}</p>`}
      <div class="button-row modal-buttons">
        ${state.results
          ? html`<button type="button" class="button button-primary" onClick=${close}>${t("Close")}</button>`
          : html`<button type="button" class="button" autofocus disabled=${state.sending} onClick=${close}>${t("Back")}</button>
            <button type="submit" class=${`button ${isYes ? "button-primary" : "button-danger"}`} disabled=${state.sending}>${state.sending ? t("Sending…") : isYes ? t("Approve {count}", { count }) : t("Deny {count}", { count })}</button>`}
      </div>
    </form>
  </dialog>`;
}

function outcomeWords({ isYes, done, failed }) {
  const words = isYes ? tn("{count} approved", "{count} approved", done) : tn("{count} denied", "{count} denied", done);
  return failed ? t("{done}, {failed} not", { done: words, failed }) : words;
}

function outcomeOf(id, results) {
  const result = results?.find(({ request_id }) => request_id === id);
  if (!result) return null;
  return result.ok ? html`<span class="bulk-ok"><${Icon} name="check" />${t("Done")}</span>` : html`<span class="form-error">${result.error?.message ?? t("Not done.")}</span>`;
}
