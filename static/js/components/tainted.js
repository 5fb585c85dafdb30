// Why a person is asked though they, a rule or a policy had allowed it: the run has read what others wrote. What that was, and,
// where an address would be opened, what of this run it would carry out. All of it is strangers' text: text nodes only.
import { html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { revealed } from "../plain_text.js";
import { nameOf, placeOf, targetOf } from "../sources.js";
import { Icon } from "./icons.js";

const KINDS = {
  web: () => t("web page"),
  document: () => t("document"),
  mail: () => t("e-mail"),
  file: () => t("file"),
  program: () => t("program"),
  server: () => t("connected server"),
  question: () => t("question"),
  earlier: () => t("earlier answer"),
  project: () => t("project"),
};

export function Tainted({ request }) {
  const { tainted_by: read, tainted_more: more } = request;
  if (!read?.length) return null;
  return html`<div class="approval-tainted" role="note">
    <p><${Icon} name="eye" /><span>${t("This run has read text that others wrote, so you are asked about each call, whatever was allowed before.")}</span></p>
    <ul class="tainted-list">
      ${read.map((one, at) => html`<${Text} key=${at} one=${one} />`)}
      ${more > 0 && html`<li class="muted">${t("and {count} more", { count: more })}</li>`}
    </ul>
    ${request.address && html`<${Address} address=${request.address} />`}
  </div>`;
}

function Text({ one }) {
  const source = { source: one.title, url: one.url, document_id: one.document_id };
  const target = targetOf(source);
  const name = html`<span dir="auto">${nameOf(source)}</span>`;
  const where = placeOf(source);
  const kind = Object.hasOwn(KINDS, one.kind) ? KINDS[one.kind]() : "";
  return html`<li>${target ? html`<a href=${target.href} target="_blank" rel="noopener noreferrer nofollow">${name}</a>` : name}
    <span class="muted small"> ${[kind, where].filter(Boolean).join(" · ")}</span></li>`;
}

function Address({ address }) {
  const carries = address.parts.some(({ carried }) => carried);
  return html`<div class="tainted-address">
    <p class="muted">${t("The whole address that it would open:")}</p>
    <code class="address-whole" dir="ltr">${address.parts.map(({ text, carried }, at) => (carried ? html`<mark key=${at}>${revealed(text)}</mark>` : revealed(text)))}</code>
    ${carries && html`<p class="small">${t("What is marked stands in this conversation or in what was read, and would go to {host}.", { host: address.host })}</p>`}
  </div>`;
}
