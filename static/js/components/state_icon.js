// The state of a task, an agent or a call as a small round sign, with its word for who cannot see it.
import { html } from "../../vendor/preact.js";
import { statusWords } from "../activity.js";

export const MARKS = {
  completed: "M6.800 10.300 9.100 12.600 13.300 7.600",
  failed: "M7.500 7.500l5 5M12.500 7.500l-5 5",
  skipped: "M7 10h6",
  cancelled: "M7.500 7.500h5v5h-5Z",
  deleted: "M6.800 13.200l6.400-6.400",
  awaiting_user: "M8.300 8.200a1.900 1.900 0 1 1 2.700 1.700c-.7.300-1 .7-1 1.300M10 13.300v.1",
};

export function StateIcon({ status }) {
  return html`<span class=${`state is-${Object.hasOwn(MARKS, status) || status === "running" ? status : "pending"}`}>
    <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <circle cx="10" cy="10" r="7" />
      ${status === "running" && html`<path class="state-arc" d="M10 3a7 7 0 0 1 7 7" />`}
      ${Object.hasOwn(MARKS, status) && html`<path d=${MARKS[status]} />`}
    </svg><span class="visually-hidden">${statusWords(status)}: </span>
  </span>`;
}
