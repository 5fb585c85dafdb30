// A question of the run to a person: a decision, words, or a plan to look over. Open it is a card, answered a line.
import { html, useRef, useState } from "../../vendor/preact.js";
import { requestWords } from "../activity.js";
import { forgetWords } from "../drafts.js";
import { t, tc } from "../i18n.js";
import { ApprovalBatch, pathsIn, useKnown } from "./approvals.js";
import { CARD, keepFocus, useArrival, useTarget } from "./arrival.js";
import { Budget, amount } from "./budget.js";
import { Doubt } from "./doubt.js";
import { Icon } from "./icons.js";
import { PlanReview } from "./plan_review.js";
import { useWords } from "./words.js";
import { inOurWords } from "../told.js";

// `execution`: whose questions; `me`: the reader's id.
export function Requests({ execution, session, roster, me }) {
  const { trace } = execution;
  const approvals = trace.requests.filter(({ kind }) => kind === "approval");
  const { known, failed, read } = useKnown(execution.id, approvals, session.requests);
  const drawn = { trace, respond: session.respond, roster };
  return grouped(trace.requests).map((group) =>
    group[0].kind === "approval"
      ? html`<${ApprovalBatch} key=${group[0].batch} asked=${group} known=${known} pathOf=${pathsIn(trace)} me=${me} actions=${session.requests} failed=${failed} retry=${read} />`
      : html`<${Request} key=${group[0].id} request=${group[0]} ...${drawn} />`,
  );
}

// The approvals of one answer stand together, where the first of them was asked for.
function grouped(requests) {
  const groups = [];
  for (const request of requests) {
    const batch = request.kind === "approval" && groups.find(([first]) => first.batch === request.batch);
    if (batch) batch.push(request);
    else groups.push([request]);
  }
  return groups;
}

export function Request({ request, trace, respond, roster, quiet = false }) {
  const [state, setState] = useState({ sending: false, error: null, done: null }); // done: what was sent, until the run tells it
  const card = useRef(null);
  const isOpen = request.status === "pending" && state.done === null;
  useArrival(card, isOpen, t("Your answer is needed: {question}", { question: inOurWords(request.question) }), { first: "textarea.is-first, .request-input > textarea", quiet });

  async function answer(decision, more = {}) {
    setState({ sending: true, error: null, done: null });
    try {
      await respond({ request_id: request.id, decision, ...more });
      forgetWords(request.id);
      setState({ sending: false, error: null, done: { status: decision, choice: more.choice ?? null, text: more.text ?? null } });
    } catch (caught) {
      setState({ sending: false, error: caught.message, fields: caught.fields, done: caught.status === 409 ? asFound(caught.found) : null });
      keepFocus(card);
    }
  }

  useTarget(card, request.id);
  if (!isOpen) return html`<${Closed} whole=${card} request=${request} done=${state.done} error=${state.error} />`;
  const Body = bodyOf(request);
  return html`<div class="request" ref=${card} tabindex="-1" role="group" aria-labelledby=${`question-${request.id}`} data-request=${request.id} id=${`request-${request.id}`} ...${{ [CARD]: "" }}>
    <p class="request-head"><${Icon} name=${ICONS[request.kind] ?? "question"} />${headOf(request)}</p>
    <p class="request-question" id=${`question-${request.id}`} dir="auto">${inOurWords(request.question)}</p>
    <${Body} request=${request} trace=${trace} roster=${roster} sending=${state.sending} answer=${answer} fields=${state.fields} />
    ${state.error && !state.fields?.text && html`<p class="form-error" role="alert">${state.error}</p>`}
  </div>`;
}

// The request as somebody else left it.
function asFound(request) {
  return { status: request?.status ?? "late", choice: request?.answer?.choice ?? null, text: request?.answer?.text ?? null };
}

// An option is a text, or {id, label} where the words for people are others.
function optionsOf({ options, details }) {
  const { labels = {} } = details;
  if (options.length) return options.map((option) => ({ id: option, label: inOurWords(labels[option] ?? option) }));
  const rich = Array.isArray(details.options) ? details.options : [];
  return rich.filter((option) => option?.id !== undefined).map(({ id, label, text }) => ({ id: String(id), label: String(label ?? text ?? id) }));
}

