// The budget of a run is at its end: how much was used, and whether it gets more, finishes with what there is, or stops.
import { html } from "../../vendor/preact.js";
import { cost } from "../activity.js";
import { agentLabel } from "../agents.js";
import { language, t, tn } from "../i18n.js";
import { Icon } from "./icons.js";
import { useWords } from "./words.js";
import { inOurWords } from "../told.js";

export const amount = (value, unit) => (unit === "usd" ? cost(Number(value)) : tn("{count} token", "{count} tokens", Number(value)));

export function Budget({ request, sending, answer, fields }) {
  const { details } = request;
  const { unit = "tokens", used = 0, limit = 0, suggested, labels = {}, asking } = details;
  const [text, setText] = useWords(request.id, "limit", String(suggested ?? ""));
  const own = faultOf(text, unit, used);
  const fault = own ?? fields?.text?.join(" ");
  const id = `budget-${request.id}`;
  const label = (option, otherwise) => inOurWords(labels[option]) ?? otherwise;
  const isSuggested = text.trim() === String(suggested);

  function raise(event) {
    event.preventDefault();
    if (!sending && !own) answer("answered", { choice: "raise", text: text.trim() });
  }

  return html`<div class="budget">
    <dl class="budget-bars">
      <${Bar} name=${unit === "usd" ? t("Cost") : t("Tokens")} used=${used} limit=${limit} unit=${unit} />
      ${unit === "usd" ? html`<${Fact} name=${t("Tokens")} words=${amount(details.used_tokens ?? 0, "tokens")} />` : html`<${Fact} name=${t("Cost")} words=${costWords(details)} />`}
      ${asking && html`<${Fact} name=${t("Needs more")} words=${agentLabel(asking)} />`}
    </dl>
    ${details.unpriced_models?.length > 0 && html`<p class="budget-note small"><${Icon} name="warning" /><span>${t("What {models} costs is not known, and not counted.", { models: details.unpriced_models.join(", ") })}</span></p>`}
    <form class="budget-form" onSubmit=${raise}>
      <label for=${id}>${unit === "usd" ? t("New limit in US dollars") : t("New limit in tokens")}</label>
      <div class="budget-row"><input id=${id} type="number" min=${unit === "usd" ? used : Math.floor(used) + 1} step=${unit === "usd" ? "0.01" : "1"} value=${text} readonly=${sending} aria-invalid=${fault ? "true" : null} aria-describedby=${fault ? `${id}-fault` : null}
        onInput=${(event) => setText(event.currentTarget.value)} />
        <button type="submit" class="button button-primary" disabled=${sending || own !== null}>${sending ? t("Sending…") : isSuggested ? label("raise", t("Raise the limit")) : own ? t("Raise the limit") : t("Raise the limit to {amount}", { amount: amount(text, unit) })}</button></div>
      ${fault && html`<p class="form-error" id=${`${id}-fault`} role="alert">${fault}</p>`}
    </form>
    <div class="button-row">
      <button type="button" class="button" disabled=${sending} onClick=${() => answer("answered", { choice: "finish" })}>${label("finish", t("Finish with what there is"))}</button>
      <button type="button" class="quiet-button" disabled=${sending} onClick=${() => answer("answered", { choice: "stop" })}><${Icon} name="stop" />${label("stop", t("Stop the run"))}</button>
    </div>
  </div>`;
}

function Bar({ name, used, limit, unit }) {
  const share = limit > 0 ? Math.min(1, used / limit) : 1;
  return html`<div><dt>${name}</dt><dd><meter min="0" max="1" value=${share} aria-label=${t("{name} used", { name })}></meter><span>${t("{used} of {limit}", { used: unit === "usd" ? cost(used) : Number(used).toLocaleString(language), limit: amount(limit, unit) })}</span></dd></div>`;
}

function Fact({ name, words }) {
  return html`<div><dt>${name}</dt><dd>${words}</dd></div>`;
}

// A model without a price makes the sum unknown: then what is known of it is said so.
function costWords({ used_cost_usd: whole, known_cost_usd: known }) {
  if (whole !== null && whole !== undefined) return cost(whole);
  return known ? t("at least {cost}", { cost: cost(known) }) : t("not known");
}

function faultOf(text, unit, used) {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) return t("The new limit is a number.");
  if (unit !== "usd" && !Number.isInteger(number)) return t("The new limit is a whole number of tokens.");
  return number > used ? null : t("The new limit has to be more than what is used: {amount}.", { amount: amount(used, unit) });
}
