// A folder: a list that the server draws, kept up to date while files are added, renamed and deleted.
import { html, render, signal } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { api } from "./api.js";
import { DropVeil, Uploads } from "./components/documents_uploads.js";
import { createUploads } from "./documents_upload.js";
import { takeDrops } from "./file_drop.js";
import { createFileActions } from "./files_actions.js";
import { intoFolder, pastedFiles } from "./files_upload.js";
import { filterAtOnce } from "./filters.js";
import { t } from "./i18n.js";
import { dress, refresh } from "./server_html.js";

const PAUSE_MS = 300; // between two files that arrive: the list is read once for both
const REFRESH_MS = 60_000; // ages, and what agents have written

const page = JSON.parse(document.getElementById("page-data").textContent);
const list = document.getElementById("files-list");
const fileBox = document.getElementById("files-box");
const mayWrite = document.querySelector("[data-choose]") !== null;
const veil = signal(false);

// What had the focus keeps it, if it is still there.
async function readList() {
  const focused = document.activeElement;
  const path = focused?.closest?.("[data-file]")?.dataset.file;
  const isMenu = focused?.matches("[data-menu]");
  await refresh("files-list", "files-quota");
  if (path && !document.activeElement?.closest("[data-file], dialog, .menu, .file-undo")) {
    list.querySelector(`[data-file="${CSS.escape(path)}"]`)?.querySelector(isMenu ? "[data-menu]" : ".doc-name")?.focus({ preventScroll: true });
  }
}

let soon;
const readSoon = () => {
  clearTimeout(soon);
  soon = setTimeout(readList, PAUSE_MS);
};

const uploads = createUploads({
  limitBytes: page.limit_bytes,
  as: intoFolder(page.root, page.folder),
  added: (item) => {
    if (item.state === "failed") return;
    announce(t("{name} is added", { name: item.name }));
    readSoon();
  },
});

if (mayWrite) {
  takeDrops(uploads, veil);
  addEventListener("paste", async (event) => {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    uploads.add(await pastedFiles(event.clipboardData));
  });
  fileBox.addEventListener("change", () => {
    uploads.add([...fileBox.files]);
    fileBox.value = ""; // the same file may be chosen again
  });
  document.addEventListener("click", (event) => event.target.closest("[data-choose]") && fileBox.click());
}

const actions = createFileActions({ api, changed: readList, deleted: readList });

dress(document);
actions.listen(list);
filterAtOnce(document.querySelector(".inbox-filters"));
render(html`<${Uploads} uploads=${uploads} />`, document.getElementById("uploads"));
render(html`<${Over} />`, document.getElementById("files-over"));
setInterval(() => document.hidden || readList(), REFRESH_MS);
document.addEventListener("visibilitychange", () => document.hidden || readList());
document.body.classList.add("is-live");

function Over() {
  return html`<${actions.Over} /><${DropVeil} visible=${veil.value} words=${t("Files and folders of any kind")} />`;
}
