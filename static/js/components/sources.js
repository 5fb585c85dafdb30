// Where statements come from. Documents of this installation and web addresses become links; everything else is text.
import { html } from "../../vendor/preact.js";
import { nameOf, placeOf, targetOf } from "../sources.js";

export function SourceList({ sources }) {
  return html`<ol class="source-list">
    ${sources.map((source) => {
      const target = targetOf(source);
      const place = placeOf(source);
      return html`<li title=${source.excerpt ?? ""}>
        ${target ? html`<a href=${target.href} target="_blank" rel=${target.isOwn ? "noopener" : "noopener noreferrer nofollow"} dir="auto">${nameOf(source)}</a>` : html`<span dir="auto">${nameOf(source)}</span>`}
        ${place && html`<span class="muted">${place}</span>`}
      </li>`;
    })}
  </ol>`;
}
