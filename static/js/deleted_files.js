// The files of a place that were deleted lately, and the way back for each.
import { html, render } from "../vendor/preact.js";
import { api } from "./api.js";
import { createFileActions, fileOf } from "./files_actions.js";
import { dress, refresh } from "./server_html.js";

const list = document.getElementById("files-list");
const actions = createFileActions({ api, changed: () => refresh("files-list"), deleted: () => undefined });

list.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-put-back]");
  if (button) actions.putBack(fileOf(button.closest("[data-file]")));
});
dress(document);
render(html`<${actions.Over} />`, document.getElementById("files-over"));
document.body.classList.add("is-live");
