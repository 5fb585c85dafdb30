// A call that waits for somebody's yes: what it would do, who asks, what it risks, and the answers to it.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { agentLabel } from "../agents.js";
import { announce } from "../announce.js";
import { callOf, deciders, isIrreversible, otherReasons, outcome, titleOf } from "../approvals.js";
import { forgetWords } from "../drafts.js";
import { parts, t } from "../i18n.js";
import { inOurWords } from "../told.js";
import { quotedTool, toolLabel } from "../tools.js";
import { fromNow, laterChoices, moment } from "../when.js";
import { ApprovalForms } from "./approval_forms.js";
import { CARD, goOnWriting, keepFocus, useArrival, useTarget } from "./arrival.js";
import { AgentBadge } from "./badge.js";
import { Icon } from "./icons.js";
import { Menu } from "./menu.js";
import { Preview } from "./previews.js";
import { ONCE, Remember, useRuleWords } from "./remember.js";
import { RiskBadge } from "./risk.js";
import { Tainted } from "./tainted.js";
import { useNow } from "./ticking.js";

const ARMED_AFTER_MS = 700; // a key that was meant for what was there before decides nothing
const ALONE_MS = 350; // nor does one that others follow: somebody writes, and has not seen that the card took the focus

// `place`: {at, of} among the calls of one answer; `path`: names of the agents above; `actions`: {respond, previewRule, load}.
export function ApprovalCard({ request, me, place = null, path = [], actions, late, quiet = false }) {
  const card = useRef(null);
  const [mode, setMode] = useState(null); // null | "edit" | "deny" | "instruct"
  const [sending, setSending] = useState(false);
  const [error, setError] = useState(null); // {message, fields}
  const [draft, setDraft] = useState(ONCE);
  const call = callOf(request);
  const mayDecide = request.may_decide !== false;
  const decision = mode === "deny" ? "denied" : "approved";
  const words = useRuleWords({ request, call, draft, decision, previewRule: actions.previewRule });
  const title = titleOf(request);
  const isArmed = useArmed(mayDecide);
  const [soon, takeBack] = useSoon();
  useArrival(card, true, place ? t("Approval {at} of {of} needed: {title}", { ...place, title }) : t("Approval needed: {title}", { title }), { quiet: quiet || !mayDecide });
  useTarget(card, request.request_id);

  async function decide(decided, more = {}) {
    if (sending) return;
    setSending(true);
    setError(null);
    const remember = decided !== "snoozed" && !more.edited_arguments ? words.remember : null;
    const hash = request.arguments_hash || call?.arguments_hash;
    try {
      const answered = await actions.respond({ request_id: request.request_id, decision: decided, ...(hash && { arguments_hash: hash }), ...more, ...(remember && { remember }) });
      if (decided !== "snoozed") forgetWords(request.request_id);
      announce(decided === "snoozed" ? t("Put off") : outcome(answered ?? { status: decided }, me).words);
    } catch (caught) {
      setSending(false);
      await refused(caught);
      return;
    }
    setSending(false);
    setMode(null);
  }

  async function refused(caught) {
    const hasMoved = caught.found && caught.found.status !== "pending";
    if (hasMoved) late();
    else setError({ message: caught.message, fields: caught.fields });
    keepFocus(card);
    if (caught.code === "arguments_changed" || caught.status === 403 || caught.status === 404) await actions.load(request.request_id).catch(() => undefined);
  }

  function leave() {
    setMode(null);
    setError(null);
    requestAnimationFrame(() => card.current?.focus({ preventScroll: true }));
  }

  function onKeyDown(event) {
    const before = takeBack();
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("[popover]")) return;
    if (before && event.key.length === 1) {
      if (goOnWriting(before + event.key)) event.preventDefault();
      return;
    }
    if (event.key === "Escape") {
      event.stopPropagation(); // it would stop the answer
      if (mode) leave();
      else document.getElementById("composer-text")?.focus();
      return;
    }
    if (!isArmed || mode || sending || event.repeat || event.shiftKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const act = { a: () => words.ready && soon(event.key, () => decide("approved")), e: () => call && setMode("edit"), d: () => setMode("deny") }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  const titleId = `approval-${request.request_id}`;
  return html`<section class=${`request approval ${mayDecide ? "" : "is-others"}`} ref=${card} tabindex="-1" role="group" aria-labelledby=${titleId} data-request=${request.request_id}
    id=${`request-${request.request_id}`} data-keys=${isArmed ? "on" : "off"} aria-keyshortcuts=${mayDecide ? "A E D" : null} ...${mayDecide ? { [CARD]: "" } : {}} onKeyDown=${mayDecide ? onKeyDown : null}>
    <${Head} request=${request} place=${place} mayDecide=${mayDecide} />
    <h2 class="approval-title" id=${titleId} dir="auto">${title}</h2>
    <${Asker} request=${request} path=${path} />
    <${Tainted} request=${request} />
    ${mode === "edit" ? null : call ? html`<${Preview} call=${call} />` : html`<${AgentStart} request=${request} />`}
    ${!mayDecide && html`<p class="approval-others"><${Icon} name="people" /><span>${t("Waits for {who}. You will see here what they decide.", { who: deciders(request) })}</span></p>`}
    ${mayDecide && !mode && html`<${Remember} request=${request} call=${call} decision="approved" draft=${draft} change=${setDraft} words=${words} sending=${sending} />
      <${Buttons} request=${request} sending=${sending} words=${words} decide=${decide} setMode=${setMode} hasCall=${Boolean(call)} />`}
    ${mayDecide && mode && html`<${ApprovalForms} mode=${mode} request=${request} call=${call} draft=${draft} setDraft=${setDraft} words=${words} sending=${sending} refused=${error?.fields} decide=${decide} back=${leave} />`}
    ${error && !(mode === "edit" && hasFieldFaults(error)) && html`<p class="form-error" role="alert">${error.message}</p>`}
  </section>`;
}

const hasFieldFaults = ({ fields }) => Object.keys(fields ?? {}).some((path) => path.startsWith("edited_arguments"));

// Keys work only once the card has been there for a moment.
function useArmed(mayDecide) {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    if (!mayDecide) return undefined;
    const timer = setTimeout(() => setArmed(true), ARMED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [mayDecide]);
  return isArmed && mayDecide;
}

// `soon(key, act)` acts a moment after its key, unless it is taken back or the card goes meanwhile; `takeBack()` gives the key
// that waited, if one did.
function useSoon() {
  const waiting = useRef(null);
  function takeBack() {
    const { key = "", timer } = waiting.current ?? {};
    clearTimeout(timer);
    waiting.current = null;
    return key;
  }
  function soon(key, act) {
    const timer = setTimeout(() => {
      waiting.current = null;
      act();
    }, ALONE_MS);
    waiting.current = { key, timer };
  }
  useEffect(() => takeBack, []);
  return [soon, takeBack];
}

function Head({ request, place, mayDecide }) {
  return html`<div class="approval-head">
    <p class="request-head"><${Icon} name=${mayDecide ? "shield" : "clock"} />${neededWords(request, mayDecide)}</p>
    <${RiskBadge} risk=${request.risk || callOf(request)?.risk} irreversible=${isIrreversible(request)} />
    ${place && place.of > 1 && html`<span class="approval-place">${t("{at} of {of}", place)}</span>`}
    <${Until} request=${request} />
  </div>`;
}

function neededWords(request, mayDecide) {
  if (!mayDecide) return t("Waiting for approval");
  return request.was_reminded ? t("Your approval is still needed") : t("Your approval is needed");
}

// When it ends, or when it reminds; an ending that is near is said as a warning.
function Until({ request }) {
  const now = useNow(true);
  const { expires_at: ends, remind_at: reminds } = request;
  if (!ends && !(reminds && Date.parse(reminds) > now)) return null;
  const isReminder = !ends;
  const left = Date.parse(ends ?? reminds) - now;
  const reminding = reminds && Date.parse(reminds) > now && t("Reminds {when}", { when: fromNow(reminds, now) });
  const words = isReminder ? reminding : left < 1000 ? t("Its time is over") : t("Ends {when}", { when: fromNow(ends, now) });
  const exactly = isReminder ? t("Reminds {when}", { when: moment(reminds, now) }) : t("Ends {when}", { when: moment(ends, now) });
  const title = [exactly, !isReminder && reminding].filter(Boolean).join(" · ");
  return html`<span class=${`approval-until ${!isReminder && left < 600_000 ? "is-near" : ""}`} title=${title}><${Icon} name="clock" />${words}</span>`;
}

function Asker({ request, path }) {
  const { agent_name: agent, task_description: task, owner_name: owner } = request;
  const why = otherReasons(request);
  return html`<div class="approval-asker">
    <p class="asker-line">${path.map((name) => html`<span class="asker-step" key=${name}>${agentLabel(name)}<${Icon} name="right" /></span>`)}<${AgentBadge} name=${agent} />
      <span class="asker-words">${wantsWords(callOf(request), owner)}</span></p>
    ${task && html`<p class="asker-task"><span class="muted">${t("Its task:")}</span> <span dir="auto">${task}</span></p>`}
    ${why && html`<p class="asker-task"><span class="muted">${t("Asked because:")}</span> <span dir="auto">${inOurWords(why)}</span></p>`}
    ${request.may_decide !== false && request.approvers && request.approvers.kind !== "self" && html`<p class="asker-task"><span class="muted">${t("Can be decided by")}</span> ${deciders(request, { own: false })}</p>`}
  </div>`;
}

// What stands behind the agent's name.
function wantsWords(call, owner) {
  const tool = call && html`<strong title=${call.tool}>${quotedTool(call.tool, call.label)}</strong>`;
  const person = html`<bdi>${owner}</bdi>`;
  if (tool) return owner ? parts("wants to use {tool} for {person}", { tool, person }) : parts("wants to use {tool}", { tool });
  return owner ? parts("wants to begin for {person}", { person }) : t("wants to begin");
}

// Before an agent begins there is no call yet: what it is about to do, and with which tools.
function AgentStart({ request }) {
  if (!request.tool_names?.length) return null;
  return html`<p class="approval-tools"><span class="muted">${t("It may use:")}</span> ${request.tool_names.map((tool) => html`<span key=${tool} class="badge" title=${tool}>${toolLabel(tool)}</span> `)}</p>`;
}

function Buttons({ request, sending, words, decide, setMode, hasCall }) {
  const remembered = Boolean(words.remember);
  return html`<div class="button-row approval-buttons">
    <button type="button" class="button button-primary" disabled=${sending || !words.ready} onClick=${() => decide("approved")}><${Icon} name="check" />${sending ? t("Sending…") : remembered ? t("Approve and remember") : t("Approve")}<kbd aria-hidden="true">A</kbd></button>
    ${hasCall && html`<button type="button" class="button" disabled=${sending} onClick=${() => setMode("edit")}><${Icon} name="pencil" />${t("Edit")}<kbd aria-hidden="true">E</kbd></button>`}
    <button type="button" class="button" disabled=${sending} onClick=${() => setMode("deny")}><${Icon} name="close" />${t("Deny")}<kbd aria-hidden="true">D</kbd></button>
    <span class="approval-ways"><button type="button" class="quiet-button" disabled=${sending} onClick=${() => setMode("instruct")}><${Icon} name="comment" />${t("With instructions")}</button>
    <${Later} request=${request} sending=${sending} decide=${decide} /></span>
  </div>`;
}

function Later({ request, sending, decide }) {
  const choices = laterChoices(Date.now(), request.expires_at);
  if (!choices.length || sending) return null;
  const face = html`<${Icon} name="clock" />${t("Later")}`;
  return html`<${Menu} id=${`later-${request.request_id}`} label=${t("Decide later")} buttonClass="quiet-button" button=${face} placement="above">
    <p class="menu-note">${request.tool_names?.length ? t("Put off {tool} until", { tool: quotedTool(request.tool_names[0], callOf(request)?.label) }) : t("Put it off until")}</p>
    ${choices.map(({ label, iso }) => html`<button type="button" key=${label} role="menuitem" onClick=${() => decide("snoozed", { snooze_until: iso })}>${label}</button>`)}
  </${Menu}>`;
}
