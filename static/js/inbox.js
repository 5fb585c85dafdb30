// The inbox: a list that the server draws, with a card beside it where there is room, keys, and one answer to many.
import { batch, html, render, signal } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { api } from "./api.js";
import { t, tn } from "./i18n.js";
import { BulkBar, BulkDialog } from "./components/bulk.js";
import { RequestView } from "./components/request_view.js";
import { filterAtOnce } from "./filters.js";
import { titleWith, watchInbox } from "./inbox_socket.js";
import { oneAtATime } from "./one_at_a_time.js";
import { createRequests } from "./requests.js";
import { dress, refresh } from "./server_html.js";
import { inOurWords } from "./told.js";

const WIDE = matchMedia("(min-width: 68rem)"); // room for a card beside the list
const REFRESH_MS = 30_000; // ages, and what the count alone does not tell

const page = JSON.parse(document.getElementById("page-data").textContent);
const requests = createRequests(api);
const list = document.getElementById("inbox-list");
const title = document.title;

const selected = signal(new Set());
const opened = signal(null); // id of the request in the pane
const failure = signal(null);
const dialog = signal(null); // {decision, chosen}

// ── rows ──

const rows = () => [...list.querySelectorAll("[data-row]")];
const rowOf = (id) => rows().find((row) => row.dataset.row === id) ?? null;
const linkOf = (row) => row?.querySelector(".row-link");
const current = () => rows().find((row) => row.contains(document.activeElement)) ?? rowOf(opened.value);
const isSelectable = (row) => Boolean(row?.querySelector("input[type=checkbox]"));

function described(id) {
  const row = rowOf(id);
  return { id, title: row?.querySelector(".row-title").textContent ?? t("A request"), gist: row?.querySelector(".row-gist")?.textContent ?? "", risk: row?.dataset.risk ?? "" };
}

// The server's list knows nothing of what is chosen or open here.
function mark() {
  const here = new Set(rows().map((row) => row.dataset.row));
  const kept = [...selected.value].filter((id) => here.has(id));
  if (kept.length !== selected.value.size) selected.value = new Set(kept);
  for (const row of rows()) {
    const box = row.querySelector("input[type=checkbox]");
    if (box) box.checked = selected.value.has(row.dataset.row);
    row.classList.toggle("is-selected", selected.value.has(row.dataset.row));
    row.classList.toggle("is-current", row.dataset.row === opened.value);
    if (row.dataset.row === opened.value) linkOf(row).setAttribute("aria-current", "true");
    else linkOf(row).removeAttribute("aria-current");
  }
}

const readList = oneAtATime(async () => {
  const focused = rows().find((row) => row.contains(document.activeElement))?.dataset.row;
  const isBox = document.activeElement.matches("input");
  await refresh("inbox-list");
  mark();
  const row = focused && rowOf(focused); // rows have moved, the reader has not
  if (row) (isBox ? row.querySelector("input") : linkOf(row))?.focus({ preventScroll: true });
});

// ── the pane ──

async function open(id, { quiet = false } = {}) {
  batch(() => {
    opened.value = id;
    failure.value = null;
  });
  mark();
  // What is read late is another's by now.
  const isOpen = () => opened.value === id;
  try {
    await requests.load(id);
    if (!quiet && isOpen()) document.querySelector("#inbox-pane [data-open-request], #inbox-pane .request-closed")?.focus({ preventScroll: true });
  } catch (error) {
    if (isOpen()) failure.value = error.message;
  }
}

function nextAfter(id) {
  const all = rows();
  const at = all.findIndex((row) => row.dataset.row === id);
  return (all[at + 1] ?? all[at - 1])?.dataset.row ?? null;
}

const actions = {
  load: requests.load,
  previewRule: requests.previewRule,
  respond: async (answer) => {
    const following = nextAfter(answer.request_id);
    try {
      return await requests.respond(answer);
    } finally {
      readList().then(() => rowOf(answer.request_id) || offer(following));
    }
  },
};

const following = signal(null); // what may be opened next, after a decision

function offer(id) {
  following.value = rowOf(id) ? id : null;
  requestAnimationFrame(() => document.querySelector(".pane-next")?.focus());
}

