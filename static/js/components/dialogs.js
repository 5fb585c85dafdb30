// Modal dialogs: a question before something is lost, and the sheet of keys. The browser's <dialog> keeps the focus inside.
import { html, useEffect, useRef } from "../../vendor/preact.js";
import { Icon } from "./icons.js";

export function Modal({ label, close, children }) {
  const element = useRef(null);
  useEffect(() => element.current.showModal(), []);
  const onClick = (event) => event.target === element.current && close(); // the ground around it
  return html`<dialog class="modal" ref=${element} aria-label=${label} onClose=${close} onClick=${onClick}><div class="modal-body">${children}</div></dialog>`;
}

export function ConfirmDelete({ conversation, confirm, close, error }) {
  return html`<${Modal} label="Delete conversation" close=${close}>
    <h2>Delete this conversation?</h2>
    <p>“<bdi>${conversation.title || "New conversation"}</bdi>” and all its messages will be deleted. This cannot be undone.</p>
    ${error && html`<p class="form-error" role="alert">${error}</p>`}
    <div class="button-row modal-buttons">
      <button type="button" class="button" autofocus onClick=${close}>Keep it</button>
      <button type="button" class="button button-danger" onClick=${confirm}>Delete</button>
    </div>
  </${Modal}>`;
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const MOD = isMac ? "⌘" : "Ctrl";

const KEYS = [
  [["Enter"], "Send the question"],
  [["Shift", "Enter"], "New line"],
  [["↑"], "Bring the last question back, in the empty box"],
  [["Esc"], "Stop the answer"],
  [[MOD, "K"], "Search the conversations"],
  [[MOD, "Shift", "O"], "New conversation"],
  [["?"], "This sheet"],
];

export function HelpSheet({ close }) {
  return html`<${Modal} label="Keys" close=${close}>
    <div class="modal-head"><h2>Keys</h2><button type="button" class="icon-button" onClick=${close} aria-label="Close"><${Icon} name="close" /></button></div>
    <dl class="keys">
      ${KEYS.map(([keys, meaning]) => html`<div><dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${meaning}</dd></div>`)}
    </dl>
  </${Modal}>`;
}
