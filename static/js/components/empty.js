// What is shown where there are no messages yet, or no conversation.
import { html } from "../../vendor/preact.js";

const PROMPTS = [
  { title: "Explain", text: "Explain the difference between a process and a thread, with one example from daily life." },
  { title: "Write", text: "Write a friendly e-mail that moves Thursday's meeting to next Tuesday at ten." },
  { title: "Code", text: "Write a Python function that finds the longest common prefix of a list of words, with tests." },
  { title: "Compare", text: "Compare three ways to store passwords in a table: how they work, and what each one risks." },
];

export function EmptyState({ name }) {
  return html`<div class="empty"><h1>${name ? html`What shall we work on, <bdi>${name.split(" ")[0]}</bdi>?` : "What shall we work on?"}</h1></div>`;
}

EmptyState.Prompts = function Prompts({ choose }) {
  return html`<ul class="prompts" aria-label="Examples">
    ${PROMPTS.map(({ title, text }) => html`<li><button type="button" onClick=${() => choose(text)}><strong>${title}</strong><span>${text}</span></button></li>`)}
  </ul>`;
};

export function MissingState({ go }) {
  return html`<div class="empty is-missing">
    <h2>This conversation does not exist</h2>
    <p class="muted">It may have been deleted, or it belongs to somebody else.</p>
    <button type="button" class="button" onClick=${() => go(null)}>New conversation</button>
  </div>`;
}
