// What can be done with a file, on its row and on its page: a menu, a dialog for its name, and the way back from a deletion.
import { html, signal } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { t } from "./i18n.js";
import { FileMenu, RenameDialog, Undo } from "./components/files_menu.js";

const UNDO_FOR_MS = 20_000;
const MOST_UNDONE = 3; // at once; the others stand in the list of what was deleted
const DELETED_KEY = "hyperagent.deleted-file";

// What the server wrote on an element about the file there.
export function fileOf(element) {
  const { file: path, name, version, page, url, deletable } = element.dataset;
  return { path, name, version: Number(version), page, url, mayDelete: Boolean(deletable) };
}

// `changed(file)` after each change, with the file as it is called by then; `deleted(file)` after a deletion.
export function createFileActions({ api, changed, deleted }) {
  const chosen = signal(null); // whose menu is open, or was last
  const renaming = signal(null);
  const gone = signal(fromPageBefore()); // what was deleted a moment ago, and can be taken back here
  const complaint = signal(null);

  const forget = (file) => (gone.value = gone.value.filter((one) => one !== file));

  function forgetSoon(file) {
    setTimeout(() => (document.querySelector(".file-undo :focus") ? forgetSoon(file) : forget(file)), UNDO_FOR_MS);
  }

  async function attempt(act) {
    complaint.value = null;
    try {
      await act();
    } catch (error) {
      complaint.value = error.message;
    }
  }

  const remove = (file) => attempt(async () => {
    await api.deleteFile(file.url);
    gone.value = [...gone.value, file].slice(-MOST_UNDONE);
    forgetSoon(file);
    await deleted(file);
  });

  const putBack = (file) => attempt(async () => {
    await api.restoreFile(file.url, file.version);
    forget(file);
    announce(t("{name} is back", { name: file.name }));
    await changed(file);
  });

  const restore = (file, version) => attempt(async () => {
    await api.restoreFile(file.url, version);
    await changed(file);
  });

  async function rename(file, to) {
    const moved = await api.moveFile(file.url, to);
    renaming.value = null;
    announce(t("{name} is now {path}", { name: file.name, path: moved.path }));
    await changed({ ...file, path: moved.path, url: moved.url });
  }

  const acts = { rename: (file) => (renaming.value = file), delete: remove };

  function Over() {
    return html`<${FileMenu} file=${chosen.value} acts=${acts} />
      ${renaming.value && html`<${RenameDialog} file=${renaming.value} close=${() => (renaming.value = null)} save=${(to) => rename(renaming.value, to)} />`}
      <${Undo} files=${gone.value} undo=${putBack} close=${forget} />
      ${complaint.value && html`<p class="message error doc-complaint" role="alert">${complaint.value} <button type="button" class="link-button" onClick=${() => (complaint.value = null)}>${t("Dismiss")}</button></p>`}`;
  }

  // The browser opens the menu itself, by the button's `popovertarget`; what it is about is known before it does.
  function listen(root) {
    root.addEventListener("click", (event) => {
      const carrier = event.target.closest("[data-menu]")?.closest("[data-file]");
      if (carrier) chosen.value = fileOf(carrier);
    }, { capture: true });
  }

  gone.value.forEach(forgetSoon);
  return { Over, listen, restore, putBack };
}

// The page of a file is left as the file is deleted: the next page has its way back.
export function tellNextPage(file) {
  sessionStorage.setItem(DELETED_KEY, JSON.stringify(file));
}

function fromPageBefore() {
  const told = sessionStorage.getItem(DELETED_KEY);
  sessionStorage.removeItem(DELETED_KEY);
  return told ? [JSON.parse(told)] : [];
}
