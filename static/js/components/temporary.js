// Temporary chats: chosen before the first question, and said as long as one is open.
import { html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { Icon } from "./icons.js";

const means = () => t("Nothing is remembered of it, nothing remembered is told in it, and it is in no list.");

export function TemporaryToggle({ application }) {
  const { temporary } = application;
  const on = temporary.value;
  return html`<p class="temporary">
    <button type="button" class="temporary-toggle" aria-pressed=${on ? "true" : "false"} title=${means()} onClick=${() => (temporary.value = !on)}><${Icon} name="clock" />${t("Temporary chat")}</button>
    ${on && html`<span role="status">${means()}</span>`}
  </p>`;
}

export function TemporaryNote({ application }) {
  if (!application.temporary.value) return null;
  return html`<p class="temporary" role="note"><${Icon} name="clock" /><span>${t("This chat is temporary.")} ${means()}</span></p>`;
}
