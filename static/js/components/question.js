// What a person asked: stored, on its way, waiting for its turn, or refused. A stored one can be edited, which asks it anew
// beside itself; what is typed there is kept until it is sent or given up.
import { html, signal, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { readEdit, writeEdit } from "../drafts.js";
import { language, t } from "../i18n.js";
import { Branches } from "./branches.js";
import { Icon } from "./icons.js";
import { CopyButton } from "./prose.js";

const LONG_LINES = 18;
const LONG_CHARS = 1_500;

// The id of a question that is to be opened for editing, from wherever that is asked.
export const toEdit = signal(null);

export function Question({ row, session, application }) {
  const { message, siblings } = row;
  const { user, max_question_chars: limit = 100_000 } = application.page;
  const [editing, setEditing] = useState(() => readEdit(user.id, message.id) !== "");
  const [opened, setOpened] = useState(0); // how often it was asked for: a form that was left open takes no focus
  const opener = useRef(null);
  const isWanted = toEdit.value === message.id;
  const keep = (text) => writeEdit(user.id, message.id, text);

  useEffect(() => {
    if (!isWanted) return;
    toEdit.value = null;
    open();
  }, [isWanted]);

  function open() {
    setEditing(true);
    setOpened((before) => before + 1);
  }

  function close() {
    keep("");
    setEditing(false);
    requestAnimationFrame(() => opener.current?.focus());
  }

  function send(text) {
    session.say(text, message.mode, undefined, message.attachments, { edits: message.id });
    keep("");
    setEditing(false);
    document.getElementById("composer-text")?.focus();
  }

  return html`<article class=${`question ${editing ? "is-editing" : ""}`} aria-label=${t("Question")} data-message=${message.id}>
    <${Attachments} list=${message.attachments} />
    ${editing
      ? html`<${EditForm} before=${message.text} kept=${readEdit(user.id, message.id)} keep=${keep} opened=${opened} limit=${limit} send=${send} close=${close} />`
      : html`<div class="question-line"><${Bubble} text=${message.text} />
          <span class="question-tools">
            <button type="button" ref=${opener} class="icon-button small" aria-label=${t("Edit question")} title=${t("Edit question")} onClick=${open}><${Icon} name="pencil" /></button>
            <${CopyButton} text=${message.text} label=${t("Copy question")} />
          </span></div>
        <${Branches} siblings=${siblings} message=${message} session=${session} />`}
  </article>`;
}

// What takes more than a screen is folded: one comes back for the answer.
function Bubble({ text }) {
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > LONG_CHARS || text.split("\n", LONG_LINES + 1).length > LONG_LINES;
  if (!isLong) return html`<div class="bubble" dir="auto">${text}</div>`;
  return html`<div class="bubble"><div class=${isOpen ? "" : "is-folded"} dir="auto">${text}</div>
    <button type="button" class="link-button" aria-expanded=${isOpen ? "true" : "false"} onClick=${() => setOpen(!isOpen)}>${isOpen ? t("Show less") : t("Show all of it")}</button></div>`;
}

function EditForm({ before, kept, keep, opened, limit, send, close }) {
  const box = useRef(null);
  const [text, setText] = useState(kept || before);
  const over = [...text].length - limit;
  const ready = text.trim() !== "" && over <= 0;

  useEffect(() => {
    if (!opened) return;
    box.current.focus();
    box.current.setSelectionRange(text.length, text.length);
  }, [opened]);
  useLayoutEffect(() => {
    box.current.style.blockSize = "auto";
    box.current.style.blockSize = `${box.current.scrollHeight}px`;
  }, [text]);

  function change(value) {
    setText(value);
    keep(value === before ? "" : value);
  }

  function submit(event) {
    event.preventDefault();
    if (ready) send(text);
  }

  function onKeyDown(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && !event.shiftKey && !event.altKey) submit(event);
  }

  return html`<form class="edit-form" onSubmit=${submit} onKeyDown=${onKeyDown}>
    <textarea ref=${box} rows="1" dir="auto" aria-label=${t("Your question, changed")} value=${text} aria-invalid=${over > 0 ? "true" : null} onInput=${(event) => change(event.currentTarget.value)}></textarea>
    ${over > 0 && html`<p class="form-error" role="alert">${t("{count} characters too long: the limit is {limit}", { count: over.toLocaleString(language), limit: limit.toLocaleString(language) })}</p>`}
    <div class="edit-row"><span class="muted small">${t("Asked anew, beside the first. The first stays.")}</span>
      <button type="button" class="button small-button" onClick=${close}>${t("Cancel")}</button>
      <button type="submit" class="button button-primary small-button" disabled=${!ready}>${t("Send")}</button></div>
  </form>`;
}

// The files that belong to the question; each leads to its document.
function Attachments({ list }) {
  if (!list?.length) return null;
  return html`<ul class="attachments" aria-label=${t("Attached files")}>${list.map(({ id, name }) => html`<li key=${id}><a class="file-chip file-open" href=${`/documents/${encodeURIComponent(id)}/`}><${Icon} name="clip" /><span class="file-name" dir="auto">${name}</span></a></li>`)}</ul>`;
}

// `takeBack`: out of the queue, into the box. `paused`: the answer before it was stopped or failed.
export function PendingQuestion({ item, session, takeBack }) {
  const isOpen = session.connection.value === "open" && navigator.onLine !== false; // a socket does not notice at once
  return html`<article class=${`question is-pending ${item.held ? "is-held" : ""}`} aria-label=${item.held ? t("Question that waits") : t("Question, not sent yet")}>
    <${Attachments} list=${item.attachments} />
    <div class="question-line"><${Bubble} text=${item.text} /></div>
    <${Standing} item=${item} session=${session} takeBack=${takeBack} isOpen=${isOpen} />
  </article>`;
}

function Standing({ item, session, takeBack, isOpen }) {
  const edit = html`<button type="button" class="link-button" onClick=${() => takeBack(item)}>${t("Edit")}</button>`;
  const remove = html`<button type="button" class="link-button" onClick=${() => session.unqueue(item.client_id)}>${t("Remove")}</button>`;
  if (item.error) {
    return html`<div class="unsent" role="alert"><${Icon} name="warning" /><span>${t("Not sent.")} ${item.error.message}</span>
      <button type="button" class="link-button" onClick=${() => session.resend(item)}>${t("Send again")}</button>${edit}${remove}</div>`;
  }
  if (item.held) {
    const isRunning = session.running.value || session.waiting.value;
    return html`<div class="unsent is-held"><${Icon} name="later" /><span>${isRunning ? t("Next: sent when the answer is finished.") : t("Waits for you, because the answer did not finish.")}</span>
      ${!isRunning && html`<button type="button" class="link-button" onClick=${() => session.resend(item)}>${t("Send now")}</button>`}${edit}${remove}</div>`;
  }
  if (isOpen) return html`<p class="muted small">${t("Sending…")}</p>`;
  return html`<div class="unsent is-held"><${Icon} name="cloudOff" /><span>${t("Sent when the connection is back.")}</span>${edit}${remove}</div>`;
}
