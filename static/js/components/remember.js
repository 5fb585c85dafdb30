// What of a decision is remembered: the choice on the card, a rule's conditions, end and uses, and the rule in the server's own
// words before it is saved.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { mayRemember, whyNoRule } from "../approvals.js";
import { t } from "../i18n.js";
import { OPS, SCOPES, conditionOf, faultOf, firstCondition, pathsOf, rememberOf } from "../standing.js";
import { Icon } from "./icons.js";

const TYPING_MS = 300; // until what was typed is asked about

export const ONCE = Object.freeze({ scope: "once", conditions: [], until: "", uses: "" });

// `decision`: what the rule will follow; `words`: of useRuleWords.
export function Remember({ request, call, decision, draft, change, words, sending }) {
  if (!mayRemember(request, decision)) return html`<p class="remember-not small muted"><${Icon} name="scales" />${whyNoRule(request)}</p>`;
  const paths = pathsOf(call?.arguments);
  const id = `remember-${request.request_id}`;

  function choose(scope) {
    const condition = scope === "rule" && !draft.conditions.length ? firstCondition(paths) : null;
    change({ ...draft, scope, conditions: condition ? [condition] : draft.conditions });
  }

  return html`<div class="remember">
    <label class="remember-choice" for=${id}><${Icon} name="scales" /><span>${t("Next time")}</span>
      <select id=${id} value=${draft.scope} disabled=${sending} onChange=${(event) => choose(event.currentTarget.value)}>
        ${SCOPES.filter(({ name }) => name !== "conversation" || request.conversation_id).map(({ name, words: said }) => html`<option value=${name}>${said()}</option>`)}
      </select></label>
    ${draft.scope === "rule" && html`<${Rule} id=${id} draft=${draft} paths=${paths} change=${change} sending=${sending} />`}
    ${draft.scope !== "once" && html`<${Words} words=${words} decision=${decision} />`}
  </div>`;
}

function Rule({ id, draft, paths, change, sending }) {
  const names = Object.keys(paths);
  const set = (at, more) => change({ ...draft, conditions: draft.conditions.with(at, { ...draft.conditions[at], ...more }) });
  return html`<div class="rule-form" role="group" aria-label=${t("The rule")}>
    ${draft.conditions.map((condition, at) => html`<div class="rule-condition" key=${at}>
      <select aria-label=${t("Argument")} value=${condition.path} disabled=${sending} onChange=${(event) => set(at, conditionOf(event.currentTarget.value, paths[event.currentTarget.value]))}>
        ${names.map((name) => html`<option value=${name}>${name}</option>`)}</select>
      <select aria-label=${t("Comparison")} value=${condition.op} disabled=${sending} onChange=${(event) => set(at, { op: event.currentTarget.value })}>
        ${OPS.map(({ name, words: said }) => html`<option value=${name}>${said()}</option>`)}</select>
      <input type="text" aria-label=${t("Value")} dir="auto" value=${condition.value} disabled=${sending} placeholder=${condition.op === "matches" ? "report-*.pdf" : ""} onInput=${(event) => set(at, { value: event.currentTarget.value })} />
      <button type="button" class="icon-button small" disabled=${sending} aria-label=${t("Drop this condition")} title=${t("Drop this condition")} onClick=${() => change({ ...draft, conditions: draft.conditions.toSpliced(at, 1) })}><${Icon} name="trash" /></button>
    </div>`)}
    ${!draft.conditions.length && html`<p class="small rule-wide"><${Icon} name="warning" />${t("Without a condition the rule covers every call of this tool.")}</p>`}
    <div class="rule-more">
      ${names.length > 0 && html`<button type="button" class="quiet-button" disabled=${sending} onClick=${() => change({ ...draft, conditions: [...draft.conditions, firstCondition(paths, draft.conditions.map(({ path }) => path))] })}><${Icon} name="plus" />${t("Condition")}</button>`}
      <label class="rule-limit" for=${`${id}-until`}>${t("Last day")} <input id=${`${id}-until`} type="date" value=${draft.until} disabled=${sending} onInput=${(event) => change({ ...draft, until: event.currentTarget.value })} /></label>
      <label class="rule-limit" for=${`${id}-uses`}>${t("At most")} <input id=${`${id}-uses`} type="text" inputmode="numeric" size="4" placeholder=${t("any")} value=${draft.uses} disabled=${sending} onInput=${(event) => change({ ...draft, uses: event.currentTarget.value })} /> ${t("times")}</label>
    </div>
  </div>`;
}

function Words({ words, decision }) {
  if (words.fault) return html`<p class="form-error" role="alert">${words.fault}</p>`;
  return html`<div class="rule-words" aria-live="polite">
    <p class="small muted">${decision === "denied" ? t("If you deny it, this rule is saved:") : t("If you approve it, this rule is saved:")}</p>
    <p class="rule-text" dir="auto">${words.text ?? "…"}</p>
  </div>`;
}

// {text, fault, ready, remember}: the rule as the server would save it, asked for anew when the draft changes.
export function useRuleWords({ request, call, draft, decision, previewRule }) {
  const [told, setTold] = useState({ key: null, text: null, fault: null });
  const remember = mayRemember(request, decision) ? rememberOf(draft, pathsOf(call?.arguments)) : null;
  const fault = remember && faultOf(draft);
  const key = remember && JSON.stringify([remember, decision]);
  useEffect(() => {
    if (!key || fault) return undefined;
    let current = true;
    const timer = setTimeout(async () => {
      try {
        const { text } = await previewRule({ request_id: request.request_id, remember, decision });
        if (current) setTold({ key, text, fault: null });
      } catch (error) {
        if (current) setTold({ key, text: null, fault: error.message });
      }
    }, draft.scope === "rule" ? TYPING_MS : 0);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [key, fault]);
  if (!remember) return { text: null, fault: null, ready: true, remember: null };
  const isTold = told.key === key && !fault;
  const text = isTold ? told.text : null;
  // The words go with it: if the rule would read otherwise by now, nothing is saved.
  return { text, fault: fault ?? (isTold ? told.fault : null), ready: isTold && !told.fault, remember: { ...remember, text } };
}
