// What an agent does in a browser: the page that it is on as a picture, and its steps.
import { html, useState } from "../../vendor/preact.js";
import { stepWords } from "../browsing.js";
import { t, tn } from "../i18n.js";
import { Icon } from "./icons.js";
import { Picture } from "./results.js";

const altOf = (name) => t("The page {name}", { name: name ?? "" }).trim();

// One look at a page.
export function Browsed({ entry, conversationId }) {
  return html`${entry.url && html`<p class="browser-bar" dir="ltr"><${Icon} name="globe" /><span>${entry.url}</span></p>`}
    <${Picture} entry=${{ path: entry.screenshot, alt: altOf(entry.title || entry.url), version: null }} conversationId=${conversationId} />`;
}

export function Browsing({ browsing, isLive, conversationId, folds }) {
  const [chosen, setChosen] = useState(null);
  if (!browsing) return null;
  const { steps, seen, page, stream } = browsing;
  const open = chosen ?? (isLive && !folds);
  const last = steps.at(-1);
  return html`<div role="group" class=${`program browsing ${open ? "is-open" : ""}`} aria-label=${t("Browser")}>
    <button type="button" class="row-button program-head" aria-expanded=${open ? "true" : "false"} onClick=${() => setChosen(!open)}>
      <${Icon} name="globe" /><span class="program-words">${isLive && last ? stepWords(last) : t("Used the browser")}</span>
      <span class="program-glance" dir="auto">${page?.title || page?.url || ""}</span><span class="elapsed">${tn("{count} step", "{count} steps", steps.length)}</span><${Icon} name="chevron" />
    </button>
    ${open && html`<div class="program-body">
      ${page && html`<p class="browser-bar" dir="ltr"><${Icon} name="globe" /><span>${page.url}</span></p>`}
      ${seen && html`<${Picture} key=${seen.screenshot} entry=${{ path: seen.screenshot, alt: altOf(seen.title || page?.title || seen.url), version: null }} conversationId=${conversationId} />`}
      <ol class="browser-steps">${steps.map((step) => html`<li key=${step.key} dir="auto">${stepWords(step)}</li>`)}</ol>
      ${stream && isLive && html`<p class="mark"><a href=${stream} target="_blank" rel="noopener">${t("Watch the browser")}</a></p>`}
    </div>`}
  </div>`;
}
