// Tells screen readers what was finished, one block at a time, in a log that nobody sees.

const KEPT = 12;

export function announce(text) {
  if (!logAbove()) return say(document.getElementById("announcements"), text);
  setTimeout(() => say(logAbove() ?? document.getElementById("announcements"), text)); // it may be the dialog's last word
}

// All below a modal dialog is silent: it has a log of its own, from the beginning, as nothing is told of one that just came.
export function beHeardIn(dialog) {
  const log = Object.assign(document.createElement("div"), { className: "visually-hidden" });
  log.setAttribute("role", "log");
  dialog.append(log);
}

const logAbove = () => document.querySelector("dialog:modal > [role=log]");

function say(log, text) {
  const line = document.createElement("p");
  line.textContent = text;
  log.append(line);
  while (log.childElementCount > KEPT) log.firstElementChild.remove();
}
