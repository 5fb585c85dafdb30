// A line below an answer: how many memories it was told, and what was learned of the person; it leads to the page of all.
import { html } from "../../vendor/preact.js";
import { Icon } from "./icons.js";

const FIELDS = new Map([
  ["user_name", "name"], ["company_name", "company"], ["job_title", "job title"], ["recent_projects", "project"],
  ["tone", "tone"], ["detail_level", "level of detail"], ["language", "language"],
]);
const KINDS = new Map([["fact", "a fact"], ["preference", "a preference"], ["episode", "something that happened"], ["procedure", "how you do things"]]);

const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;

// Each thing once, in the order in which it was learned.
function named(items) {
  return [...new Set(items.map(({ field, kind }) => FIELDS.get(field) ?? KINDS.get(kind) ?? "something"))].join(", ");
}

export function memoryWords(memory) {
  const became = (...ways) => (memory?.learned ?? []).filter((item) => ways.includes(item.became));
  const learned = became("learned", "replaced");
  const waiting = became("quarantined");
  const forgotten = became("forgotten");
  return [
    memory?.used > 0 && `Used ${counted(memory.used, "memory", "memories")}`,
    learned.length > 0 && `Learned: ${named(learned)}`,
    waiting.length > 0 && `${counted(waiting.length, "memory waits", "memories wait")} for you`,
    forgotten.length > 0 && `Forgot ${counted(forgotten.length, "memory", "memories")}`,
  ].filter(Boolean);
}

export function MemoryLine({ memory }) {
  const words = memoryWords(memory);
  if (!words.length) return null;
  return html`<p class="mark is-memory"><${Icon} name="bookmark" /><a href="/memory/">${words.join(" · ")}</a></p>`;
}
