// A question of the run to a person: a decision, words, or a plan to look over. Open it is a card, answered a line.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { requestWords } from "../activity.js";
import { announce } from "../announce.js";
import { Icon } from "./icons.js";
import { PlanReview } from "./plan_review.js";

export function Requests({ trace, session, roster }) {
  return trace.requests.map((request) => html`<${Request} key=${request.id} request=${request} trace=${trace} session=${session} roster=${roster} />`);
}

function Request({ request, trace, session, roster }) {
  const [state, setState] = useState({ sending: false, error: null, done: null }); // done: what was sent, until the run tells it
  const card = useRef(null);
  const isOpen = request.status === "pending" && state.done === null;
  useArrival(card, isOpen, request.question);

  async function answer(decision, more = {}) {
    setState({ sending: true, error: null, done: null });
    try {
      await session.respond({ request_id: request.id, decision, ...more });
      setState({ sending: false, error: null, done: { status: decision, choice: more.choice ?? null, text: more.text ?? null } });
    } catch (caught) {
      setState({ sending: false, error: caught.message, done: caught.status === 409 ? asFound(caught.found) : null });
    }
  }

  if (!isOpen) return html`<${Closed} request=${request} done=${state.done} error=${state.error} />`;
  const Body = BODIES[request.kind] ?? Decision;
  return html`<div class="request" ref=${card} tabindex="-1" role="group" aria-labelledby=${`question-${request.id}`} data-request=${request.id}>
    <p class="request-head"><${Icon} name="question" />${HEADS[request.kind] ?? "Your answer is needed"}</p>
    <p class="request-question" id=${`question-${request.id}`} dir="auto">${request.question}</p>
    <${Body} request=${request} trace=${trace} roster=${roster} sending=${state.sending} answer=${answer} />
    ${state.error && html`<p class="form-error" role="alert">${state.error}</p>`}
  </div>`;
}

// The request as somebody else left it.
function asFound(request) {
  return { status: request?.status ?? "late", choice: request?.answer?.choice ?? null, text: request?.answer?.text ?? null };
}

// An option is a text, or {id, label} where the words for people are others.
function optionsOf({ options, details }) {
  if (options.length) return options.map((option) => ({ id: option, label: option }));
  const rich = Array.isArray(details.options) ? details.options : [];
  return rich.filter((option) => option?.id !== undefined).map(({ id, label, text }) => ({ id: String(id), label: String(label ?? text ?? id) }));
}

const HEADS = { decision: "Your decision is needed", input: "A question to you", plan: "Look over the plan", budget: "The budget is used up" };
const BODIES = { decision: Decision, budget: Decision, input: Input, plan: PlanReview };

function Decision({ request, sending, answer }) {
  const options = optionsOf(request);
  if (!options.length) return html`<${Input} request=${request} sending=${sending} answer=${answer} />`;
  return html`<div class="request-options">
    ${options.map(({ id, label }) => html`<button type="button" key=${id} class="button" dir="auto" disabled=${sending} onClick=${() => answer("answered", { choice: id })}>${label}</button>`)}
    <${Decline} sending=${sending} answer=${answer} />
  </div>`;
}

function Input({ request, sending, answer }) {
  const [text, setText] = useState("");
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
    <label class="visually-hidden" for=${`answer-${request.id}`}>Your answer</label>
    <textarea id=${`answer-${request.id}`} rows="1" dir="auto" placeholder="Your answer" value=${text} disabled=${sending}
      onInput=${(event) => setText(event.currentTarget.value)} onKeyDown=${onKeyDown}></textarea>
    <div class="button-row">
      <button type="submit" class="button button-primary" disabled=${!ready}>${sending ? "Sending…" : "Answer"}</button>
      <${Decline} sending=${sending} answer=${answer} />
    </div>
  </form>`;
}

function Decline({ sending, answer }) {
  return html`<button type="button" class="quiet-button" disabled=${sending} onClick=${() => answer("denied")}>Decline</button>`;
}

const PLAN_SAID = { approved: "Accepted", answered: "Accepted with changes", denied: "Rejected" };

// What was asked, and what became of it: who decided, and what they said.
function Closed({ request, done, error }) {
  const shown = request.status === "pending" ? { ...request, ...done } : request;
  const said = optionsOf(request).find(({ id }) => id === shown.choice)?.label ?? shown.choice ?? shown.text;
  const isPlan = request.kind === "plan";
  const how = shown.status === "late" ? null : (isPlan && PLAN_SAID[shown.status]) || requestWords(shown.status);
  return html`<div class="request-closed" data-request=${request.id} data-status=${shown.status}>
    <${Icon} name=${shown.status === "answered" || shown.status === "approved" ? "check" : "question"} />
    <p><span class="request-asked" dir="auto">${isPlan ? "The plan was shown before it ran." : request.question}</span>
      ${how && html`<span class="request-said"><strong>${how}${shown.by ? ` by ${shown.by}` : ""}</strong>${said ? html`: <span dir="auto">${said}</span>` : ""}</span>`}
      ${error && html`<span class="request-said" role="alert">${error}</span>`}</p>
  </div>`;
}

function isTyping() {
  const active = document.activeElement;
  return /^(INPUT|TEXTAREA|SELECT)$/.test(active?.tagName ?? "") && active.value !== "";
}

// A card that appears is told, and gets the focus unless somebody writes; when it closes, the focus in it goes to the box.
function useArrival(card, isOpen, question) {
  const hadFocus = useRef(false);
  useEffect(() => {
    if (!isOpen) {
      if (hadFocus.current) document.getElementById("composer-text")?.focus();
      return undefined;
    }
    announce(`Your answer is needed: ${question}`);
    const element = card.current;
    if (!isTyping() && !document.querySelector("dialog[open], :popover-open")) (element.querySelector("textarea.is-first, .request-input > textarea") ?? element).focus({ preventScroll: true });
    if (element.offsetHeight > innerHeight / 2) element.scrollIntoView({ block: "start" }); // its beginning is not to be missed
    const note = () => (hadFocus.current = element.contains(document.activeElement) || document.activeElement === document.body);
    document.addEventListener("focusin", note);
    note();
    return () => document.removeEventListener("focusin", note);
  }, [isOpen]);
}
