// It may have happened: a call was under way when its worker was lost, and nothing says how it ended. Somebody has to look.
import { html } from "../../vendor/preact.js";
import { parts, t } from "../i18n.js";
import { inOurWords } from "../told.js";
import { moment } from "../when.js";
import { Icon } from "./icons.js";
import { Preview } from "./previews.js";

const choices = () => [
  { name: "done", label: t("It happened"), icon: "check", hint: t("Go on as if it had been reported.") },
  { name: "again", label: t("Do it again"), icon: "retry", hint: t("If it did happen, it happens twice.") },
  { name: "skip", label: t("Leave it"), icon: "close", hint: t("It is not done; the agent is told.") },
];

export function Doubt({ request, sending, answer }) {
  const { labels = {}, tool_calls: calls, tool, arguments: values, started_at: began } = request.details;
  const call = calls?.[0] ?? (tool ? { tool, arguments: values ?? {}, preview: {} } : null);
  return html`<div class="doubt">
    ${began && html`<p class="asker-task muted">${parts("It began {when}; no answer to it was recorded. Look where it would show (the Sent folder, say) before you decide.", { when: html`<strong>${moment(began, Date.now())}</strong>` })}</p>`}
    ${call && html`<${Preview} call=${call} />`}
    <div class="doubt-choices">${choices().filter(({ name }) => request.options.includes(name)).map(({ name, label, icon, hint }) => html`<button type="button" key=${name} class="doubt-choice" disabled=${sending} onClick=${() => answer("answered", { choice: name })}>
      <${Icon} name=${icon} /><span><strong>${inOurWords(labels[name]) ?? label}</strong><small>${hint}</small></span></button>`)}</div>
  </div>`;
}
