// What came of a run besides its text: charts, pictures, apps to look at, and its files. Everything is of this server.
import { html, useState } from "../../vendor/preact.js";
import { sizeWords } from "../documents_upload.js";
import { parts, t } from "../i18n.js";
import { fileHref, nameIn, previewHref } from "../places.js";
import { Chart } from "./chart.js";
import { Modal } from "./dialogs.js";
import { Icon } from "./icons.js";

const CHIPS_AT_ONCE = 12;

export function Results({ results, conversationId }) {
  const { charts, images, previews, files } = results;
  if (!charts.length && !images.length && !previews.length && !files.length) return null;
  return html`<div class="results">
    ${charts.map((entry) => html`<${Chart} key=${entry.key} entry=${entry} conversationId=${conversationId} />`)}
    ${images.length > 0 && html`<div class=${`pictures ${images.length > 1 ? "is-many" : ""}`}>${images.map((entry) => html`<${Picture} key=${entry.key} entry=${entry} conversationId=${conversationId} />`)}</div>`}
    ${previews.map((entry) => html`<${AppPreview} key=${entry.key} entry=${entry} />`)}
    ${files.length > 0 && html`<${Files} files=${files} conversationId=${conversationId} />`}
  </div>`;
}

export function Picture({ entry, conversationId }) {
  const [open, setOpen] = useState(false);
  const [failed, setFailed] = useState(false);
  const { path, alt, version } = entry;
  const source = fileHref({ scopeId: conversationId, path, version, inline: true });
  const name = nameIn(path);
  const words = alt || name;
  if (!source || failed) return html`<p class="mark"><${Icon} name="image" /><span>${parts("The picture {name} cannot be shown.", { name: html`<bdi>${name}</bdi>` })}</span></p>`;
  return html`<figure class="picture">
    <button type="button" class="picture-button" aria-label=${t("Open the picture: {name}", { name: words })} onClick=${() => setOpen(true)}><img src=${source} alt=${words} loading="lazy" decoding="async" onError=${() => setFailed(true)} /></button>
    <figcaption><span class="picture-name" dir="auto">${words}</span><${Download} href=${fileHref({ scopeId: conversationId, path, version })} name=${name} /></figcaption>
    ${open && html`<${Modal} label=${words} close=${() => setOpen(false)}><div class="lightbox">
      <div class="modal-head"><h2 dir="auto">${words}</h2><span class="lightbox-tools"><${Download} href=${fileHref({ scopeId: conversationId, path, version })} name=${name} /><button type="button" class="icon-button" onClick=${() => setOpen(false)} aria-label=${t("Close")}><${Icon} name="close" /></button></span></div>
      <img src=${source} alt=${words} /></div></${Modal}>`}
  </figure>`;
}

function Download({ href, name }) {
  return href && html`<a class="icon-button small" href=${href} download=${name} aria-label=${t("Download {name}", { name })} title=${t("Download {name}", { name })}><${Icon} name="download" /></a>`;
}

// Each file once, in its latest version.
function Files({ files, conversationId }) {
  const [all, setAll] = useState(false);
  const shown = all ? files : files.slice(0, CHIPS_AT_ONCE);
  return html`<div class="files" role="group" aria-label=${t("Files")}>
    <p class="sources-head" aria-hidden="true">${t("Files")}</p>
    <ul class="file-chips">
      ${shown.map((file) => html`<li key=${file.key}><${FileChip} file=${file} conversationId=${conversationId} /></li>`)}
      ${shown.length < files.length && html`<li><button type="button" class="quiet-button" onClick=${() => setAll(true)}>${t("{count} more", { count: files.length - shown.length })}</button></li>`}
    </ul>
  </div>`;
}

export function FileChip({ file, conversationId }) {
  const { path, size, scope, scopeId } = file;
  const place = { scope, scopeId: scopeId ?? (scope === "conversation" ? conversationId : null), path };
  const href = fileHref(place);
  const face = html`<${Icon} name=${iconOf(file)} /><span class="file-name" dir="auto">${path}</span>${size !== null && html`<span class="file-size">${sizeWords(size)}</span>`}`;
  if (!href) return html`<span class="file-chip" title=${path}><span class="file-open">${face}</span></span>`;
  return html`<span class="file-chip" title=${path}><a class="file-open" href=${pageHref(place)}>${face}</a><${Download} href=${href} name=${nameIn(path)} /></span>`;
}

// The page on which a file of a workspace is looked at.
export const pageHref = ({ scope, scopeId, path }) => `/files/${scope}/${encodeURIComponent(scopeId)}/${path ? path.split("/").map(encodeURIComponent).join("/") : ""}`;

const ICONS = [[/\.(png|jpe?g|gif|webp|svg)$/i, "image"], [/\.(csv|tsv|xlsx?|ods|parquet)$/i, "chart"], [/\.(py|js|ts|sh|json|html?|css|sql|ipynb)$/i, "brackets"]];

const iconOf = ({ path }) => ICONS.find(([pattern]) => pattern.test(path))?.[1] ?? "document";

// An app that was built: loaded only when somebody wants it, in a frame. Its address leads on to an origin of its own, so
// that "same origin" is its own and not this one.
export function AppPreview({ entry }) {
  const [shown, setShown] = useState(0);
  const source = previewHref(entry.url);
  const title = entry.title || t("App");
  return html`<div role="group" class="app-preview" aria-label=${title}>
    <header class="app-preview-head"><${Icon} name="window" /><strong class="app-preview-title" dir="auto">${title}</strong>${entry.port !== null && html`<span class="muted small">${t("port {port}", { port: entry.port })}</span>`}
      <span class="composer-gap"></span>
      ${shown > 0 && html`<button type="button" class="icon-button small" onClick=${() => setShown(shown + 1)} aria-label=${t("Load it again")} title=${t("Load it again")}><${Icon} name="retry" /></button>`}
      <button type="button" class="button" onClick=${() => setShown(shown ? 0 : 1)}>${shown ? t("Close preview") : t("Open preview")}</button></header>
    ${shown > 0 && html`<iframe key=${shown} class="app-frame" src=${source} title=${t("Preview: {title}", { title })} sandbox="allow-scripts allow-forms allow-same-origin" referrerpolicy="no-referrer"></iframe>`}
  </div>`;
}
