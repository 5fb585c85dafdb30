// Modal dialogs, and the question before something is lost. The browser's <dialog> keeps the focus inside.
import { html, useEffect, useRef } from "../../vendor/preact.js";
import { parts, t } from "../i18n.js";

export function Modal({ label, close, children }) {
  const element = useRef(null);
  useEffect(() => element.current.showModal(), []);
  const onClick = (event) => event.target === element.current && close(); // the ground around it
  return html`<dialog class="modal" ref=${element} aria-label=${label} onClose=${close} onClick=${onClick}><div class="modal-body">${children}</div></dialog>`;
}

export function ConfirmDelete({ conversation, confirm, close, error, sending }) {
  return html`<${Modal} label=${t("Delete conversation")} close=${close}>
    <h2>${t("Delete this conversation?")}</h2>
    <p>${parts("“{title}” and all its messages will be deleted. This cannot be undone.", { title: html`<bdi>${conversation.title || t("New conversation")}</bdi>` })}</p>
    ${error && html`<p class="form-error" role="alert">${error}</p>`}
    <div class="button-row modal-buttons">
      <button type="button" class="button" autofocus onClick=${close}>${t("Keep it")}</button>
      <button type="button" class="button button-danger" disabled=${sending} onClick=${confirm}>${t("Delete")}</button>
    </div>
  </${Modal}>`;
}
