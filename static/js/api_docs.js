// The page of the API: every operation of the description, found by words, each with its shapes and a command to copy.
import { html, render, useEffect, useMemo, useState } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { curlOf, groupsOf, shapeOf } from "./api_operations.js";
import { copyText } from "./clipboard.js";
import { t, tn } from "./i18n.js";

const root = document.getElementById("api-operations");

function Page({ description }) {
  const [query, setQuery] = useState("");
  const groups = useMemo(() => groupsOf(description), []);
  const wanted = query.trim().toLowerCase().split(/\s+/);
  const fits = ({ method, path, description: words }) => wanted.every((word) => `${method} ${path} ${words}`.toLowerCase().includes(word));
  const found = groups.map(({ name, operations }) => ({ name, operations: operations.filter(fits) })).filter(({ operations }) => operations.length);
  const count = found.reduce((sum, { operations }) => sum + operations.length, 0);
  useEffect(() => document.getElementById(location.hash.slice(1))?.scrollIntoView(), []);
  return html`
    <div class="api-find"><label for="api-words">${t("Find an operation")}</label><input type="search" id="api-words" value=${query} autocomplete="off" onInput=${(event) => setQuery(event.currentTarget.value)} /></div>
    <p class="muted small" role="status">${tn("{count} operation", "{count} operations", count)}</p>
    ${found.map(({ name, operations }) => html`<section key=${name} aria-labelledby=${`group-${name}`}>
      <h2 id=${`group-${name}`}>${name}</h2>
      ${operations.map((operation) => html`<${Operation} key=${operation.id} operation=${operation} schemas=${description.components.schemas} />`)}
    </section>`)}`;
}

// What is in it is drawn when it is opened.
function Operation({ operation, schemas }) {
  const { id, method, path, summary } = operation;
  const [isOpen, setOpen] = useState(location.hash === `#${id}`);
  return html`<details class="operation" id=${id} open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><span class=${`method is-${method.toLowerCase()}`}>${method}</span><code class="operation-path">${path}</code><span class="operation-summary">${withCode(summary)}</span></summary>
    ${isOpen && html`<div class="operation-body"><${Details} operation=${operation} schemas=${schemas} /></div>`}
  </details>`;
}

function Details({ operation, schemas }) {
  const { id, description, summary, parameters, body, answers, errors } = operation;
  return html`
    ${description !== summary && description.split(/\n{2,}/).map((paragraph) => html`<p>${withCode(paragraph)}</p>`)}
    <p class="small"><a href=${`#${id}`}>${t("Link to this operation")}</a></p>
    ${parameters.length > 0 && html`<h3>${t("Parameters")}</h3>
      <dl class="parameters">${parameters.map(({ name, in: where, required, schema, description: words }) => html`<div key=${`${where} ${name}`}>
        <dt><code>${name}</code></dt><dd><span class="muted small">${[where, shapeOf(schema, schemas), required && t("required")].filter(Boolean).join(" · ")}</span>${words && html`<span>${withCode(words)}</span>`}</dd>
      </div>`)}</dl>`}
    ${body.type && html`<h3>${t("What is sent")}</h3><${Shape} type=${body.type} text=${shapeOf(body.schema, schemas)} label=${t("What is sent")} />`}
    <h3>${t("What comes back")}</h3>
    ${answers.map(({ status, words, type, schema }) => html`<p key=${status}><strong>${status}</strong> ${withCode(words)}</p>${type && html`<${Shape} type=${type} text=${shapeOf(schema, schemas)} label=${status} />`}`)}
    ${errors.length > 0 && html`<dl class="parameters">${errors.map(({ status, words }) => html`<div key=${status}><dt>${status}</dt><dd>${withCode(words)}</dd></div>`)}</dl>`}
    <h3>${t("In a shell")}</h3>
    <${Command} text=${curlOf(operation, schemas, location.origin)} />`;
}

const Shape = ({ type, text, label }) => html`<p class="muted small">${type}</p><pre class="shape" tabindex="0" role="group" aria-label=${label}>${text}</pre>`;

function Command({ text }) {
  const copy = () => copyText(text).then(() => announce(t("Copied")));
  return html`<pre class="shape" tabindex="0" role="group" aria-label=${t("In a shell")}>${text}</pre><button type="button" class="button" onClick=${copy}>${t("Copy")}</button>`;
}

const withCode = (text) => text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));

try {
  const response = await fetch(root.dataset.schema, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(String(response.status));
  const description = await response.json();
  root.replaceChildren();
  render(html`<${Page} description=${description} />`, root);
} catch {
  root.textContent = t("The description of the API could not be read. Reload the page to try again.");
} finally {
  root.removeAttribute("aria-busy");
}
