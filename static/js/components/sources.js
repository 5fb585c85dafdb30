// Where statements come from. Documents of this installation and web addresses become links; everything else is text.
import { html } from "../../vendor/preact.js";
import { nameOf, placeOf, targetOf } from "../sources.js";

/** `first`: the number of the first of them, by which the text cites it. */
export function SourceList({ sources, first = 1 }) {
  return html`<ol class="source-list" start=${first}>
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
