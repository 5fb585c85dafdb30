// A project: the reader's conversations in it, and files that are added to it. The rest of the page the server draws.
import { html, render, signal } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { api } from "./api.js";
import { DropVeil, Uploads } from "./components/documents_uploads.js";
import { asDocument, createUploads } from "./documents_upload.js";
import { takeDrops } from "./file_drop.js";
import { t } from "./i18n.js";
import { watchInbox } from "./inbox_socket.js";
import { oneAtATime } from "./one_at_a_time.js";
import { refresh } from "./server_html.js";
import { ago } from "./when.js";

const AT_MOST_EVERY_MS = 1000;
const POLL_MS = 10_000; // while a document is at work, in case that the socket is silent

const page = JSON.parse(document.getElementById("page-data").textContent);
const fileBox = document.getElementById("project-files");
const conversations = signal({ items: [], next: null, state: "loading", error: "" });
const veil = signal(false);

async function loadMore() {
  const before = conversations.value;
  try {
    const { results, next } = await api.listProjectConversations(page.project.id, before.next);
    conversations.value = { items: [...before.items, ...results], next, state: "shown", error: "" };
  } catch (error) {
    conversations.value = { ...before, state: "failed", error: error.message };
  }
}

function Conversations() {
  const { items, next, state, error } = conversations.value;
  const again = state === "failed" && html`<p class="form-error" role="alert">${error} <button type="button" class="link-button" onClick=${loadMore}>${t("Try again")}</button></p>`;
  if (!items.length) return again || html`<p class="project-none muted">${state === "loading" ? t("Loading…") : t("None yet. Ask the first question with “New chat in this project”.")}</p>`;
  return html`<ul class="project-conversations">${items.map(({ id, title, updated_at, running }) => html`<li key=${id}>
      <a href=${`/c/${id}/`} dir="auto">${title || t("New conversation")}</a>
      <span class="muted small">${running ? t("Being answered") : html`<time datetime=${updated_at}>${ago(updated_at, Date.now())}</time>`}</span></li>`)}</ul>
    ${again}
    ${next && html`<p><button type="button" class="button small-button" onClick=${loadMore}>${t("Show more")}</button></p>`}`;
}

// Not too often.
const readDocuments = oneAtATime(async () => {
  await new Promise((resolve) => setTimeout(resolve, AT_MOST_EVERY_MS));
  await refresh("project-documents");
});

// Into the project: before that it is among the reader's own documents only.
async function intoProject({ documentId }) {
  try {
    await api.addProjectDocuments(page.project.id, [documentId]);
  } catch (error) {
    throw new Error(t("It is among your documents, and not in the project: {why}", { why: error.message }));
  }
}

const uploads = createUploads({
  limitBytes: page.limit_bytes,
  as: { ...asDocument, place: intoProject },
  added: (item) => {
    if (item.state === "failed") return announce(t("{name} is not added to the project: {why}", { name: item.name, why: item.error }));
    announce(t("{name} is added to the project", { name: item.name }));
    readDocuments();
  },
});

takeDrops(uploads, veil);
fileBox.addEventListener("change", () => {
  uploads.add([...fileBox.files]);
  fileBox.value = ""; // the same file may be chosen again
});
document.addEventListener("click", (event) => event.target.closest("[data-choose]") && fileBox.click());

const isWorking = () => document.querySelector("#project-documents :is(.is-working, .is-waiting)") !== null;

const Over = () => html`<${DropVeil} visible=${veil.value} />`;

const place = document.getElementById("project-conversations");
place.replaceChildren();
render(html`<${Conversations} />`, place);
render(html`<${Uploads} uploads=${uploads} />`, document.getElementById("uploads"));
render(html`<${Over} />`, document.getElementById("projects-over"));
watchInbox(() => {}, { onDocument: readDocuments });
setInterval(() => document.hidden || (isWorking() && readDocuments()), POLL_MS);
loadMore();
document.body.classList.add("is-live");
