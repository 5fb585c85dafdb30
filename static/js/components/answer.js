// One reply: how it came about, what it asks, its text, its sources, what went wrong, what it used, and what can be done with it.
import { html, useEffect, useMemo, useState } from "../../vendor/preact.js";
import { duration, isWaiting } from "../activity.js";
import { knownMode, optionsOf } from "../agents.js";
import { readChoices } from "../drafts.js";
import { removedWords } from "../guarded.js";
import { usesHands } from "../hands.js";
import { t } from "../i18n.js";
import { answerText, isLive, partsOf, streamedText } from "../store.js";
import { Activity, OtherModes, loadWorkers } from "./activity.js";
import { Details } from "./answer_details.js";
import { Branches } from "./branches.js";
import { Icon } from "./icons.js";
import { Part, warm } from "./later.js";
import { MemoryLine } from "./memory_line.js";
import { CopyButton, Prose } from "./prose.js";
import { toEdit } from "./question.js";
import { SourceList } from "./sources.js";
import { endInOurWords, inOurWords } from "../told.js";

// What a plain answer does not need: cards of questions to people, what a run did with its hands, and its agents. They are there before
// the first of them is told where a run goes on, or somebody begins to do something.
const loadRequests = () => import("./request.js").then(({ Requests }) => Requests);
const loadDoing = () => import("./hands.js").then(({ Doing }) => Doing);
const loadCame = () => import("./hands.js").then(({ Came }) => Came);
const warmAll = () => [loadRequests, loadDoing, loadCame, loadWorkers].forEach(warm);
for (const sign of ["keydown", "pointerdown"]) addEventListener(sign, warmAll, { once: true, passive: true });

const SOURCES_LISTED = 5;

const NONE = [];

export function Answer({ row, application, session, last }) {
  const { message, execution, siblings } = row;
  const live = isLive(execution);
  const written = answerText(message, execution);
  const text = live ? written : endInOurWords(written);
  const thoughts = execution ? streamedText(execution, "thinking") : "";
  const unsupported = useMemo(() => (execution?.checks ?? []).filter(({ supported }) => supported === false), [execution?.checks]);
  const parts = partsOf(text, execution?.trace.added ?? NONE);
  const removed = live ? "" : removedWords(text);
  const stopping = live && session.stopping.value.has(execution.id);
  const hasHands = useMemo(() => Boolean(execution) && usesHands(execution.trace), [execution?.trace.agents]);
  useEffect(() => void (live && warmAll()), [live]);

  return html`<article class="answer" aria-busy=${live ? "true" : "false"} aria-label=${t("Answer")} data-message=${message.id} data-status=${execution?.status ?? ""}>
    ${execution && html`<${Work} message=${message} execution=${execution} stopping=${stopping} application=${application} session=${session} last=${last} isAnswering=${text !== ""} />`}
    ${hasHands && html`<${Part} load=${loadDoing} with=${{ trace: execution.trace, isLive: live, isAnswering: text !== "", conversationId: session.conversationId }} />`}
    ${(thoughts || (!live && execution?.thought)) && html`<${Thoughts} text=${thoughts} live=${live && !text} thought=${execution.thought} read=${() => session.thoughts(execution.id)} />`}
    ${parts.map(({ added, text: words }, index) => html`<${Passage} key=${index} added=${added} text=${words} live=${live && index === parts.length - 1} sources=${execution?.sources} unsupported=${unsupported} session=${session} />`)}
    ${live && unheard(execution, session).map((words) => html`<${Added} words=${words} />`)}
    ${hasHands && html`<${Part} load=${loadCame} with=${{ trace: execution.trace, conversationId: session.conversationId }} />`}
    ${live && text && !isWaiting(execution) && html`<${Progress} model=${execution.model} />`}
    ${removed && html`<p class="mark is-guarded"><${Icon} name="shield" /><span>${t("Taken out of this answer: {what}", { what: removed })}</span></p>`}
    ${execution?.status === "failed" && html`<${Failure} execution=${execution} edit=${message.parent_id && (() => (toEdit.value = message.parent_id))} retry=${() => session.retry(message.id)} retryFailed=${() => session.retryFailed(execution.id)} />`}
    ${execution?.status === "cancelled" && html`<p class="mark is-stopped"><${Icon} name="stop" /><span>${text ? t("Stopped. What was written until then is kept.") : t("Stopped before it began to answer.")}</span>
      <button type="button" class="link-button" onClick=${() => session.retry(message.id)}>${t("Try again")}</button></p>`}
    ${text && unsupported.length > 0 && html`<p class="mark is-grounding"><${Icon} name="warning" /><span><span class="unsupported">${t("Underlined")}</span>: ${t("not supported by the source it cites")}</span></p>`}
    ${text && execution?.sources.length > 0 && html`<${Sources} sources=${execution.sources} />`}
    ${(text || !live) && html`<${MemoryLine} memory=${execution?.memory} />`}
    ${!live && html`<footer class=${`answer-foot ${last ? "is-last" : ""}`}>
      ${text && html`<${CopyButton} text=${text} label=${t("Copy answer")} />`}
      ${execution && execution.status !== "failed" && html`<button type="button" class="icon-button small" onClick=${() => session.retry(message.id)}
        aria-label=${t("Answer again")} title=${t("Answer again")}><${Icon} name="retry" /></button>`}
      <${Branches} siblings=${siblings} message=${message} session=${session} />
      ${execution && html`<${Details} execution=${execution} application=${application} />`}
      ${isAsked(execution) && execution.model && html`<span class="facts"><span>${execution.model}</span></span>`}
    </footer>`}
    ${last && message.unasked && html`<${Unasked} unasked=${message.unasked} application=${application} />`}
    ${!live && last && message.follow_ups.length > 0 && html`<${FollowUps} questions=${message.follow_ups} application=${application} />`}
  </article>`;
}

