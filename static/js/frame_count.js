// How many requests wait for the reader, beside the inbox in the frame of a page that is not the chat's: as it is now, not as it
// was when the page was opened.
import { t } from "./i18n.js";
import { watchInbox } from "./inbox_socket.js";

const link = document.querySelector('.frame-places a[href="/inbox/"]');

function show(count) {
  const shown = link.querySelector(".frame-count");
  if (!count) return void shown?.remove();
  const words = document.createElement("span");
  words.className = "visually-hidden";
  words.textContent = ` ${t("waiting for you")}`;
  const mark = shown ?? link.appendChild(Object.assign(document.createElement("span"), { className: "frame-count" }));
  mark.replaceChildren(String(count), words);
}

if (link) watchInbox(show);
