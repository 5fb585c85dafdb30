// One step in the list: the cards of the answer where there is one, else a line.
import { html, useState } from "../../vendor/preact.js";
import { usageFacts } from "../activity.js";
import { stepWords } from "../browsing.js";
import { Browsed } from "../components/browsing.js";
import { Chart } from "../components/chart.js";
import { Entry, madeWords } from "../components/entries.js";
import { Icon } from "../components/icons.js";
import { closedWords } from "../components/request.js";
import { AppPreview, FileChip, Picture } from "../components/results.js";
import { StateIcon } from "../components/state_icon.js";
import { t } from "../i18n.js";

const FORKABLE = new Set(["tool", "model", "program"]);

// From where the run can be gone another way: what the journal has as a step of its own.
export const isForkable = ({ kind }) => FORKABLE.has(kind);

const OPENS = {
  chart: Chart,
  image: Picture,
  preview: AppPreview,
  file: ({ entry, conversationId }) => html`<${FileChip} file=${entry} conversationId=${conversationId} />`,
  browser: Browsed,
};

export function StepCard({ entry, ending, isLive, conversationId }) {
  if (entry.kind === "model") return html`<${ModelCall} entry=${entry} />`;
  if (entry.kind === "question") return html`<${Asked} entry=${entry} isLive=${isLive} />`;
  if (Object.hasOwn(OPENS, entry.kind) && !(entry.kind === "browser" && !entry.screenshot)) return html`<${Made} entry=${entry} conversationId=${conversationId} />`;
  return html`<${Entry} entry=${entry} ending=${ending} />`;
}

function Made({ entry, conversationId }) {
  const [open, setOpen] = useState(false);
  const [icon, words] = entry.kind === "browser" ? ["globe", stepWords(entry)] : madeWords(entry);
  const Card = OPENS[entry.kind];
  return html`<button type="button" class="row-button" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}><${Icon} name=${icon} /><span class="entry-words" dir="auto">${words}</span><${Icon} name="chevron" /></button>
    ${open && html`<div class="step-made"><${Card} entry=${{ ...entry, key: "step" }} conversationId=${conversationId} /></div>`}`;
}

function ModelCall({ entry }) {
  const facts = usageFacts(entry.usage);
  return html`<p class="entry-line"><${Icon} name="spark" /><span class="entry-words">${t("Asked {model}", { model: entry.model || t("the model") })}</span><span class="elapsed">${facts.join(" · ")}</span></p>`;
}

function Asked({ entry, isLive }) {
  const { status, asks } = entry;
  const isOpen = status === "pending" && isLive;
  const { asked, how, said } = closedWords({ ...entry, kind: asks });
  return html`<p class="entry-line"><${StateIcon} status=${isOpen ? "awaiting_user" : status === "answered" || status === "approved" ? "completed" : "skipped"} />
    <span class="entry-words"><span dir="auto">${asked || t("A question")}</span> · <strong>${how}</strong>${said && html`: <span dir="auto">${said}</span>`}</span></p>`;
}