// A part of the text, below what somebody added before it.
function Passage({ added, text, live, sources, unsupported, session }) {
  return html`${added.map((words) => html`<${Added} words=${words} />`)}
    ${text.trim() && html`<${Prose} text=${text} live=${live} sources=${sources} unsupported=${unsupported} conversationId=${session.conversationId} said=${session.said.value} />`}`;
}

function Added({ words }) {
  return html`<p class="mark is-added"><${Icon} name="addTo" /><span>${t("You added:")} <span dir="auto">${words}</span></span></p>`;
}

// What this page has told the run, and no agent of it has heard yet. What none hears is the conversation's next question.
function unheard({ id, trace }, session) {
  return (session.added.value.get(id) ?? NONE).filter((words) => !trace.added.some(({ text }) => text === words));
}

// What the run did and asks. Its tokens, many a second, change nothing here and do not draw it again.
function Work({ message, execution, stopping, application, session, last, isAnswering }) {
  const { trace, status, activity } = execution;
  const roster = application.roster.value;
  return useMemo(() => {
    const question = session.state.peek().messages.find(({ id }) => id === message.parent_id);
    return html`
      <${Activity} execution=${execution} stopping=${stopping} session=${session} isAnswering=${isAnswering} showRun=${() => (application.openRun.value = execution.id)} />
      ${last && question && trace.routing && html`<${OtherModes} routing=${trace.routing} modes=${application.page.modes ?? []} roster=${roster} ask=${(mode) => session.askAgain(execution, question, mode)} />`}
      ${trace.requests.length > 0 && html`<${Part} load=${loadRequests} with=${{ execution, session, roster, me: application.page.user.id }} />`}`;
  }, [trace, status, activity, stopping, last, roster, isAnswering, execution.startedAt, execution.endedAt]);
}

// `read`: for those of a run that had ended before we looked.
function Thoughts({ text, live, thought, read }) {
  const [found, setFound] = useState(""); // what was read
  const [failed, setFailed] = useState("");
  const took = thought?.from != null ? thought.to - thought.from : 0;
  const words = live ? t("Thinking") : took >= 1000 ? t("Thought for {time}", { time: duration(took) }) : t("Thoughts");
  const shown = text || found;

  function open() {
    setFailed("");
    read().then((all) => setFound(all || t("They are kept no longer.")), (error) => setFailed(error.message));
  }

  return html`<details class="thoughts" onToggle=${(event) => event.currentTarget.open && !shown && open()}>
    <summary class=${live ? "is-live" : ""}><${Icon} name="chevron" />${words}</summary>
    ${failed ? html`<p class="form-error" role="alert">${failed} <button type="button" class="link-button" onClick=${open}>${t("Try again")}</button></p>`
      : html`<div class="thoughts-text" dir="auto" aria-busy=${shown ? "false" : "true"}>${shown || t("Loading…")}</div>`}
  </details>`;
}