function Pane() {
  const request = requests.known.value.get(opened.value);
  if (failure.value) return html`<p class="form-error" role="alert">${failure.value}</p>`;
  if (!request) return null;
  const owner = ownerOf(request.request_id);
  const isOwn = owner === "";
  const shown = { ...request, owner_name: owner, rules_allowed: request.rules_allowed && isOwn };
  const isOver = request.status !== "pending" || (request.snoozed_until && Date.parse(request.snoozed_until) > Date.now());
  return html`<div class="pane-body">
    <${RequestView} request=${shown} me=${page.user.id} actions=${actions} quiet=${true} />
    <p class="pane-links"><a href=${`/inbox/${request.request_id}/`}>${t("Everything about this request")}</a>
      ${hasTalk(request.request_id) && html`<a href=${`/c/${request.conversation_id}/#request-${request.request_id}`}>${t("Open the run at this point")}</a>`}</p>
    ${isOver && following.value && html`<button type="button" class="button button-primary pane-next" onClick=${() => open(following.value)}>${t("Next request")}</button>`}
    ${isOver && !following.value && page.tab === "decide" && html`<p class="muted">${t("Nothing else waits for you here.")}</p>`}
  </div>`;
}

const owners = new Map(); // rows vanish when they are decided; whose they were is kept
const talks = new Map(); // and whether their conversation can be opened

// Not another's, nor one that was deleted.
function hasTalk(id) {
  const row = rowOf(id);
  if (row) talks.set(id, "talk" in row.dataset);
  return talks.get(id) ?? false;
}

// Whose run asks; empty if it is the reader's own.
function ownerOf(id) {
  const row = rowOf(id);
  if (row) owners.set(id, row.dataset.owner);
  return owners.get(id) ?? "";
}

// ── one answer to many ──

function ask(decision) {
  const ids = selected.value.size ? [...selected.value] : [current()].filter(isSelectable).map((row) => row.dataset.row);
  if (ids.length) dialog.value = { decision, chosen: ids.map(described) };
}

async function sendMany(answer) {
  const done = await api.respondBulk(answer);
  requests.put(...done.results.map(({ request }) => request).filter(Boolean));
  selected.value = new Set();
  await readList();
  following.value = rows()[0]?.dataset.row ?? null;
  return done;
}

function toggle(id) {
  const next = new Set(selected.value);
  if (!next.delete(id)) next.add(id);
  selected.value = next;
  mark();
  announce(tn("{count} selected", "{count} selected", next.size));
}

function selectNone() {
  selected.value = new Set();
  mark();
}

function Below() {
  const chosen = [...selected.value].map(described);
  return html`<${BulkBar} chosen=${chosen} ask=${ask} clear=${selectNone} />
    ${dialog.value && html`<${BulkDialog} key=${dialog.value.decision} ...${dialog.value} send=${sendMany} close=${() => (dialog.value = null)} />`}`;
}

// ── keys and clicks ──

function move(step) {
  const all = rows();
  const at = all.indexOf(current());
  const next = all[Math.max(0, Math.min(all.length - 1, at + step))] ?? all[0];
  if (!next) return;
  linkOf(next).focus();
  next.scrollIntoView({ block: "nearest" });
  if (WIDE.matches) open(next.dataset.row, { quiet: true });
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  " ": () => isSelectable(current()) && toggle(current().dataset.row),
  a: () => ask("approved"),
  d: () => ask("denied"),
  Escape: selectNone,
};

function onKeyDown(event) {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (/^(INPUT|TEXTAREA|SELECT|BUTTON|SUMMARY)$/.test(event.target.tagName) || event.target.closest("#inbox-pane, [popover]")) return;
  const act = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
  if (!act) return;
  if (event.key !== "Escape") event.preventDefault();
  act();
}

// Where there is room the card opens beside the list; with a modifier, and on narrow screens, the link is followed.
function onClick(event) {
  const link = event.target.closest(".row-link");
  if (!link || !WIDE.matches || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  open(link.closest("[data-row]").dataset.row);
}

function showCount(count) {
  document.title = titleWith(count, title);
  for (const element of document.querySelectorAll("[data-inbox-count]")) element.textContent = count ? String(count) : "";
}

dress(document);
list.addEventListener("click", onClick);
list.addEventListener("change", (event) => event.target.type === "checkbox" && toggle(event.target.value));
document.addEventListener("keydown", onKeyDown);
filterAtOnce(document.querySelector(".inbox-filters"));
render(html`<${Pane} />`, document.getElementById("inbox-pane"));
render(html`<${Below} />`, document.getElementById("inbox-bar"));

function onReminder({ request_id: id, title: asked }) {
  announce(t("Still waits for you: {title}", { title: inOurWords(asked) }));
  readList();
  if (opened.value === id) requests.load(id).catch(() => undefined);
}

let first = true;
watchInbox((count) => {
  showCount(count);
  if (!first) readList();
  first = false;
}, { onReminder });
setInterval(() => document.hidden || readList(), REFRESH_MS);
document.addEventListener("visibilitychange", () => document.hidden || readList());
if (WIDE.matches && rows().length) open(rows()[0].dataset.row, { quiet: true });
document.body.classList.add("is-live");
