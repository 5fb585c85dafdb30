// The search over everything, while one types: the server draws the results, this reads them anew and moves between them.
import { announce } from "./announce.js";
import { t, tn } from "./i18n.js";
import { morphChildren } from "./morph.js";
import { dress, read } from "./server_html.js";

const PAUSE_MS = 160; // between two keys of somebody who types on
const form = document.getElementById("find-form");
const box = form.elements.q;
const found = document.getElementById("find-found");

let timer = null;
let asking = null; // what cancels the question before
let shown = addressOf();

function addressOf() {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => String(value).trim()));
  return query.size ? `?${query}` : location.pathname;
}

async function ask() {
  clearTimeout(timer);
  const address = addressOf();
  if (address === shown) return;
  shown = address;
  asking?.abort();
  const mine = (asking = new AbortController());
  found.setAttribute("aria-busy", "true");
  const { isOk, fresh, isSignedOut } = await read(address, { signal: mine.signal });
  if (mine.signal.aborted) return;
  if (isSignedOut) return void location.assign(address);
  if (!isOk) shown = null; // so that the same words may be tried again
  take(fresh, address);
  found.removeAttribute("aria-busy");
}

function take(fresh, address) {
  const part = fresh?.getElementById("find-found");
  if (!part) return complain();
  dress(part);
  morphChildren(found, document.importNode(part, true));
  showTab();
  document.title = fresh.title;
  history.replaceState(null, "", address);
  const count = links().length;
  if (box.value.trim()) announce(count ? tn("{count} result", "{count} results", count) : t("Nothing found"));
}

// On a phone the tabs scroll, and the chosen one may be out of sight.
function showTab() {
  const tabs = found.querySelector(".tabs");
  const chosen = tabs?.querySelector("[aria-current]");
  if (chosen) tabs.scrollLeft += chosen.getBoundingClientRect().left - tabs.getBoundingClientRect().left - tabs.clientWidth / 3;
}

function complain() {
  const line = document.createElement("p");
  line.className = "form-error";
  line.setAttribute("role", "alert");
  line.textContent = t("The search could not be made. Check the connection and try again.");
  found.replaceChildren(line);
}

function links() {
  return [...found.querySelectorAll(".find-row")];
}

// Down from the box into the results, and round between them; letters go back to the box.
function move(event) {
  const rows = links();
  const at = rows.indexOf(document.activeElement);
  const isInBox = document.activeElement === box;
  if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (isInBox || at >= 0) && rows.length) {
    event.preventDefault();
    const next = event.key === "ArrowDown" ? at + 1 : at - 1;
    if (next < 0 && !isInBox) box.focus();
    else rows.at(next < 0 ? -1 : next % rows.length).focus();
  } else if (event.key === "Escape" && at >= 0) {
    box.focus();
    box.select();
  } else if (event.key === "/" && !isInBox && !event.target.matches("input, textarea")) {
    event.preventDefault();
    box.focus();
    box.select();
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE_MS);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const waits = addressOf() !== shown;
  ask();
  // Enter opens the first result once what was typed is what is shown.
  if (!waits && document.activeElement === box) links()[0]?.click();
});
addEventListener("keydown", (event) => !event.isComposing && !event.altKey && !event.ctrlKey && !event.metaKey && move(event));
document.body.classList.add("is-live");
dress(document);
showTab();
if (box.value) box.setSelectionRange(box.value.length, box.value.length);
