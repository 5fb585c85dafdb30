// The project of the open conversation, or of the next one: shown, and changed. People without projects see nothing of it.
import { html, useState } from "../../vendor/preact.js";
import { announce } from "../announce.js";
import { t } from "../i18n.js";
import { Icon } from "./icons.js";
import { Menu } from "./menu.js";

export function ProjectPicker({ application }) {
  const { page, project, moveTo } = application;
  const [error, setError] = useState(null);
  const current = project.value;
  const known = page.projects ?? [];
  if (!known.length && !current) return null;
  const offered = current && !known.some(({ id }) => id === current.id) ? [current, ...known] : known;

  async function choose(chosen) {
    try {
      await moveTo(chosen);
      setError(null);
      announce(chosen ? t("This conversation is in the project {name}", { name: chosen.name }) : t("This conversation is in no project"));
    } catch (caught) {
      setError(caught.message);
    }
  }

  const face = html`<${Icon} name="folder" />${current && html`<span class="project-name"><bdi>${current.name}</bdi></span><${Icon} name="chevron" />`}`;
  const label = current ? t("Project: {name}", { name: current.name }) : t("Choose a project");
  return html`<span class="project-picker">
    <${Menu} id="project-menu" label=${label} tip=${label} buttonClass=${current ? "mode-button project-button is-chosen" : "icon-button"} button=${face}>
      <button type="button" role="menuitemradio" class="mode-item" aria-checked=${current ? "false" : "true"} onClick=${() => choose(null)}>
        <span class="mode-words"><span>${t("No project")}</span></span>${!current && html`<${Icon} name="check" />`}
      </button>
      ${offered.map((one) => html`<button type="button" key=${one.id} role="menuitemradio" class="mode-item" aria-checked=${one.id === current?.id ? "true" : "false"} onClick=${() => choose(one)}>
        <${Icon} name="folder" /><span class="mode-words"><span class="one-line" title=${one.name}><bdi>${one.name}</bdi></span></span>${one.id === current?.id && html`<${Icon} name="check" />`}
      </button>`)}
      ${current && html`<a role="menuitem" class="mode-item is-apart" href=${`/projects/${current.id}/`}><${Icon} name="list" /><span class="mode-words"><span>${t("Open the project")}</span></span></a>`}
    </${Menu}>
    ${error && html`<span class="form-error" role="alert">${error}</span>`}
  </span>`;
}
