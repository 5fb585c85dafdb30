// One file: its text in colours or as Markdown, its versions, its name.
import { html, render } from "../vendor/preact.js";
import { api } from "./api.js";
import { highlight } from "./code.js";
import { createFileActions, fileOf, tellNextPage } from "./files_actions.js";
import { addressOf } from "./files_upload.js";
import { t } from "./i18n.js";
import { lex, renderBlock } from "./markdown.js";
import { dress } from "./server_html.js";

const page = JSON.parse(document.getElementById("page-data").textContent);
const carrier = document.querySelector("[data-file]");
// The address of the place on these pages, from that in the API.
const placePage = page.root.replace("/api/v1/", "/");

const actions = createFileActions({
  api,
  changed: (file) => location.assign(placePage + addressOf(file.path)),
  deleted: (file) => {
    tellNextPage(file);
    location.assign(placePage + addressOf(file.path.slice(0, file.path.lastIndexOf("/") + 1)));
  },
});

async function dressText() {
  const text = document.querySelector("[data-text]");
  if (!text) return;
  const code = text.querySelector("code");
  if (text.dataset.text === "markdown") return showMarkdown(text, code.textContent);
  const spans = await highlight(code.textContent, text.dataset.language);
  if (spans) code.replaceChildren(spans);
}

// What is written in a file is an attacker's text as well: it is drawn like a model's. Its source is one click away.
function showMarkdown(source, text) {
  const drawn = document.createElement("div");
  drawn.className = "prose";
  drawn.dir = "auto";
  for (const { raw } of lex(text)) drawn.append(renderBlock(raw));
  const swap = document.createElement("button");
  swap.type = "button";
  swap.className = "quiet-button file-swap";
  const show = (asSource) => {
    source.hidden = !asSource;
    drawn.hidden = asSource;
    swap.textContent = asSource ? t("Show it drawn") : t("Show its source");
  };
  swap.addEventListener("click", () => show(source.hidden));
  source.before(swap, drawn);
  show(false);
}

// A page that there is not.
document.querySelector("[data-pdf-page]")?.addEventListener("error", ({ target }) => {
  const words = document.createElement("p");
  words.className = "muted";
  words.textContent = t("This page cannot be drawn. It may be that the PDF has no such page.");
  target.replaceWith(words);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-restore]");
  if (button) actions.restore(fileOf(carrier), Number(button.dataset.restore));
});

dress(document);
dressText();
actions.listen(document);
render(html`<${actions.Over} />`, document.getElementById("files-over"));
document.body.classList.add("is-live");
