// What can be done with a document, on its row and on its page: a menu, and a dialog where something is asked first.
import { html, signal } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { t } from "./i18n.js";
import { DeleteDialog, ProjectDialog, ShareDialog, TitleDialog } from "./components/documents_dialogs.js";
import { DocumentMenu } from "./components/documents_menu.js";

// What the server wrote on an element about the document there. `isShared`: with groups, with everyone, or in a project.
export function documentOf(element) {
  const { document: id, name, title, status, own, visibility, shared, groups, cancel, again } = element.dataset;
  return { id, name, title, status, isOwn: Boolean(own), visibility, isShared: Boolean(shared), groups: JSON.parse(groups), mayCancel: Boolean(cancel), mayReadAgain: Boolean(again) };
}

// `changed(document)` after each change, `deleted(document)` after that. `groups`: names of those to share with;
// `projects`: [{id, name}] of those to add to.
export function createDocumentActions({ api, groups, projects, changed, deleted }) {
  const chosen = signal(null); // whose menu is open, or was last
  const dialog = signal(null); // {kind, document}
  const complaint = signal(null);

  const ask = (kind) => (document) => (dialog.value = { kind, document });
  const close = () => (dialog.value = null);

  async function tell(document, act, words) {
    complaint.value = null;
    try {
      await act();
      announce(words);
      await changed(document);
    } catch (error) {
      complaint.value = error.message;
    }
  }

  async function change(document, fields, words) {
    await api.changeDocument(document.id, fields);
    close();
    announce(words);
    await changed(document);
  }

  async function addTo(document, project) {
    await api.addProjectDocuments(project.id, [document.id]);
    close();
    announce(t("{name} is in the project {project}", { name: document.name, project: project.name }));
    await changed(document);
  }

  async function remove(document) {
    await api.deleteDocument(document.id);
    close();
    announce(t("{name} is deleted", { name: document.name }));
    await deleted(document);
  }

  const acts = {
    share: ask("share"),
    title: ask("title"),
    project: ask("project"),
    delete: ask("delete"),
    cancel: (document) => tell(document, () => api.cancelDocument(document.id), t("Reading of {name} is cancelled", { name: document.name })),
    again: (document) => tell(document, () => api.readDocumentAgain(document.id), t("{name} is read again", { name: document.name })),
  };

  const DIALOGS = {
    share: (document) => html`<${ShareDialog} document=${document} groups=${groups} close=${close} save=${(sharedWith) => change(document, { shared_with: sharedWith }, t("Sharing of {name} is changed", { name: document.name }))} />`,
    title: (document) => html`<${TitleDialog} document=${document} close=${close} save=${(title) => change(document, { title }, t("The title of {name} is changed", { name: document.name }))} />`,
    project: (document) => html`<${ProjectDialog} document=${document} projects=${projects} close=${close} add=${(project) => addTo(document, project)} />`,
    delete: (document) => html`<${DeleteDialog} document=${document} close=${close} confirm=${() => remove(document)} />`,
  };

  function Over() {
    return html`<${DocumentMenu} document=${chosen.value} acts=${acts} hasProjects=${projects.length > 0} />
      ${dialog.value && DIALOGS[dialog.value.kind](dialog.value.document)}
      ${complaint.value && html`<p class="message error doc-complaint" role="alert">${complaint.value} <button type="button" class="link-button" onClick=${() => (complaint.value = null)}>${t("Dismiss")}</button></p>`}`;
  }

  // The browser opens the menu itself, by the button's `popovertarget`; what it is about is known before it does.
  function listen(root) {
    root.addEventListener("click", (event) => {
      const carrier = event.target.closest("[data-menu], [data-share]")?.closest("[data-document]");
      if (!carrier) return;
      const document = documentOf(carrier);
      if (event.target.closest("[data-share]")) acts.share(document);
      else chosen.value = document;
    }, { capture: true });
  }

  return { Over, listen, isOpen: () => Boolean(dialog.value) };
}
