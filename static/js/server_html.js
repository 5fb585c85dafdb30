// Parts of a page that the server draws: read anew when something has changed, dressed for this reader, put in their place.
import { agentLabel } from "./agents.js";
import { morphChildren } from "./morph.js";
import { ago, fromNow, moment } from "./when.js";

// Times as this reader says them, agents by the names that they have elsewhere on the page.
export function dress(root, now = Date.now()) {
  for (const element of root.querySelectorAll("time[data-ago]")) tell(element, ago(element.dateTime, now), now);
  for (const element of root.querySelectorAll("time[data-from-now]")) tell(element, fromNow(element.dateTime, now), now);
  for (const element of root.querySelectorAll("time[data-moment]")) tell(element, moment(element.dateTime, now), now);
  for (const element of root.querySelectorAll("[data-agent]")) element.textContent = agentLabel(element.dataset.agent);
}

function tell(element, words, now) {
  element.textContent = words;
  element.title = moment(element.dateTime, now);
}

// Reads this page again and takes over the parts with these ids. True if it could.
export async function refresh(...ids) {
  const response = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } }).catch(() => null);
  const text = response?.ok && !response.redirected ? await response.text().catch(() => null) : null; // it may break off within
  if (text === null) return false;
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const id of ids) {
    const part = fresh.getElementById(id);
    const here = document.getElementById(id);
    if (!part || !here) continue;
    dress(part);
    morphChildren(here, document.importNode(part, true));
  }
  return true;
}
