// How many requests wait for the reader, beside the inbox in the frame of a page that is not the chat's: as it is now, not as it
// was when the page was opened.
import { t } from "./i18n.js";
import { watchInbox } from "./inbox_socket.js";

const link = document.querySelector('.frame-places a[href="/inbox/"]');

// `isReminded`: of something that waits, since the count changed last.
function show(count, { isReminded = false } = {}) {
  const shown = link.querySelector(".frame-count");
  if (!count) return void shown?.remove();
  const words = document.createElement("span");
  words.className = "visually-hidden";
  words.textContent = ` ${isReminded ? t("still waiting for you") : t("waiting for you")}`;
  const mark = shown ?? link.appendChild(Object.assign(document.createElement("span"), { className: "frame-count" }));
  mark.classList.toggle("is-reminded", isReminded);
  mark.replaceChildren(String(count), words);
}

let count = 0;
if (link) watchInbox((told) => show((count = told)), { onReminder: () => show(count, { isReminded: true }) });
