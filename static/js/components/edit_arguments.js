// A call's arguments, changed in place: a field for each argument of the tool's schema, or all of them as JSON.
import { html, useMemo, useState } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { argumentsOf, draftsOf, faultsByField, fieldsOf, readJson } from "../schema_fields.js";
import { changesOf } from "../text_diff.js";
import { DiffLines } from "./previews.js";
import { Icon } from "./icons.js";
import { useWords } from "./words.js";

// `refused`: what the server did not take, {"edited_arguments.<path>": [words]}. `send(arguments)`, `back()`.
export function EditArguments({ request, call, refused, sending, send, back }) {
  const fields = useMemo(() => fieldsOf(call.schema ?? {}, call.arguments), [call]);
  const asShown = useMemo(() => ({ asJson: fields === null, drafts: draftsOf(fields ?? [], call.arguments), json: JSON.stringify(call.arguments ?? {}, null, 2) }), [call]);
  const [edit, setEdit] = useWords(request.request_id, `edit ${request.arguments_hash || call.arguments_hash || ""}`, asShown);
  const { asJson, drafts, json } = edit;
  const read = asJson ? readWhole(json) : argumentsOf(fields, drafts, call.arguments);
  const told = faultsByField(refused, asJson ? [] : fields.map(({ name }) => name));
  const changes = read.arguments ? changesOf(call.arguments, read.arguments) : [];
  const isBroken = Object.keys(read.faults).length > 0;
  const ready = !sending && !isBroken && changes.length > 0;
  const id = `edit-${request.request_id}`;

  function switchView() {
    const same = asJson ? { drafts: draftsOf(fields, read.arguments) } : { json: JSON.stringify(read.arguments, null, 2) };
    setEdit({ ...edit, ...same, asJson: !asJson });
  }

  return html`<form class="edit" onSubmit=${(event) => { event.preventDefault(); if (ready) send(read.arguments); }}>
    ${asJson
      ? html`<div class="field"><label for=${`${id}-json`}>${t("Arguments as JSON")}</label>
          <textarea id=${`${id}-json`} class="is-first is-code" rows="8" spellcheck="false" dir="ltr" value=${json} disabled=${sending} aria-invalid=${isBroken ? "true" : null}
            aria-describedby=${isBroken ? `${id}-json-fault` : null} onInput=${(event) => setEdit({ ...edit, json: event.currentTarget.value })}></textarea>
          <${Faults} id=${`${id}-json-fault`} faults=${read.faults[""] ? [read.faults[""]] : []} /></div>`
      : fields.map((field, index) => html`<${Field} key=${field.name} field=${field} id=${`${id}-${field.name}`} isFirst=${index === 0} value=${drafts[field.name]} sending=${sending}
          faults=${[...(read.faults[field.name] ? [read.faults[field.name]] : []), ...(told[field.name] ?? [])]} change=${(value) => setEdit({ ...edit, drafts: { ...drafts, [field.name]: value } })} />`)}
    ${told[""] && html`<p class="form-error" role="alert">${told[""].join(" ")}</p>`}
    ${changes.length > 0 && html`<${Changes} changes=${changes} />`}
    <div class="button-row">
      <button type="submit" class="button button-primary small-button" disabled=${!ready}>${sending ? t("Sending…") : t("Approve with these changes")}</button>
      <button type="button" class="button small-button" disabled=${sending} onClick=${back}>${t("Back")}</button>
      ${(changes.length > 0 || isBroken) && html`<button type="button" class="quiet-button" disabled=${sending} onClick=${() => setEdit({ ...asShown, asJson })}>${t("Undo changes")}</button>`}
      ${fields && html`<button type="button" class="link-button edit-switch" disabled=${sending || isBroken} onClick=${switchView}>${asJson ? t("Edit in fields") : t("Edit as JSON")}</button>`}
    </div>
  </form>`;
}

function readWhole(json) {
  const { value, fault } = readJson(json);
  if (fault) return { arguments: null, faults: { "": fault } };
  if (value === null || typeof value !== "object" || Array.isArray(value)) return { arguments: null, faults: { "": t("The arguments are an object: {…}.") } };
  return { arguments: value, faults: {} };
}

