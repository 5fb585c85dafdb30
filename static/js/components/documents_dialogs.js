// What is asked before a document is shared, given a title, or deleted.
import { html, useState } from "../../vendor/preact.js";
import { parts, t } from "../i18n.js";
import { Modal } from "./dialogs.js";
import { Icon } from "./icons.js";

// Sends once, and keeps the dialog open with the server's words if it refuses.
function useSending(send) {
  const [state, setState] = useState({ sending: false, error: null });
  async function submit(event) {
    event.preventDefault();
    setState({ sending: true, error: null });
    try {
      await send();
    } catch (error) {
      setState({ sending: false, error: error.message });
    }
  }
  return [state, submit];
}

function Buttons({ close, sending, words, danger = false }) {
  return html`<div class="button-row modal-buttons">
    <button type="button" class="button" autofocus=${danger} disabled=${sending} onClick=${close}>${danger ? t("Keep it") : t("Back")}</button>
    <button type="submit" class=${`button ${danger ? "button-danger" : "button-primary"}`} disabled=${sending}>${sending ? t("One moment…") : words}</button>
  </div>`;
}

const choices = () => [
  { value: "private", icon: "lock", words: t("Only you"), note: t("And members of the projects that you add it to.") },
  { value: "groups", icon: "people", words: t("Groups"), note: t("Everybody who is in one of them.") },
  { value: "everyone", icon: "globe", words: t("Everyone"), note: t("Everybody who has an account here.") },
];

export function ShareDialog({ document, groups, save, close }) {
  const [visibility, setVisibility] = useState(document.visibility);
  const [picked, setPicked] = useState(new Set(document.groups));
  const offered = [...new Set([...groups, ...document.groups])].sort((one, other) => one.localeCompare(other));
  const lacks = visibility === "groups" && !picked.size;
  const [state, submit] = useSending(() => save(visibility === "groups" ? [...picked] : visibility));

  function toggle(name) {
    const next = new Set(picked);
    if (!next.delete(name)) next.add(name);
    setPicked(next);
  }

  return html`<${Modal} label=${t("Share")} close=${close}><form class="share" onSubmit=${submit}>
    <h2>${t("Who may see it?")}</h2>
    <p class="muted">${parts("{document} is read, searched and cited for whoever sees it.", { document: html`<bdi>${document.name}</bdi>` })}</p>
    <fieldset class="share-choices"><legend class="visually-hidden">${t("Who may see it")}</legend>
      ${choices().filter(({ value }) => value !== "groups" || offered.length).map(({ value, icon, words, note }) => html`<label key=${value} class="share-choice">
        <input type="radio" name="visibility" value=${value} checked=${visibility === value} onChange=${() => setVisibility(value)} />
        <${Icon} name=${icon} /><span><strong>${words}</strong><span class="muted small">${note}</span></span></label>`)}
    </fieldset>
    ${visibility === "groups" && html`<fieldset class="share-groups"><legend class="visually-hidden">${t("Groups")}</legend>
      ${offered.map((name) => html`<label key=${name}><input type="checkbox" checked=${picked.has(name)} onChange=${() => toggle(name)} /><bdi>${name}</bdi></label>`)}
    </fieldset>`}
    ${!offered.length && html`<p class="muted small">${t("You are in no group. An administrator can put you into one.")}</p>`}
    ${lacks && html`<p class="muted small">${t("Choose at least one group.")}</p>`}
    ${state.error && html`<p class="form-error" role="alert">${state.error}</p>`}
    <${Buttons} close=${close} sending=${state.sending || lacks} words=${t("Save")} />
  </form></${Modal}>`;
}

export function TitleDialog({ document, save, close }) {
  const [title, setTitle] = useState(document.title);
  const [state, submit] = useSending(() => save(title.trim()));
  return html`<${Modal} label=${t("Title")} close=${close}><form onSubmit=${submit}>
    <h2>${t("Its title")}</h2>
    <div class="field"><label for="document-title">${t("Title")}</label>
      <input type="text" id="document-title" maxlength="255" dir="auto" autofocus value=${title} placeholder=${document.name} onInput=${(event) => setTitle(event.currentTarget.value)} />
      <p class="help">${t("Shown in lists, and searched. Without one, the name of the file stands there.")}</p></div>
    ${state.error && html`<p class="form-error" role="alert">${state.error}</p>`}
    <${Buttons} close=${close} sending=${state.sending} words=${t("Save")} />
  </form></${Modal}>`;
}

export function ProjectDialog({ document, projects, add, close }) {
  const [chosen, setChosen] = useState(projects[0].id);
  const [state, submit] = useSending(() => add(projects.find(({ id }) => id === chosen)));
  return html`<${Modal} label=${t("Add to a project")} close=${close}><form onSubmit=${submit}>
    <h2>${t("Add to a project")}</h2>
    <p class="muted">${parts("Every member of the project sees {document} from then on.", { document: html`<bdi>${document.name}</bdi>` })}</p>
    <fieldset class="share-choices share-groups"><legend class="visually-hidden">${t("Project")}</legend>
      ${projects.map(({ id, name }) => html`<label key=${id}><input type="radio" name="project" value=${id} checked=${chosen === id} onChange=${() => setChosen(id)} /><bdi>${name}</bdi></label>`)}
    </fieldset>
    ${state.error && html`<p class="form-error" role="alert">${state.error}</p>`}
    <${Buttons} close=${close} sending=${state.sending} words=${t("Add")} />
  </form></${Modal}>`;
}

export function DeleteDialog({ document, confirm, close }) {
  const [state, submit] = useSending(confirm);
  const name = html`<bdi>${document.name}</bdi>`;
  return html`<${Modal} label=${t("Delete document")} close=${close}><form onSubmit=${submit}>
    <h2>${t("Delete this document?")}</h2>
    <p>${document.isShared
      ? parts("“{document}”, its text and everything it is found by will be deleted, for those who share it too. Answers that cite it stay, but their links lead nowhere. This cannot be undone.", { document: name })
      : parts("“{document}”, its text and everything it is found by will be deleted. Answers that cite it stay, but their links lead nowhere. This cannot be undone.", { document: name })}</p>
    ${state.error && html`<p class="form-error" role="alert">${state.error}</p>`}
    <${Buttons} close=${close} sending=${state.sending} words=${t("Delete")} danger=${true} />
  </form></${Modal}>`;
}
