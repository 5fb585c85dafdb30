// What is shown where there are no messages yet, or no conversation.
import { html } from "../../vendor/preact.js";
import { isAvailable } from "../agents.js";
import { parts, t } from "../i18n.js";
import { startersFor, whatIsThere } from "../starters.js";
import { Icon } from "./icons.js";

export function EmptyState({ name }) {
  const words = name ? parts("What shall we work on, {name}?", { name: html`<bdi>${name.split(" ")[0]}</bdi>` }) : t("What shall we work on?");
  return html`<div class="empty"><h1>${words}</h1></div>`;
}

EmptyState.Prompts = function Prompts({ application, choose }) {
  const starters = startersFor(whatIsThere(application.page, application.roster.value, isAvailable));
  // Without keys: where they lie in a row that scrolls, it would follow one that moves when more is known of what is there.
  return html`<ul class="prompts" aria-label=${t("Examples")}>
    ${starters.map(({ icon, title, text }) => html`<li><button type="button" onClick=${() => choose(text)}><strong><${Icon} name=${icon} />${title}</strong><span>${text}</span></button></li>`)}
  </ul>`;
};

export function MissingState({ go }) {
  return html`<div class="empty is-missing">
    <h2>${t("This conversation does not exist")}</h2>
    <p class="muted">${t("It may have been deleted, or it belongs to somebody else.")}</p>
    <button type="button" class="button" onClick=${() => go(null)}>${t("New conversation")}</button>
  </div>`;
}
