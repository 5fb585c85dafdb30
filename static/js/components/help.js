// The sheet of keys, from the table that binds them. Loaded when it is first wanted.
import { html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { keyTable } from "../keys.js";
import { Modal } from "./dialogs.js";
import { Icon } from "./icons.js";

export function HelpSheet({ close }) {
  return html`<${Modal} label=${t("Keys")} close=${close}>
    <div class="modal-head"><h2>${t("Keys")}</h2><button type="button" class="icon-button" onClick=${close} aria-label=${t("Close")}><${Icon} name="close" /></button></div>
    ${keyTable().map(({ title, rows }) => html`<h3>${title}</h3><dl class="keys" key=${title}>
      ${rows.map(({ words, ways }) => html`<div key=${words}><dt>${ways.map((keys, way) => html`${way > 0 && html`<span class="keys-or">${t("or")}</span>`}${keys.map((key) => html`<kbd>${key}</kbd>`)}`)}</dt><dd>${words}</dd></div>`)}
    </dl>`)}
  </${Modal}>`;
}
