// Files for the next question: chosen, dropped or pasted, uploaded at once as documents, and sent along by their ids.
import { html, signal, useEffect, useMemo, useRef } from "../../vendor/preact.js";
import { createUploads, isUnderWay, sizeWords } from "../documents_upload.js";
import { t } from "../i18n.js";
import { Icon } from "./icons.js";

const MOST = 10;

// `leftOut`: some of the last choice found no room.
export const createAttaching = (options) => ({ ...createUploads(options), leftOut: signal(false) });

// Those that have arrived: {id, name}, as questions have them.
export function attachmentsOf(files) {
  const arrived = files.filter(({ documentId }) => documentId).map(({ documentId, name }) => [documentId, { id: documentId, name }]);
  return [...new Map(arrived).values()]; // the same file twice is one document
}

export function attach(attaching, files) {
  const room = Math.max(0, MOST - attaching.items.value.length);
  attaching.leftOut.value = files.length > room;
  attaching.add(files.slice(0, room));
}

// Why files are missing, for as long as there is no room for them; else null.
export function leftOutWords({ leftOut, items }) {
  return leftOut.value && items.value.length >= MOST ? t("A question takes at most {count} files.", { count: MOST }) : null;
}

// A picture of a screen or a file from a folder. Text is pasted as ever, also where a program put its picture beside it.
export function attachPasted(event, attaching) {
  const { clipboardData } = event;
  const files = [...(clipboardData?.files ?? [])];
  const isPictureOfText = clipboardData?.types.includes("text/html") && clipboardData.getData("text/plain").trim() && files.every(({ type }) => type.startsWith("image/"));
  if (!files.length || isPictureOfText) return;
  event.preventDefault();
  attach(attaching, files.map(named));
}

// Browsers call every pasted picture image.png.
function named(file) {
  if (file.name !== "image.png") return file;
  const now = new Date();
  const two = (number) => String(number).padStart(2, "0");
  const stamp = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  return new File([file], `${t("picture")}-${stamp}.png`, { type: file.type });
}

export function AttachButton({ attaching }) {
  const input = useRef(null);
  return html`<button type="button" class="icon-button small attach-button" aria-label=${t("Attach files")} title=${t("Attach files")} onClick=${() => input.current.click()}><${Icon} name="clip" /></button>
    <input type="file" class="visually-hidden" multiple hidden ref=${input} aria-label=${t("Files to attach")} onChange=${() => { attach(attaching, [...input.current.files]); input.current.value = ""; }} />`;
}

export function Attached({ attaching }) {
  const items = attaching.items.value;
  if (!items.length) return null;
  return html`<ul class="attachments is-next" aria-label=${t("Files for this question")}>${items.map((item) => html`<${Chip} key=${item.id} item=${item} attaching=${attaching} />`)}</ul>`;
}

// A picture shows itself, as far as the browser can draw it.
function Face({ file, failed }) {
  const isPicture = !failed && /^image\/(png|jpeg|gif|webp)$/.test(file?.type ?? "");
  const url = useMemo(() => (isPicture ? URL.createObjectURL(file) : null), [file, isPicture]);
  useEffect(() => () => url && URL.revokeObjectURL(url), [url]);
  return url ? html`<img class="attachment-face" src=${url} alt="" />` : html`<${Icon} name=${failed ? "warning" : "document"} />`;
}

function Chip({ item, attaching }) {
  const { id, name, size, state, sent, error } = item;
  const words = { waiting: t("Waiting"), sending: `${Math.floor(100 * sent)} %`, checking: t("Arrived"), failed: error }[state] ?? (size === null ? "" : sizeWords(size));
  const isMoving = state === "sending" || state === "checking";
  return html`<li class=${`attachment is-${state}`}>
    <span class="file-chip"><span class="file-open"><${Face} file=${item.file} failed=${state === "failed"} /><span class="file-name" dir="auto" title=${name}>${name}</span><span class="file-size" role=${state === "failed" ? "alert" : null}>${words}</span></span>
      ${state === "failed" && html`<button type="button" class="icon-button small" aria-label=${t("Try again: {name}", { name })} title=${t("Try again")} onClick=${() => attaching.retry(id)}><${Icon} name="retry" /></button>`}
      <button type="button" class="icon-button small" aria-label=${isUnderWay(item) ? t("Stop {name}", { name }) : t("Take {name} off", { name })} onClick=${() => attaching.stop(id)}><${Icon} name="close" /></button></span>
    ${isMoving && html`<progress class="attachment-progress" max="1" value=${sent} aria-label=${t("{name}: uploading", { name })}></progress>`}
  </li>`;
}
