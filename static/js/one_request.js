// The page of one request: its card, and its history as the server draws it.
import { effect, html, render } from "../vendor/preact.js";
import { api } from "./api.js";
import { RequestView } from "./components/request_view.js";
import { watchInbox } from "./inbox_socket.js";
import { createRequests } from "./requests.js";
import { dress, refresh } from "./server_html.js";

const LOOK_MS = 15_000; // somebody else may decide it meanwhile

const page = JSON.parse(document.getElementById("page-data").textContent);
const requests = createRequests(api);
const { request_id: id, owner_name, is_own } = page.request;
const place = document.getElementById("request");

// A rule is about one's own runs: the API's word is for its reader, the page's for whose run it is.
const shown = (request) => ({ ...request, owner_name, rules_allowed: request.rules_allowed && is_own });

const look = () => requests.load(id).catch(() => undefined);
const isOver = () => requests.known.value.get(id).status !== "pending";

requests.put(page.request);
place.replaceChildren();
const shownOf = ({ status, snoozed_until, was_reminded }) => JSON.stringify([status, snoozed_until, was_reminded]);
let told = shownOf(page.request);
effect(() => {
  const request = requests.known.value.get(id);
  render(html`<${RequestView} request=${shown(request)} me=${page.user.id} actions=${requests} />`, place);
  const now = shownOf(request);
  if (now !== told) refresh("request-history");
  told = now;
});
dress(document);
const timer = setInterval(() => (isOver() ? clearInterval(timer) : look()), LOOK_MS);
watchInbox(() => isOver() || look(), { onReminder: ({ request_id: reminded }) => reminded === id && look() });
document.addEventListener("visibilitychange", () => document.hidden || isOver() || look());
