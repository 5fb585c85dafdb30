// One document: its pages are fetched as they come into view; links to pages, sections and places scroll there.
import { html, render } from "../vendor/preact.js";
import { api } from "./api.js";
import { createDocumentActions } from "./documents_actions.js";
import { t } from "./i18n.js";
import { watchInbox } from "./inbox_socket.js";
import { dress, read, refresh } from "./server_html.js";

const AT_ONCE = 5; // as the server gives them
const NEAR = "900px 0px"; // of the window: pages this close are fetched
const STILL_MS = 120; // what only flies by is not fetched
const POLL_MS = 10_000;
const WIDE = matchMedia("(min-width: 60rem)"); // room for the contents beside the text

const page = JSON.parse(document.getElementById("page-data").textContent);
const leaves = document.getElementById("leaves");
const pageBox = document.querySelector(".page-form input[name=page]");

const leafOf = (number) => document.getElementById(`page-${number}`);
const isLoaded = (leaf) => leaf?.hasAttribute("data-loaded") ?? false;

// ── pages that are not here yet ──

const loading = new Map(); // first page → promise

// A place for each page that the server has, so that the scroll bar tells the truth and links lead somewhere.
function reserve(first, last) {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
    const number = first + index;
    const leaf = document.createElement("section");
    leaf.className = "leaf is-waiting";
    leaf.id = `page-${number}`;
    leaf.dataset.page = number;
    leaf.tabIndex = -1;
    leaf.setAttribute("aria-label", `${leaves.dataset.part} ${number}`);
    leaf.textContent = `${leaves.dataset.part} ${number}`;
    coming.observe(leaf);
    current.observe(leaf);
    return leaf;
  });
}

// More of it was read since.
function grow(pages) {
  leaves.append(...reserve(Number(leaves.lastElementChild.dataset.page) + 1, pages));
  page.pages_read = pages;
  pageBox.max = pages;
  document.querySelector(".page-form .muted").textContent = t("of {pages}", { pages });
}

// A fetch that fails is made again when the page comes into view once more.
function load(number) {
  if (isLoaded(leafOf(number))) return Promise.resolve();
  const first = number - ((number - 1) % AT_ONCE);
  if (!loading.has(first)) loading.set(first, fetchLeaves(first).finally(() => loading.delete(first)));
  return loading.get(first);
}

async function fetchLeaves(first) {
  const query = new URLSearchParams(location.search);
  for (const name of ["at", "side"]) query.delete(name);
  query.set("page", first);
  const { isOk, fresh } = await read(`/documents/${page.document.id}/pages/?${query}`);
  if (!isOk) return;
  for (const leaf of fresh.querySelectorAll(".leaf")) {
    const here = leafOf(leaf.dataset.page);
    if (!here || isLoaded(here)) continue;
    const drawn = document.importNode(leaf, true);
    here.replaceWith(drawn);
    current.observe(drawn);
  }
}

const near = new Map(); // leaf → timer
const coming = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    clearTimeout(near.get(target));
    if (isIntersecting && !isLoaded(target)) near.set(target, setTimeout(() => load(Number(target.dataset.page)), STILL_MS));
  }
}, { rootMargin: NEAR });

// ── where the reader is ──

const current = new IntersectionObserver((entries) => {
  const seen = entries.find(({ isIntersecting }) => isIntersecting);
  if (seen) showPlace(seen.target.dataset.page);
}, { rootMargin: "-49% 0px -50% 0px" });

function showPlace(number) {
  if (document.activeElement !== pageBox) pageBox.value = number;
  for (const link of document.querySelectorAll("[data-view]")) {
    const url = new URL(link.href);
    if (url.searchParams.has("page")) url.searchParams.set("page", number);
    link.href = url.pathname + url.search;
  }
}

async function goTo(number, found = (leaf) => leaf) {
  const wanted = Math.max(1, Math.min(number, page.pages_read));
  leafOf(wanted).scrollIntoView({ block: "start" });
  await load(wanted);
  const target = found(leafOf(wanted)) ?? leafOf(wanted);
  target.scrollIntoView({ block: target.classList.contains("leaf") ? "start" : "center" });
  leafOf(wanted).focus({ preventScroll: true });
}

function onGo(event) {
  const link = event.target.closest("[data-go]");
  if (!link || !leaves || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const { go, nth, section } = link.dataset;
  goTo(Number(go), (leaf) => (nth ? marked(leaf, Number(nth)) : headed(leaf, section)));
}

// A mark may be drawn in pieces, where another one begins in it: the pieces follow each other without text between.
function marked(leaf, nth) {
  const starts = [...leaf.querySelectorAll("mark.found")].filter((mark) => !mark.previousSibling?.classList?.contains("found"));
  for (const mark of leaf.querySelectorAll(".is-here")) mark.classList.remove("is-here");
  starts[nth]?.classList.add("is-here");
  return starts[nth];
}

const headed = (leaf, title) => [...leaf.querySelectorAll(".leaf-heading")].find(({ textContent }) => textContent.trim() === title);

function toPassage() {
  const mark = document.querySelector("mark.cited");
  mark?.scrollIntoView({ block: "center" });
  return Boolean(mark);
}

// ── what happens to the document ──

async function look() {
  await refresh("document-head");
  const { status } = document.querySelector("[data-document]").dataset;
  const pages = Number(document.querySelector("#document-head [data-pages]").dataset.pages);
  if (leaves && pages > page.pages_read) grow(pages);
  if (!leaves && !actions.isOpen() && (pages > 0 || status === "failed") && status !== page.document.status) location.reload();
}

function onDocument(told) {
  if (told.doc_id !== page.document.id) return;
  if (told.status === "deleted") location.href = "/documents/";
  else look();
}

const actions = createDocumentActions({
  api,
  groups: page.groups,
  projects: page.projects,
  changed: look,
  deleted: () => (location.href = "/documents/"),
});

dress(document);
if (!WIDE.matches) document.querySelector(".side-fold")?.removeAttribute("open"); // the text comes first
const chosenPassage = document.querySelector(".side-items [aria-current]");
if (chosenPassage) document.querySelector(".document-side").scrollTop = chosenPassage.offsetTop - innerHeight / 3;
actions.listen(document);
render(html`<${actions.Over} />`, document.getElementById("documents-over"));
document.addEventListener("click", onGo);
document.querySelector("[data-to-passage]")?.addEventListener("click", (event) => toPassage() && event.preventDefault());
if (leaves) {
  for (const leaf of leaves.children) current.observe(leaf);
  leaves.prepend(...reserve(1, Number(leaves.firstElementChild.dataset.page) - 1));
  grow(page.pages_read);
  for (const link of document.querySelectorAll("[data-before], [data-after]")) link.remove();
  // A file that is gone, or a page that cannot be drawn: its text stands beside it.
  leaves.addEventListener("error", ({ target }) => target.tagName === "IMG" && target.parentElement.classList.add("is-missing"), { capture: true });
  document.querySelector(".page-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (pageBox.value) goTo(Number(pageBox.value));
  });
  if (!toPassage() && location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
if (page.document.is_own) watchInbox(() => {}, { onDocument });
setInterval(() => document.hidden || (document.querySelector("#document-head .is-working, #document-head .is-waiting") && look()), POLL_MS);
document.body.classList.add("is-live");
