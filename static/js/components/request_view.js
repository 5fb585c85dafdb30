// One request outside of its conversation: the same card as in the chat, whatever its kind.
import { html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { asAsked } from "../requests.js";
import { inOurWords } from "../told.js";
import { EMPTY_TRACE } from "../trace.js";
import { Approval } from "./approvals.js";
import { Request } from "./request.js";

// `request` as the API tells it; `actions`: {respond, previewRule, load}.
export function RequestView({ request, me, actions, roster = [], quiet = false }) {
  if (request.kind === "approval") return html`<${Approval} key=${request.request_id} request=${request} me=${me} actions=${actions} quiet=${quiet} />`;
  const asked = { ...asAsked(request), by: request.decided_by_name || null };
  if (request.status === "pending" && request.may_decide === false) return html`<p class="request-question" dir="auto">${inOurWords(request.question)}</p><p class="muted">${t("This is for somebody else to answer.")}</p>`;
  return html`<${Request} key=${request.request_id} request=${asked} trace=${EMPTY_TRACE} respond=${actions.respond} roster=${roster} quiet=${quiet} />`;
}
