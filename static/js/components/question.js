// What a person asked: stored, on its way, or refused.
import { html } from "../../vendor/preact.js";
import { Icon } from "./icons.js";
import { CopyButton } from "./prose.js";

export function Question({ message }) {
  return html`<article class="question" aria-label="Question" data-message=${message.id}>
    <${Attachments} list=${message.attachments} />
    <div class="question-line"><div class="bubble" dir="auto">${message.text}</div><${CopyButton} text=${message.text} label="Copy question" /></div>
  </article>`;
}

// The files that belong to the question; each leads to its document.
function Attachments({ list }) {
  if (!list?.length) return null;
  return html`<ul class="attachments" aria-label="Attached files">${list.map(({ id, name }) => html`<li key=${id}><a class="file-chip file-open" href=${`/documents/${encodeURIComponent(id)}/`}><${Icon} name="clip" /><span class="file-name" dir="auto">${name}</span></a></li>`)}</ul>`;
}

export function PendingQuestion({ item, session, takeBack }) {
  return html`<article class="question is-pending" aria-label="Question, not sent yet">
    <${Attachments} list=${item.attachments} />
    <div class="question-line"><div class="bubble" dir="auto">${item.text}</div></div>
    ${item.error
      ? html`<div class="unsent" role="alert">
          <${Icon} name="warning" /><span>Not sent. ${item.error.message}</span>
          <button type="button" class="link-button" onClick=${() => session.resend(item)}>Send again</button>
          <button type="button" class="link-button" onClick=${() => takeBack(item)}>Edit</button>
        </div>`
      : html`<p class="muted small">Sending…</p>`}
  </article>`;
}
