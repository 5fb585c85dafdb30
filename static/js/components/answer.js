// One reply: what it is doing, its thoughts, its text, its sources, what went wrong, what it used, and what can be done with it.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { clock, doing, facts } from "../activity.js";
import { answerText, isLive, streamedText } from "../store.js";
import { Icon } from "./icons.js";
import { CopyButton, Prose } from "./prose.js";

export function Answer({ row, session, last }) {
  const { message, execution, siblings } = row;
  const live = isLive(execution);
  const text = answerText(message, execution);
  const thoughts = execution ? streamedText(execution, "thinking") : "";
  const stopping = live && session.stopping.value.has(execution.id);

  return html`<article class="answer" aria-busy=${live ? "true" : "false"} aria-label="Answer" data-message=${message.id} data-status=${execution?.status ?? ""}>
    ${thoughts && html`<${Thoughts} text=${thoughts} live=${live && !text} />`}
    ${text && html`<${Prose} text=${text} live=${live} />`}
    ${live && html`<${Progress} execution=${execution} stopping=${stopping} />`}
    ${execution?.status === "failed" && html`<${Failure} error=${execution.error} retry=${() => session.retry(message.id)} />`}
    ${execution?.status === "cancelled" && html`<p class="mark"><${Icon} name="stop" />Stopped${text ? "" : " before it began to answer"}</p>`}
    ${execution?.sources.length > 0 && html`<${Sources} sources=${execution.sources} />`}
    ${!live && html`<footer class=${`answer-foot ${last ? "is-last" : ""}`}>
      ${text && html`<${CopyButton} text=${text} label="Copy answer" />`}
      ${execution && execution.status !== "failed" && html`<button type="button" class="icon-button small" onClick=${() => session.retry(message.id)}
        aria-label="Answer again" title="Answer again"><${Icon} name="retry" /></button>`}
      <${Branches} siblings=${siblings} message=${message} session=${session} />
      ${execution && html`<span class="facts">${facts(execution).map((fact) => html`<span>${fact}</span>`)}</span>`}
    </footer>`}
  </article>`;
}

function Thoughts({ text, live }) {
  return html`<details class="thoughts">
    <summary><${Icon} name="chevron" />${live ? "Thinking" : "Thoughts"}</summary>
    <div class="thoughts-text" dir="auto">${text}</div>
  </details>`;
}

function Progress({ execution, stopping }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const words = stopping ? "Stopping" : doing(execution);
  return html`<p class="progress">
    <span class="pulse" aria-hidden="true"></span>
    <span class="progress-words" role="status">${words}</span>
    <span class="facts">
      ${execution.startedAt !== null && html`<span class="clock">${clock(now - execution.startedAt)}</span>`}
      ${execution.model && html`<span>${execution.model}</span>`}
    </span>
  </p>`;
}

function Failure({ error, retry }) {
  return html`<div class="failure" role="alert">
    <${Icon} name="warning" />
    <p>${error?.message ?? "The run failed, and left no reason. Try again."}</p>
    <button type="button" class="button" onClick=${retry}><${Icon} name="retry" />Try again</button>
  </div>`;
}

// Only web addresses become links; everything else is text.
function webAddress(url) {
  return /^https?:\/\//i.test(url ?? "") && URL.canParse(url) ? new URL(url) : null;
}

function Sources({ sources }) {
  return html`<section class="sources" aria-label="Sources">
    <h3>Sources</h3>
    <ol>
      ${sources.map((source) => {
        const url = webAddress(source.url);
        const place = [url?.host, source.page && `page ${source.page}`, source.section].filter(Boolean).join(" · ");
        return html`<li title=${source.excerpt ?? ""}>
          ${url ? html`<a href=${url.href} target="_blank" rel="noopener noreferrer nofollow">${source.source}</a>` : html`<span>${source.source}</span>`}
          ${place && html`<span class="muted">${place}</span>`}
        </li>`;
      })}
    </ol>
  </section>`;
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
