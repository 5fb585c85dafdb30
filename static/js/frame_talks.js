// The newest conversations in the frame of a page that is not the chat's, where it has room for them.
import { grouped } from "./ages.js";
import { t } from "./i18n.js";

const BESIDE = matchMedia("(min-width: 64rem)");
const place = document.querySelector("[data-conversations]");

async function draw() {
  if (!BESIDE.matches || !place || place.childElementCount) return;
  const answer = await fetch("/api/v1/conversations", { headers: { Accept: "application/json" } });
  if (!answer.ok || place.childElementCount) return;
  const { results } = await answer.json();
  place.append(...grouped(results, Date.now()).map(sectionOf));
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
  words.textContent = title || t("New conversation");
  link.href = `/c/${id}/`;
  link.title = words.textContent;
  link.className = "frame-link";
  link.append(words);
  entry.append(link);
  return entry;
}

const drawQuietly = () => draw().catch(() => undefined); // the page does without
BESIDE.addEventListener("change", drawQuietly);
drawQuietly();
