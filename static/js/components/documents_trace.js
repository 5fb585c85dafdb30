// The stages of a search: each folded, with its time; whatever it tells is drawn by its shape.
import { html } from "../../vendor/preact.js";
import { columnsOf, milliseconds, number, shapeOf, stagesOf, timesOf, wordsOf } from "../documents_trace.js";
import { t, tn } from "../i18n.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ROWS = 20; // of a table or a list; the rest is counted

// `found`: the passages of the result, by which an id in the trace is told to people.
export function Trace({ trace, found }) {
  const named = namesOf(found);
  const stages = stagesOf(trace).filter(({ key }) => key !== "confidence"); // the heading of the passages tells it
  const { whole, parts } = timesOf(trace);
  return html`<section class="trace" aria-labelledby="trace-title">
    <h2 id="trace-title">${t("How it was found")}${whole !== null && html` <span class="muted">${milliseconds(whole)}</span>`}</h2>
    ${parts.length > 1 && html`<ul class="trace-times">${parts.map(({ name, ms, share }) => html`<li key=${name}>
      <span>${name}</span><progress class="bar" max="1" value=${share} aria-label=${t("Time of {name}", { name })}></progress><span class="trace-ms">${milliseconds(ms)}</span></li>`)}</ul>`}
    ${stages.map(({ key, title, ms, value }) => html`<details key=${key} class="trace-stage">
      <summary><span>${title}</span><span class="trace-gist">${gistOf(value)}</span>${ms !== null && html`<span class="trace-ms">${milliseconds(ms)}</span>`}</summary>
      <div class="trace-value"><${Value} value=${value} name=${title} named=${named} /></div>
    </details>`)}
  </section>`;
}

// A passage is told by its place in the result, a document by its name; others by the end of their id.
function namesOf(found) {
  const names = new Map();
  found.forEach(({ chunk_id, doc_id, metadata }, at) => {
    names.set(doc_id, metadata.filename);
    names.set(chunk_id, html`<a href=${`/documents/${doc_id}/?chunk=${chunk_id}`}>${t("no. {number}", { number: at + 1 })}</a>`);
  });
  return names;
}

const gistOf = (value) => (Array.isArray(value) ? `${value.length}` : typeof value === "number" ? number(value) : "");

function Value({ value, name, named, depth = 0 }) {
  switch (shapeOf(value)) {
    case "number":
      return html`<span class="trace-number">${number(value)}</span>`;
    case "table":
      return html`<${Table} rows=${value} name=${name} named=${named} />`;
    case "list":
      return html`<ul class="trace-words">${value.slice(0, ROWS).map((one) => html`<li dir="auto">${named.get(one) ?? plain(one)}</li>`)}${value.length > ROWS && html`<li class="muted">${tn("and {count} more", "and {count} more", value.length - ROWS)}</li>`}</ul>`;
    case "pairs":
      return html`<ul class="trace-words">${Object.entries(value).map(([key, one]) => html`<li key=${key} dir="auto">${depth ? key : wordsOf(key)} <strong>${plain(one)}</strong></li>`)}</ul>`;
    case "record":
      return html`<dl class="trace-record">${Object.entries(value).map(([key, one]) => html`<div key=${key} class=${shapeOf(one) === "table" ? "is-wide" : ""}><dt dir="auto">${depth ? key : wordsOf(key)}</dt><dd><${Value} value=${one} name=${wordsOf(key)} named=${named} depth=${depth + 1} /></dd></div>`)}</dl>`;
    default:
      return html`<span dir="auto">${plain(value)}</span>`;
  }
}

function Table({ rows, name, named }) {
  const columns = columnsOf(rows);
  return html`<div class="table-scroll" tabindex="0" role="region" aria-label=${name}><table class="table">
    <thead><tr>${columns.map((column) => html`<th scope="col" key=${column}>${wordsOf(column.replace(/_id$/, ""))}</th>`)}</tr></thead>
    <tbody>${rows.slice(0, ROWS).map((row) => html`<tr>${columns.map((column) => html`<td key=${column} dir="auto">${named.get(row[column]) ?? plain(row[column])}</td>`)}</tr>`)}</tbody>
  </table>${rows.length > ROWS && html`<p class="muted small">${tn("and {count} more", "and {count} more", rows.length - ROWS)}</p>`}</div>`;
}

function plain(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  if (UUID.test(value)) return value.slice(-6);
  return typeof value === "object" ? Object.entries(value).map(([key, one]) => `${Array.isArray(value) ? "" : `${key} `}${plain(one)}`).join(", ") : String(value);
}
