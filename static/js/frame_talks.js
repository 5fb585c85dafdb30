// The newest conversations in the frame of a page that is not the chat's, where it has room for them, and finding one by its
// title, as in the chat. Also the keys that are told there, which differ between keyboards.
import { grouped } from "./ages.js";
import { api } from "./api.js";
import { t } from "./i18n.js";
import { keysOf } from "./keys.js";

const BESIDE = matchMedia("(min-width: 64rem)");
const ENOUGH = 30; // found ones; below it further pages are asked for
const place = document.querySelector("[data-conversations]");
const box = document.querySelector("[data-find-conversation]");
let known = [];
let next = null;
let isAll = false; // no page follows
let reading = false;

const titleOf = ({ title }) => title || t("New conversation");
const wanted = () => box.value.trim().toLocaleLowerCase();

function found() {
  const words = wanted();
  return known.filter((item) => titleOf(item).toLocaleLowerCase().includes(words));
}

async function readOn() {
  if (reading || isAll) return;
  reading = true;
  try {
    const page = await api.listConversations(next);
    known = [...known, ...page.results];
    next = page.next;
    isAll = !next;
  } catch {
    isAll = true; // the page does without
  }
  reading = false;
  draw();
}

function draw() {
  if (!BESIDE.matches || !place) return;
  const items = found();
  place.replaceChildren(...grouped(items, Date.now()).map(sectionOf));
  if (!known.length || (wanted() && items.length < ENOUGH)) void readOn();
  if (wanted() && !items.length && isAll) place.append(note(t("No conversation has such a title.")));
}

function note(words) {
  return Object.assign(document.createElement("p"), { className: "side-note", textContent: words });
}

function sectionOf({ label, items }) {
  const section = document.createElement("section");
  const heading = document.createElement("h2");
  heading.textContent = label;
  const list = document.createElement("ul");
  list.append(...items.map(entryOf));
  section.append(heading, list);
  return section;
}

function entryOf({ id, title }) {
  const [entry, link, words] = [document.createElement("li"), document.createElement("a"), document.createElement("bdi")];
  words.textContent = titleOf({ title });
  link.href = `/c/${id}/`;
  link.title = words.textContent;
  link.className = "frame-link";
  link.append(words);
  entry.append(link);
  return entry;
}

function tellKeys() {
  const toggle = document.querySelector("[data-sidebar-toggle]");
  if (toggle) toggle.title = `${toggle.getAttribute("aria-label")} (${keysOf("sidebar")})`;
  for (const told of document.querySelectorAll("[data-keys]")) {
    const keys = Object.assign(document.createElement("kbd"), { textContent: keysOf(told.dataset.keys) });
    told.replaceChildren(keys);
  }
}

tellKeys();
box?.addEventListener("input", draw);
box?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !box.value) return;
  event.stopPropagation();
  box.value = "";
  draw();
});
BESIDE.addEventListener("change", draw);
draw();