function Field({ field, id, isFirst, value, sending, faults, change }) {
  const Control = CONTROLS[field.kind];
  const described = [field.help ? `${id}-help` : null, faults.length ? `${id}-fault` : null].filter(Boolean).join(" ") || null;
  const shared = { id, disabled: sending, "aria-describedby": described, "aria-invalid": faults.length ? "true" : null, class: isFirst ? "is-first" : null };
  const isCheck = field.kind === "boolean";
  return html`<div class=${`field edit-field is-${field.kind}`}>
    ${isCheck && html`<${Control} field=${field} shared=${shared} value=${value} change=${change} />`}
    <label for=${id}>${field.label}${field.required || isCheck ? "" : html` <span class="muted">${t("optional")}</span>`}</label>
    ${!isCheck && html`<${Control} field=${field} shared=${shared} value=${value} change=${change} />`}
    ${field.help && html`<p class="help small" id=${`${id}-help`}>${field.help}</p>`}
    <${Faults} id=${`${id}-fault`} faults=${faults} />
  </div>`;
}

function Faults({ id, faults }) {
  return faults.length ? html`<p class="form-error" id=${id} role="alert">${faults.join(" ")}</p>` : null;
}

const CONTROLS = {
  text: ({ shared, value, change }) => html`<input type="text" dir="auto" ...${shared} value=${value} onInput=${(event) => change(event.currentTarget.value)} />`,
  long: ({ shared, value, change }) => html`<textarea dir="auto" rows="6" ...${shared} value=${value} onInput=${(event) => change(event.currentTarget.value)}></textarea>`,
  json: ({ shared, value, change }) => html`<textarea dir="ltr" rows="4" spellcheck="false" ...${{ ...shared, class: `is-code ${shared.class ?? ""}` }} value=${value} onInput=${(event) => change(event.currentTarget.value)}></textarea>`,
  number: NumberControl,
  integer: NumberControl,
  boolean: ({ shared, value, change }) => html`<input type="checkbox" ...${shared} checked=${value} onChange=${(event) => change(event.currentTarget.checked)} />`,
  choice: ({ field, shared, value, change }) => html`<select ...${shared} value=${value} onChange=${(event) => change(event.currentTarget.value)}>
    ${field.nullable && html`<option value="">${t("None")}</option>`}${field.options.map((option) => html`<option value=${String(option)}>${String(option)}</option>`)}</select>`,
  list: ListControl,
};

function NumberControl({ field, shared, value, change }) {
  return html`<input type="text" inputmode=${field.kind === "integer" ? "numeric" : "decimal"} ...${shared} value=${value} onInput=${(event) => change(event.currentTarget.value)} />`;
}

// Texts in a row, such as addresses: Enter, a comma or leaving the field adds what was typed; each is taken away by its button.
function ListControl({ field, shared, value, change }) {
  const [typed, setTyped] = useState("");

  function add() {
    const fresh = typed.split(/[,;\n]/).map((text) => text.trim()).filter(Boolean);
    setTyped("");
    if (fresh.length) change([...value, ...fresh]);
  }

  function onKeyDown(event) {
    if (event.isComposing) return;
    if ((event.key === "Enter" || event.key === ",") && typed.trim()) {
      event.preventDefault();
      add();
    } else if (event.key === "Backspace" && typed === "" && value.length) {
      event.preventDefault();
      setTyped(value.at(-1));
      change(value.slice(0, -1));
    }
  }

  return html`<div class="list-control">
    ${value.map((item, index) => html`<span class="list-item" key=${`${index}-${item}`}><bdi>${item}</bdi><button type="button" disabled=${shared.disabled} aria-label=${t("Remove {item}", { item })} title=${t("Remove")}
      onClick=${() => change(value.filter((_, at) => at !== index))}><${Icon} name="close" /></button></span>`)}
    <input type="text" dir="auto" ...${shared} placeholder=${value.length ? t("Add another") : t("Add: {field}", { field: field.label })} value=${typed}
      onInput=${(event) => setTyped(event.currentTarget.value)} onKeyDown=${onKeyDown} onBlur=${add} />
  </div>`;
}

// What was changed, argument by argument, before and after.
export function Changes({ changes }) {
  return html`<div class="changes" role="group" aria-label=${t("Changes")}>
    ${changes.map(({ name, before, after }) => html`<div class="change" key=${name}><p class="change-name">${name}</p><${DiffLines} before=${before} after=${after} /></div>`)}
  </div>`;
}
