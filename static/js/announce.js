// Tells screen readers what was finished, one block at a time, in a log that nobody sees.

const KEPT = 12;

export function announce(text) {
  const log = document.getElementById("announcements");
  const line = document.createElement("p");
  line.textContent = text;
  log.append(line);
  while (log.childElementCount > KEPT) log.firstElementChild.remove();
}