const HEADS = {
  decision: () => t("Your decision is needed"),
  input: () => t("A question to you"),
  plan: () => t("Look over the plan"),
  budget: () => t("The budget is used up"),
};
const ICONS = { budget: "coins" };
const BODIES = { decision: Decision, budget: Decision, input: Input, plan: PlanReview };

const isDoubt = ({ details }) => details.in_doubt === true;

function headOf(request) {
  return isDoubt(request) ? t("It is not known whether this happened") : (HEADS[request.kind]?.() ?? t("Your answer is needed"));
}

function bodyOf(request) {
  if (isDoubt(request)) return Doubt;
  if (request.kind === "budget" && request.details.unit) return Budget;
  return BODIES[request.kind] ?? Decision;
}

function Decision({ request, sending, answer }) {
  const options = optionsOf(request);
  if (!options.length) return html`<${Input} request=${request} sending=${sending} answer=${answer} />`;
  return html`<div class="request-options">
    ${options.map(({ id, label }) => html`<button type="button" key=${id} class="button" dir="auto" disabled=${sending} onClick=${() => answer("answered", { choice: id })}>${label}</button>`)}
    <${Decline} sending=${sending} answer=${answer} />
  </div>`;
}

function Input({ request, sending, answer }) {
  const [text, setText] = useWords(request.id, "answer");
  const ready = !sending && text.trim() !== "";

  function send(event) {
    event.preventDefault();
    if (ready) answer("answered", { text: text.trim() });
  }

  function onKeyDown(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) send(event);
    if (event.key === "Escape") event.stopPropagation(); // who leaves the field does not mean the run
  }

  const suggestions = request.kind === "input" ? optionsOf(request) : [];
  return html`<form class="request-input" onSubmit=${send}>
    ${suggestions.length > 0 && html`<div class="request-options">${suggestions.map(({ id, label }) => html`<button type="button" key=${id} class="button" dir="auto" disabled=${sending} onClick=${() => answer("answered", { choice: id })}>${label}</button>`)}</div>`}
    <label class="visually-hidden" for=${`answer-${request.id}`}>${t("Your answer")}</label>
    <textarea id=${`answer-${request.id}`} rows="1" dir="auto" placeholder=${t("Your answer")} value=${text} readonly=${sending}
      onInput=${(event) => setText(event.currentTarget.value)} onKeyDown=${onKeyDown}></textarea>
    <div class="button-row">
      <button type="submit" class="button button-primary" disabled=${!ready}>${sending ? t("Sending…") : tc("verb", "Answer")}</button>
      <${Decline} sending=${sending} answer=${answer} />
    </div>
  </form>`;
}

function Decline({ sending, answer }) {
  return html`<button type="button" class="quiet-button" disabled=${sending} onClick=${() => answer("denied")}>${t("Decline")}</button>`;
}

const PLAN_SAID = { approved: () => t("Accepted"), answered: () => t("Accepted with changes"), denied: () => t("Rejected") };

// {asked, how, said}: what was asked, and what became of it.
export function closedWords(request) {
  const { kind, status, choice, text, details } = request;
  const isPlan = kind === "plan";
  const isOther = kind === "budget" && choice === "raise" && details.unit && text && text !== String(details.suggested);
  return {
    asked: isPlan && status !== "pending" ? t("The plan was shown before it ran.") : inOurWords(request.question),
    how: status === "late" ? null : (isPlan && PLAN_SAID[status]?.()) || requestWords(status),
    said: isOther ? t("Raise the limit to {amount}", { amount: amount(text, details.unit) }) : (optionsOf(request).find(({ id }) => id === choice)?.label ?? choice ?? text),
  };
}

// Who decided, and what they said.
function Closed({ whole, request, done, error }) {
  const shown = request.status === "pending" ? { ...request, ...done } : request;
  const { asked, how, said } = closedWords(shown);
  return html`<div class="request-closed" ref=${whole} data-request=${request.id} data-status=${shown.status} id=${`request-${request.id}`} tabindex="-1">
    <${Icon} name=${shown.status === "answered" || shown.status === "approved" ? "check" : "question"} />
    <p><span class="request-asked" dir="auto">${asked}</span>
      ${how && html`<span class="request-said"><strong>${shown.by ? t("{how} by {who}", { how, who: shown.by }) : how}</strong>${said ? html`: <span dir="auto">${said}</span>` : ""}</span>`}
      ${error && html`<span class="request-said" role="alert">${error}</span>`}</p>
  </div>`;
}