// What is worth a glance is the model, if one was asked: the time stands above, the rest is in the details.
const isAsked = (execution) => execution !== null && execution.usage.prompt_tokens + execution.usage.completion_tokens > 0;

// What was said too late for the answer, and refused as a question: it is not lost.
function Unasked({ unasked: { text, why }, application }) {
  return html`<div class="unsent" role="alert"><${Icon} name="warning" /><span>${t("You added:")} <span dir="auto">${text}</span><br />${t("Not sent.")} ${why}</span>
    <button type="button" class="link-button" onClick=${() => (application.inserted.value = { text })}>${t("Put it into the box")}</button></div>`;
}

// A click puts the question into the box, to be changed; with Ctrl or ⌘ it is sent.
function FollowUps({ questions, application }) {
  const take = (text) => (event) => {
    const mode = knownMode(application.page.modes ?? [], application.mode.value);
    if (event.ctrlKey || event.metaKey) application.say(text, mode, optionsOf(mode, readChoices()));
    else application.inserted.value = { text };
  };
  return html`<ul class="follow-ups" aria-label=${t("You may ask next")}>
    ${questions.map((text) => html`<li key=${text}><button type="button" class="follow-up" title=${t("Put it into the box. With Ctrl or ⌘ it is sent.")} onClick=${take(text)}><${Icon} name="addTo" /><span dir="auto">${text}</span></button></li>`)}
  </ul>`;
}

// Below a text that grows, for who reads at its end: that it grows. What is done and since when is told above it.
function Progress({ model }) {
  return html`<p class="progress"><span class="pulse" aria-hidden="true"></span>${model && html`<span class="facts"><span>${model}</span></span>`}</p>`;
}

// What happened, and the ways on: all of it again, or only what failed, where something was done that can be kept.
function Failure({ execution, edit, retry, retryFailed }) {
  const { error, trace } = execution;
  if (error?.code === "guardrail_input") return html`<${Refused} error=${error} edit=${edit} retry=${retry} />`;
  const isPartly = trace.agents.filter(({ status }) => status === "completed").length > 0 && trace.agents.length > 2;
  return html`<div class="failure" role="alert">
    <${Icon} name="warning" />
    <p>${inOurWords(error?.message) ?? t("The run failed, and left no reason. Try again.")}</p>
    <span class="failure-ways">
      <button type="button" class="button" onClick=${retry}><${Icon} name="retry" />${t("Try again")}</button>
      ${isPartly && html`<button type="button" class="button" title=${t("What was done is kept.")} onClick=${retryFailed}>${t("Retry from what failed")}</button>`}
    </span>
  </div>`;
}

// A question that a guardrail did not let through. It stays above, to be said in other words.
function Refused({ error, edit, retry }) {
  return html`<div class="failure is-refused" role="alert" data-code=${error.code}>
    <${Icon} name="shield" />
    <p>${inOurWords(error.message)}</p>
    <span class="failure-ways">
      ${edit && html`<button type="button" class="button button-primary" onClick=${edit}><${Icon} name="pencil" />${t("Edit and ask again")}</button>`}
      <button type="button" class="button" onClick=${retry}><${Icon} name="retry" />${t("Try again")}</button>
    </span>
  </div>`;
}

function Sources({ sources }) {
  const listed = sources.length > SOURCES_LISTED + 1 ? SOURCES_LISTED : sources.length; // one more is as short as saying so
  const others = sources.slice(listed);
  return html`<div class="sources" role="group" aria-label=${t("Sources")}>
    <p class="sources-head" aria-hidden="true">${t("Sources")}</p>
    <${SourceList} sources=${sources.slice(0, listed)} />
    ${others.length > 0 && html`<details class="more-sources"><summary>${t("{count} more", { count: others.length })}</summary><${SourceList} sources=${others} first=${listed + 1} /></details>`}
  </div>`;
}
