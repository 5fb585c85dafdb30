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

// What the server draws at an address. `fresh`: null where it did not come, or not whole; of a refusal it is the page that says so.
// `isSignedOut`: the server led elsewhere.
export async function read(address, options = {}) {
  const response = await fetch(address, { credentials: "same-origin", headers: { Accept: "text/html" }, ...options }).catch(() => null);
  const isSignedOut = response?.redirected ?? false;
  const text = isSignedOut ? null : ((await response?.text().catch(() => null)) ?? null); // it may break off within
  const fresh = text === null ? null : new DOMParser().parseFromString(text, "text/html");
  return { fresh, isOk: fresh !== null && response.ok, isSignedOut };
}

// Reads this page again and takes over the parts with these ids. True if it could.
export async function refresh(...ids) {
  const { isOk, fresh } = await read(location.href);
  if (!isOk) return false;
  for (const id of ids) {
    const part = fresh.getElementById(id);
    const here = document.getElementById(id);
    if (!part || !here) continue;
    dress(part);
    morphChildren(here, document.importNode(part, true));
  }
  return true;
}
