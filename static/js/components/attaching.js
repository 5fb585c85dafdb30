// Files for the next question: chosen, dropped or pasted, uploaded at once as documents, and sent along by their ids.
import { html, useRef } from "../../vendor/preact.js";
import { isUnderWay, sizeWords } from "../documents_upload.js";
import { Icon } from "./icons.js";

const MOST = 10;

// Those that have arrived: {id, name}, as questions have them.
export function attachmentsOf(files) {
  const arrived = files.filter(({ documentId }) => documentId).map(({ documentId, name }) => [documentId, { id: documentId, name }]);
  return [...new Map(arrived).values()]; // the same file twice is one document
}

function attach(attaching, files) {
  attaching.add(files.slice(0, Math.max(0, MOST - attaching.items.value.length)));
}

// A picture of a screen or a file from a folder; text is pasted as ever.
export function attachPasted(event, attaching) {
  const files = [...(event.clipboardData?.files ?? [])];
  if (!files.length) return;
  event.preventDefault();
  attach(attaching, files);
}

export function AttachButton({ attaching }) {
  const input = useRef(null);
  return html`<button type="button" class="icon-button small attach-button" aria-label="Attach files" title="Attach files" onClick=${() => input.current.click()}><${Icon} name="clip" /></button>
    <input type="file" class="visually-hidden" multiple hidden ref=${input} aria-label="Files to attach" onChange=${() => { attach(attaching, [...input.current.files]); input.current.value = ""; }} />`;
}

export function Attached({ attaching }) {
  const items = attaching.items.value;
  if (!items.length) return null;
  return html`<ul class="attachments is-next" aria-label="Files for this question">${items.map((item) => html`<${Chip} key=${item.id} item=${item} attaching=${attaching} />`)}</ul>`;
}

function Chip({ item, attaching }) {
  const { id, name, size, state, sent, error } = item;
  const words = { waiting: "Waiting", sending: `${Math.floor(100 * sent)} %`, checking: "Arrived", failed: error }[state] ?? sizeWords(size);
  return html`<li class=${`attachment is-${state}`}>
    <span class="file-chip"><span class="file-open"><${Icon} name=${state === "failed" ? "warning" : "document"} /><span class="file-name" dir="auto" title=${name}>${name}</span><span class="file-size" role=${state === "failed" ? "alert" : null}>${words}</span></span>
      ${state === "failed" && html`<button type="button" class="icon-button small" aria-label=${`Try again: ${name}`} title="Try again" onClick=${() => attaching.retry(id)}><${Icon} name="retry" /></button>`}
      <button type="button" class="icon-button small" aria-label=${isUnderWay(item) ? `Stop ${name}` : `Take ${name} off`} onClick=${() => attaching.stop(id)}><${Icon} name="close" /></button></span>
  </li>`;
}
