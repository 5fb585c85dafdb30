// The documents: a list that the server draws, kept up to date while files are added and read.
import { html, render, signal } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { api } from "./api.js";
import { DropVeil, Uploads } from "./components/documents_uploads.js";
import { createDocumentActions } from "./documents_actions.js";
import { createUploads, filesOf } from "./documents_upload.js";
import { takeDrops } from "./file_drop.js";
import { filterAtOnce } from "./filters.js";
import { t } from "./i18n.js";
import { watchInbox } from "./inbox_socket.js";
import { oneAtATime } from "./one_at_a_time.js";
import { dress, refresh } from "./server_html.js";

const AT_MOST_EVERY_MS = 700; // reading the list, however much happens
const POLL_MS = 10_000; // while something is at work, in case that the socket is silent
const REFRESH_MS = 60_000; // ages

const page = JSON.parse(document.getElementById("page-data").textContent);
const list = document.getElementById("documents-list");
const fileBox = document.getElementById("doc-files");
const veil = signal(false);

const rows = () => [...list.querySelectorAll("[data-document]")];
const listedIds = () => new Set(rows().map((row) => row.dataset.document));
const isWorking = () => rows().some((row) => row.matches(".is-working, .is-waiting"));

// ── the list ──

let readAt = -Infinity;

// Not too often.
const readList = oneAtATime(async () => {
  const pause = readAt + AT_MOST_EVERY_MS - performance.now();
  if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
  readAt = performance.now();
  const focused = document.activeElement;
  const at = focused?.closest("[data-document]");
  const kept = at && { id: at.dataset.document, isMenu: focused.matches("[data-menu]") };
  await refresh("documents-list");
  if (kept) rows().find((row) => row.dataset.document === kept.id)?.querySelector(kept.isMenu ? "[data-menu]" : ".doc-name")?.focus({ preventScroll: true });
  uploads.dropListed(listedIds());
});

// ── adding ──

const uploads = createUploads({
  limitBytes: page.limit_bytes,
  added: (item) => {
    if (item.state === "failed") return;
    announce(item.state === "known" ? t("{name} is already here", { name: item.name }) : t("{name} is added", { name: item.name }));
    readList();
  },
});

takeDrops(uploads, veil);
addEventListener("paste", async (event) => {
  if (!event.clipboardData?.files.length) return;
  event.preventDefault();
  uploads.add(await filesOf(event.clipboardData));
});
fileBox.addEventListener("change", () => {
  uploads.add([...fileBox.files]);
  fileBox.value = ""; // the same file may be chosen again
});
document.addEventListener("click", (event) => event.target.closest("[data-choose]") && fileBox.click());

// ── the page ──

const actions = createDocumentActions({ api, groups: page.groups, projects: page.projects, changed: readList, deleted: readList });

dress(document);
actions.listen(list);
filterAtOnce(document.querySelector(".inbox-filters"));
render(html`<${Uploads} uploads=${uploads} />`, document.getElementById("uploads"));
render(html`<${Over} />`, document.getElementById("documents-over"));
watchInbox(() => {}, { onDocument: readList });
setInterval(() => document.hidden || (isWorking() && readList()), POLL_MS);
setInterval(() => document.hidden || readList(), REFRESH_MS);
document.addEventListener("visibilitychange", () => document.hidden || readList());
document.body.classList.add("is-live");

function Over() {
  return html`<${actions.Over} /><${DropVeil} visible=${veil.value} />`;
}
