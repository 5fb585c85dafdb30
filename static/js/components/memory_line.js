// A line below an answer: how many memories it was told, and what was learned of the person; it leads to the page of all.
import { html } from "../../vendor/preact.js";
import { t, tn } from "../i18n.js";
import { Icon } from "./icons.js";

const FIELDS = new Map([
  ["user_name", () => t("name")], ["company_name", () => t("company")], ["job_title", () => t("job title")], ["recent_projects", () => t("project")],
  ["tone", () => t("tone")], ["detail_level", () => t("level of detail")], ["language", () => t("language")],
]);
const KINDS = new Map([
  ["fact", () => t("a fact")], ["preference", () => t("a preference")], ["episode", () => t("something that happened")], ["procedure", () => t("how you do things")],
]);
const other = () => t("something");

// Each thing once, in the order in which it was learned.
function named(items) {
  return [...new Set(items.map(({ field, kind }) => (FIELDS.get(field) ?? KINDS.get(kind) ?? other)()))].join(", ");
}

export function memoryWords(memory) {
  const became = (...ways) => (memory?.learned ?? []).filter((item) => ways.includes(item.became));
  const learned = became("learned", "replaced");
  const waiting = became("quarantined");
  const forgotten = became("forgotten");
  return [
    memory?.used > 0 && tn("Used {count} memory", "Used {count} memories", memory.used),
    learned.length > 0 && t("Learned: {what}", { what: named(learned) }),
    waiting.length > 0 && tn("{count} memory waits for you", "{count} memories wait for you", waiting.length),
    forgotten.length > 0 && tn("Forgot {count} memory", "Forgot {count} memories", forgotten.length),
  ].filter(Boolean);
}

export function MemoryLine({ memory }) {
  const words = memoryWords(memory);
  if (!words.length) return null;
  return html`<p class="mark is-memory"><${Icon} name="bookmark" /><a href="/memory/">${words.join(" · ")}</a></p>`;
}
