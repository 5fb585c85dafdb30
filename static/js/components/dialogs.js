// Modal dialogs, and the question before something is lost. The browser's <dialog> keeps the focus inside.
import { html, useEffect, useRef } from "../../vendor/preact.js";
import { beHeardIn } from "../announce.js";
import { parts, t } from "../i18n.js";

export function Modal({ label, close, children }) {
  return html`<dialog class="modal" aria-label=${label} ...${useModal(close)}><div class="modal-body">${children}</div></dialog>`;
}

// What a <dialog> needs that is over the page for as long as it is drawn.
export function useModal(close) {
  const element = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current.showModal();
    beHeardIn(element.current);
    // One that is taken out while it is open leaves the focus nowhere.
    return () => document.activeElement === document.body && before.isConnected && before.focus({ preventScroll: true });
  }, []);
  return { ref: element, onClose: close, ...useGround(element, close) };
}

// The ground around a dialog closes it; a selection that began within and ends out there does not.
export function useGround(element, close) {
  const isPressed = useRef(false);
  return {
    onPointerDown: ({ target }) => (isPressed.current = target === element.current),
    onClick: ({ target }) => target === element.current && isPressed.current && close(),
  };
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
