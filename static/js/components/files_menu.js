// The menu of a file, the dialog for its name, and what says that it was deleted.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { parts, t } from "../i18n.js";
import { Modal } from "./dialogs.js";
import { Icon } from "./icons.js";
import { moveInMenu, place } from "./menu.js";

export function FileMenu({ file, acts }) {
  const panel = useRef(null);

  function onToggle(event) {
    if (event.newState !== "open") return;
    const opener = document.querySelector(`[data-file="${CSS.escape(file.path)}"] [data-menu]`);
    place(panel.current, opener.getBoundingClientRect(), "below");
    panel.current.querySelector("[role=menuitem]")?.focus();
  }

  const item = (name, icon, words, danger = false) => html`<button type="button" role="menuitem" class=${danger ? "is-danger" : ""} onClick=${() => acts[name](file)}><${Icon} name=${icon} />${words}</button>`;
  return html`<div id="file-menu" ref=${panel} class="menu" popover="auto" role="menu" aria-label=${file ? t("Options for {name}", { name: file.name }) : t("Options")}
    onToggle=${onToggle} onKeyDown=${(event) => moveInMenu(panel.current, event)} onClick=${() => panel.current.hidePopover()}>
    ${file && html`
      <a role="menuitem" href=${file.page}><${Icon} name="eye" />${t("Look at it")}</a>
      <a role="menuitem" href=${file.url} download><${Icon} name="download" />${t("Download")}</a>
      ${file.mayDelete && html`
        ${item("rename", "pencil", t("Rename or move…"))}
        ${item("delete", "trash", t("Delete"), true)}`}`}
  </div>`;
}

export function RenameDialog({ file, save, close }) {
  const [to, setTo] = useState(file.path);
  const [state, setState] = useState({ sending: false, error: null });
  const input = useRef(null);

  // The name is chosen already, without its folder and its ending: that is what one changes.
  useEffect(() => {
    const from = file.path.length - file.name.length;
    const dot = file.name.lastIndexOf(".");
    input.current.focus();
    input.current.setSelectionRange(from, dot > 0 ? from + dot : file.path.length);
  }, []);

  async function submit(event) {
    event.preventDefault();
    setState({ sending: true, error: null });
    try {
      await save(to.trim());
    } catch (error) {
      setState({ sending: false, error: error.message });
    }
  }

  return html`<${Modal} label=${t("Rename or move")} close=${close}><form onSubmit=${submit}>
    <h2>${t("Rename or move")}</h2>
    <div class="field"><label for="file-path">${t("Folder and name")}</label>
      <input type="text" id="file-path" ref=${input} maxlength="500" dir="auto" autocomplete="off" spellcheck="false" value=${to} onInput=${(event) => setTo(event.currentTarget.value)} />
      <p class="help">${t("Folders stand before the name, with “/” after each: reports/2026/plan.md")}</p></div>
    ${state.error && html`<p class="form-error" role="alert">${state.error}</p>`}
    <div class="button-row modal-buttons">
      <button type="button" class="button" disabled=${state.sending} onClick=${close}>${t("Back")}</button>
      <button type="submit" class="button button-primary" disabled=${state.sending || !to.trim()}>${state.sending ? t("One moment…") : t("Save")}</button>
    </div>
  </form></${Modal}>`;
}

// The live region is there before anything stands in it: else nobody would be told.
export function Undo({ files, undo, close }) {
  return html`<div role="status" class="file-undo-place">${files.map((file) => html`<p class="file-undo" key=${file}>
    <span>${parts("{file} is deleted.", { file: html`<bdi>${file.name}</bdi>` })}</span>
    <button type="button" class="link-button" aria-label=${t("Undo: {name}", { name: file.name })} onClick=${() => undo(file)}>${t("Undo")}</button>
    <button type="button" class="icon-button small" aria-label=${t("Dismiss")} onClick=${() => close(file)}><${Icon} name="close" /></button></p>`)}</div>`;
}
