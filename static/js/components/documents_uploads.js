// What is being added: each file with its progress, and with the way out where it was refused.
import { html } from "../../vendor/preact.js";
import { MOST_FILES, drawnOf, isUnderWay, sizeWords, summaryOf } from "../documents_upload.js";
import { language, parts, t, tc, tn } from "../i18n.js";
import { Icon } from "./icons.js";

export function Uploads({ uploads }) {
  const items = uploads.items.value;
  if (!items.length) return null;
  const drawn = drawnOf(items);
  const untaken = uploads.untaken.value;
  const failed = items.filter(({ state }) => state === "failed").length;
  return html`<section class="uploads" aria-label=${t("Files being added")}>
    <header class="uploads-head">
      <strong>${summaryOf(items)}</strong>
      ${failed > 1 && html`<button type="button" class="quiet-button" onClick=${uploads.retryAll}>${t("Try all again")}</button>`}
      ${uploads.isBusy.value
        ? html`<button type="button" class="quiet-button" onClick=${uploads.stopAll}>${t("Stop all")}</button>`
        : html`<button type="button" class="quiet-button" onClick=${uploads.clear}>${t("Clear")}</button>`}
    </header>
    ${untaken > 0 && html`<p class="form-error" role="alert">${tn("{count} more file was left out: {limit} are taken at once. Add it when these have arrived.", "{count} more files were left out: {limit} are taken at once. Add them when these have arrived.", untaken, { limit: MOST_FILES.toLocaleString(language) })}</p>`}
    <ul class="uploads-list">${drawn.map((item) => html`<${Upload} key=${item.id} item=${item} uploads=${uploads} />`)}
      ${drawn.length < items.length && html`<li class="upload muted small">${tn("and {count} more file", "and {count} more files", items.length - drawn.length)}</li>`}</ul>
  </section>`;
}

const WORDS = { waiting: () => t("Waiting"), checking: () => t("Arrived, being checked"), added: () => t("Added") };

function Upload({ item, uploads }) {
  const { id, name, size, state, sent } = item;
  return html`<li class=${`upload is-${state}`}>
    <span class="upload-name" dir="auto" title=${name}>${name}</span>
    <span class="upload-state">${state === "sending" ? t("{percent} % of {size}", { percent: Math.floor(100 * sent), size: sizeWords(size) }) : WORDS[state]?.() ?? ""}
      ${state === "added" && item.documentId && html` · <a href=${`/documents/${item.documentId}/`}>${tc("verb", "Open")}</a>`}
      ${state === "known" && parts("Already here: {document}", { document: html`<a href=${`/documents/${item.documentId}/`} dir="auto">${item.knownAs || name}</a>` })}
      ${state === "failed" && html`<span class="upload-error" role="alert"><${Icon} name="warning" />${item.error}</span>`}</span>
    <span class="upload-buttons">
      ${state === "failed" && html`<button type="button" class="quiet-button" aria-label=${t("Try again: {name}", { name })} onClick=${() => uploads.retry(id)}>${t("Try again")}</button>`}
      <button type="button" class="icon-button small" aria-label=${isUnderWay(item) ? t("Stop {name}", { name }) : t("Take {name} off this list", { name })} onClick=${() => uploads.stop(id)}><${Icon} name="close" /></button>
    </span>
    ${(state === "sending" || state === "checking") && html`<progress class="bar" value=${state === "sending" ? sent : null} max="1" aria-label=${t("Progress of {name}", { name })}></progress>`}
  </li>`;
}

// Over the whole page while files are held above it.
export function DropVeil({ visible, words = t("Files and folders: PDF, Word, Excel, CSV, PowerPoint, web pages, mails, Markdown, text") }) {
  if (!visible) return null;
  return html`<div class="drop-veil" aria-hidden="true"><p><${Icon} name="upload" /><strong>${t("Drop to add them")}</strong><span>${words}</span></p></div>`;
}
