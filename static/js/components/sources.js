// Where statements come from. Only web addresses become links; everything else is text.
import { html } from "../../vendor/preact.js";

function webAddress(url) {
  return /^https?:\/\//i.test(url ?? "") && URL.canParse(url) ? new URL(url) : null;
}

export function SourceList({ sources }) {
  return html`<ol class="source-list">
    ${sources.map((source) => {
      const url = webAddress(source.url);
      const place = [url?.host, source.page && `page ${source.page}`, source.section].filter(Boolean).join(" · ");
      return html`<li title=${source.excerpt ?? ""}>
        ${url ? html`<a href=${url.href} target="_blank" rel="noopener noreferrer nofollow">${source.source}</a>` : html`<span>${source.source}</span>`}
        ${place && html`<span class="muted">${place}</span>`}
      </li>`;
    })}
  </ol>`;
}
