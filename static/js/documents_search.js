// The search that can be looked into: what a question finds, in what order, and what each stage did for it.
import { html, render, signal } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { api } from "./api.js";
import { Icon } from "./components/icons.js";
import { Trace } from "./components/documents_trace.js";
import { marked, number, wantedOf, whyOf } from "./documents_trace.js";
import { parts, t, tn } from "./i18n.js";

const page = JSON.parse(document.getElementById("page-data").textContent);
const form = document.getElementById("search-form");
const within = signal(page.document); // {id, name} or null
const state = signal({ is: "idle" }); // idle | busy | found | failed
let latest = 0;

async function run() {
  const wanted = wantedOf(new FormData(form), within.value?.id);
  remember();
  if (!wanted.query) return void (state.value = { is: "idle" });
  const mine = ++latest;
  state.value = { is: "busy", before: state.value.found ?? state.value.before };
  try {
    const found = await api.search(wanted);
    if (mine !== latest) return;
    state.value = { is: "found", found, query: wanted.query };
    announce(tn("{count} passage found", "{count} passages found", found.chunks.length));
  } catch (error) {
    if (mine === latest) state.value = { is: "failed", message: error.message };
  }
}

// The address says what is searched, so that it can be sent to somebody and gone back to.
function remember() {
  const query = new URLSearchParams([...new FormData(form)].filter(([name, value]) => String(value).trim() && !(name === "mode" && value === "hybrid")));
  if (within.value) query.set("document", within.value.id);
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
}

function recall() {
  for (const [name, value] of new URLSearchParams(location.search)) {
    const field = form.elements[name];
    if (!field) continue;
    if (field.type === "checkbox") field.checked = true;
    else field.value = value;
  }
}

// ── what is drawn ──

function Within() {
  if (!within.value) return null;
  return html`<span class="search-chip"><${Icon} name="document" />${parts("Only in {document}", { document: html`<bdi>${within.value.name}</bdi>` })}
    <button type="button" class="icon-button small" aria-label=${t("Search all documents")} onClick=${() => { within.value = null; run(); }}><${Icon} name="close" /></button></span>`;
}

function Results() {
  const { is, found, query, message } = state.value;
  if (is === "idle") return html`<p class="muted search-hint">${t("Try a question as you would ask it, or the words that you remember. Every passage leads to its place in the document.")}</p>`;
  if (is === "failed") return html`<p class="form-error" role="alert">${message}</p>`;
  if (is === "busy") return html`<p class="muted search-hint" role="status">${t("Searching…")}</p>`;
  return html`<div class=${`search-frame ${found.trace ? "has-trace" : ""}`}>
    <section class="search-found" aria-labelledby="found-title">
      <h2 id="found-title">${found.chunks.length ? tn("{count} passage", "{count} passages", found.chunks.length) : t("Nothing found")}
        ${typeof found.trace?.confidence === "number" && found.chunks.length > 0 && html` <span class="muted">${t("confidence {percent} %", { percent: Math.round(100 * found.trace.confidence) })}</span>`}</h2>
      ${found.note && html`<p class="message warning">${found.note}</p>`}
      ${!found.chunks.length && html`<p class="muted">${t("No passage fits. Try other words, fewer filters, or search by words and meaning.")}</p>`}
      <ol class="passages">${found.chunks.map((chunk, at) => html`<${Passage} key=${chunk.chunk_id} chunk=${chunk} rank=${at + 1} query=${query} trace=${found.trace} />`)}</ol>
    </section>
    ${found.trace && html`<${Trace} trace=${found.trace} found=${found.chunks} />`}
  </div>`;
}

function Passage({ chunk, rank, query, trace }) {
  const { filename, page: number_, last_page: last, section_title: section, date } = chunk.metadata;
  const pages = number_ ? t("page {number}", { number: last && last !== number_ ? `${number_}–${last}` : number_ }) : "";
  const place = [pages, section, date].filter(Boolean).join(" · ");
  return html`<li class="passage">
    <div class="passage-head"><span class="passage-rank" aria-hidden="true">${rank}</span>
      <span class="passage-names"><a href=${`/documents/${chunk.doc_id}/?chunk=${chunk.chunk_id}`} dir="auto">${filename}</a><span class="muted" dir="auto">${place}</span></span>
      <span class="passage-score"><progress class="bar" max="1" value=${Math.max(0, Math.min(1, chunk.score))} aria-label=${t("Score")}></progress><span>${number(chunk.score)}</span></span></div>
    <details class="passage-text"><summary dir="auto">${marked(chunk.text.replace(/\n\s*\n/g, "\n"), query).map(({ text, hit }) => (hit ? html`<mark>${text}</mark>` : text))}</summary></details>
    <details class="passage-why"><summary>${t("Why it was found")}</summary><p>${whyOf(chunk, trace).map(({ leg, rank: place_, figures }) => html`<span key=${leg} class="why"><strong>${leg}</strong>${place_ !== null && ` ${t("no. {number}", { number: place_ })}`}${figures.map(([name, value]) => html` <span class="muted">${name} ${typeof value === "number" ? number(value) : String(value)}</span>`)}</span>`)}</p></details>
  </li>`;
}

const options = document.querySelector(".search-more");
const ROOM = matchMedia("(min-width: 40.01rem)"); // where they need not be folded
const unfold = () => (options.open = ROOM.matches);
ROOM.addEventListener("change", unfold);
unfold();
recall();
render(html`<${Within} />`, document.getElementById("search-within"));
render(html`<${Results} />`, document.getElementById("search-results"));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
form.addEventListener("change", (event) => event.target.name !== "q" && form.elements.q.value.trim() && run());
document.body.classList.add("is-live");
if (form.elements.q.value.trim()) run();
else form.elements.q.focus();
