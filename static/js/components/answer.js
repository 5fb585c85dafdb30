// One reply: how it came about, what it asks, its text, its sources, what went wrong, what it used, and what can be done with it.
import { html, useMemo } from "../../vendor/preact.js";
import { doing, facts, isWaiting } from "../activity.js";
import { answerText, isLive, streamedText } from "../store.js";
import { Activity, OtherModes } from "./activity.js";
import { Came, Doing } from "./hands.js";
import { Icon } from "./icons.js";
import { MemoryLine } from "./memory_line.js";
import { CopyButton, Prose } from "./prose.js";
import { Requests } from "./request.js";
import { SourceList } from "./sources.js";
import { Elapsed } from "./ticking.js";

export function Answer({ row, application, session, last }) {
  const { message, execution, siblings } = row;
  const live = isLive(execution);
  const text = answerText(message, execution);
  const thoughts = execution ? streamedText(execution, "thinking") : "";
  const unsupported = useMemo(() => (execution?.checks ?? []).filter(({ supported }) => supported === false), [execution?.checks]);
  const stopping = live && session.stopping.value.has(execution.id);

  return html`<article class="answer" aria-busy=${live ? "true" : "false"} aria-label="Answer" data-message=${message.id} data-status=${execution?.status ?? ""}>
    ${execution && html`<${Work} message=${message} execution=${execution} stopping=${stopping} application=${application} session=${session} last=${last} isAnswering=${text !== ""} />`}
    ${execution && session.added.value.get(execution.id)?.map((words) => html`<p class="mark is-added"><${Icon} name="addTo" /><span>You added: <span dir="auto">${words}</span></span></p>`)}
    ${execution && html`<${Doing} trace=${execution.trace} isLive=${live} isAnswering=${text !== ""} conversationId=${session.conversationId} />`}
    ${thoughts && html`<${Thoughts} text=${thoughts} live=${live && !text} />`}
    ${text && html`<${Prose} text=${text} live=${live} sources=${execution?.sources} unsupported=${unsupported} />`}
    ${execution && html`<${Came} trace=${execution.trace} conversationId=${session.conversationId} />`}
    ${live && text && !isWaiting(execution) && html`<${Progress} execution=${execution} stopping=${stopping} />`}
    ${execution?.status === "failed" && html`<${Failure} error=${execution.error} retry=${() => session.retry(message.id)} />`}
    ${execution?.status === "cancelled" && html`<p class="mark"><${Icon} name="stop" />Stopped${text ? "" : " before it began to answer"}</p>`}
    ${text && unsupported.length > 0 && html`<p class="mark is-grounding"><${Icon} name="warning" /><span><span class="unsupported">Underlined</span>: not supported by the source it cites</span></p>`}
    ${text && execution?.sources.length > 0 && html`<${Sources} sources=${execution.sources} />`}
    <${MemoryLine} memory=${execution?.memory} />
    ${!live && html`<footer class=${`answer-foot ${last ? "is-last" : ""}`}>
      ${text && html`<${CopyButton} text=${text} label="Copy answer" />`}
      ${execution && execution.status !== "failed" && html`<button type="button" class="icon-button small" onClick=${() => session.retry(message.id)}
        aria-label="Answer again" title="Answer again"><${Icon} name="retry" /></button>`}
      <${Branches} siblings=${siblings} message=${message} session=${session} />
      ${execution && html`<span class="facts">${facts(execution).map((fact) => html`<span>${fact}</span>`)}</span>`}
    </footer>`}
  </article>`;
}

// What the run did and asks. Its tokens, many a second, change nothing here and do not draw it again.
function Work({ message, execution, stopping, application, session, last, isAnswering }) {
  const { trace, status, activity } = execution;
  const roster = application.roster.value;
  return useMemo(() => {
    const question = session.state.peek().messages.find(({ id }) => id === message.parent_id);
    return html`
      <${Activity} execution=${execution} stopping=${stopping} session=${session} isAnswering=${isAnswering} />
      ${last && question && trace.routing && html`<${OtherModes} routing=${trace.routing} modes=${application.page.modes ?? []} roster=${roster} ask=${(mode) => session.askAgain(execution, question, mode)} />`}
      <${Requests} execution=${execution} session=${session} roster=${roster} me=${application.page.user.id} />`;
  }, [trace, status, activity, stopping, last, roster, isAnswering, execution.startedAt, execution.endedAt]);
}

function Thoughts({ text, live }) {
  return html`<details class="thoughts">
    <summary><${Icon} name="chevron" />${live ? "Thinking" : "Thoughts"}</summary>
    <div class="thoughts-text" dir="auto">${text}</div>
  </details>`;
}

// Below a text that grows, for who reads at its end; the words are told by the line above it.
function Progress({ execution, stopping }) {
  return html`<p class="progress">
    <span class="pulse" aria-hidden="true"></span>
    <span class="progress-words">${stopping ? "Stopping" : doing(execution)}</span>
    <span class="facts"><${Elapsed} of=${execution} isLive=${true} />${execution.model && html`<span>${execution.model}</span>`}</span>
  </p>`;
}

function Failure({ error, retry }) {
  return html`<div class="failure" role="alert">
    <${Icon} name="warning" />
    <p>${error?.message ?? "The run failed, and left no reason. Try again."}</p>
    <button type="button" class="button" onClick=${retry}><${Icon} name="retry" />Try again</button>
  </div>`;
}

function Sources({ sources }) {
  return html`<div class="sources" role="group" aria-label="Sources"><p class="sources-head" aria-hidden="true">Sources</p><${SourceList} sources=${sources} /></div>`;
}

function Branches({ siblings, message, session }) {
  if (siblings.length < 2) return null;
  const at = siblings.indexOf(message.id);
  const choose = (step) => () => session.choose(message.parent_id, siblings[at + step]);
  return html`<span class="branches">
    <button type="button" class="icon-button small mirrored" disabled=${at === 0} onClick=${choose(-1)} aria-label="Answer before this"><${Icon} name="left" /></button>
    <span>${at + 1} / ${siblings.length}</span>
    <button type="button" class="icon-button small mirrored" disabled=${at === siblings.length - 1} onClick=${choose(1)} aria-label="Answer after this"><${Icon} name="right" /></button>
  </span>`;
}
