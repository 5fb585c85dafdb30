// The menu of a document: one for all rows, told whose it is.
import { html, useRef } from "../../vendor/preact.js";
import { t, tc } from "../i18n.js";
import { Icon } from "./icons.js";
import { moveInMenu, place } from "./menu.js";

export function DocumentMenu({ document: shown, acts, hasProjects }) {
  const panel = useRef(null);

  function onToggle(event) {
    if (event.newState !== "open") return;
    const opener = document.querySelector(`[data-document="${CSS.escape(shown.id)}"] [data-menu]`);
    place(panel.current, opener.getBoundingClientRect(), "below");
    panel.current.querySelector("[role=menuitem]")?.focus();
  }

  const item = (name, icon, words, danger = false) => html`<button type="button" role="menuitem" class=${danger ? "is-danger" : ""} onClick=${() => acts[name](shown)}><${Icon} name=${icon} />${words}</button>`;
  return html`<div id="document-menu" ref=${panel} class="menu" popover="auto" role="menu" aria-label=${shown ? t("Options for {name}", { name: shown.name }) : t("Options")}
    onToggle=${onToggle} onKeyDown=${(event) => moveInMenu(panel.current, event)} onClick=${() => panel.current.hidePopover()}>
    ${shown && html`
      <a role="menuitem" href=${`/documents/${shown.id}/`}><${Icon} name="document" />${tc("verb", "Open")}</a>
      <a role="menuitem" href=${`/documents/search/?document=${shown.id}`}><${Icon} name="telescope" />${t("Search inside")}</a>
      <a role="menuitem" href=${`/api/v1/documents/${shown.id}/file`} download><${Icon} name="download" />${t("Download")}</a>
      ${shown.isOwn && html`
        ${item("share", "people", t("Share…"))}
        ${hasProjects && item("project", "folder", t("Add to a project…"))}
        ${item("title", "pencil", t("Change its title…"))}
        ${shown.mayCancel && item("cancel", "stop", t("Stop reading it"))}
        ${shown.mayReadAgain && item("again", "retry", shown.status === "ready" ? t("Read it anew") : t("Try again"))}
        ${item("delete", "trash", t("Delete…"), true)}`}`}
  </div>`;
}
