// What a call would do, as people read it: a mail as a mail, code as code, a change as a diff, anything else as a table of its
// arguments. All of it is strangers' text: shown as text, with signs that cannot be seen named.
import { html, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { highlight } from "../code.js";
import { sizeWords } from "../documents_upload.js";
import { parts, t, tc, tn } from "../i18n.js";
import { asText, hasHidden, revealed } from "../plain_text.js";
import { labelOf } from "../schema_fields.js";
import { folded, lineDiff } from "../text_diff.js";
import { Icon } from "./icons.js";

// `call`: {tool, arguments, preview}. With edited arguments the tool's own preview is not true any more.
export function Preview({ call }) {
  const preview = call.preview ?? {};
  const Shown = (Object.hasOwn(SHOWN, preview.kind) && SHOWN[preview.kind]) || Arguments;
  const texts = JSON.stringify([preview, call.arguments ?? {}]);
  return html`<div class="preview" data-preview=${preview.kind ?? "arguments"}>
    <${Shown} preview=${preview} call=${call} />
    ${hasHidden(texts) && html`<p class="preview-warning"><${Icon} name="warning" /><span>${t("This text has signs in it that cannot be seen, or that turn the direction of writing. They are shown as ⟨U+…⟩.")}</span></p>`}
    ${Shown !== Arguments && html`<${AllArguments} values=${call.arguments ?? {}} tool=${call.tool} />`}
  </div>`;
}

const SHOWN = { mail: Mail, code: Code, diff: Diff, arguments: Arguments };

function Mail({ preview }) {
  const { from, to, cc, bcc, subject, body, in_reply_to: reply, attachments } = preview;
  return html`<div class="mail">
    <dl class="mail-head">
      ${from && html`<${Line} name=${tc("mail", "From")}><${Addresses} list=${[from]} /></${Line}>`}
      <${Line} name=${tc("mail", "To")}><${Addresses} list=${to} /></${Line}>
      ${cc?.length > 0 && html`<${Line} name=${t("Cc")}><${Addresses} list=${cc} /></${Line}>`}
      ${bcc?.length > 0 && html`<${Line} name=${t("Bcc")}><${Addresses} list=${bcc} /></${Line}>`}
      ${reply && html`<${Line} name=${t("Reply to")}><bdi>${revealed(reply)}</bdi></${Line}>`}
      ${(subject || !reply) && html`<${Line} name=${t("Subject")}><strong dir="auto">${subject ? revealed(subject) : t("(no subject)")}</strong></${Line}>`}
      ${attachments?.length > 0 && html`<${Line} name=${t("Attached")}><ul class="addresses">${attachments.map((file) => html`<li key=${file.name}><bdi>${revealed(String(file.name))}</bdi> <span class="muted">(${sizeWords(Number(file.size_bytes))})</span></li>`)}</ul></${Line}>`}
    </dl>
    <${Scrolled} label=${t("Text of the mail")}><div class="mail-body" dir="auto">${revealed(body ?? "")}</div></${Scrolled}>
  </div>`;
}

function Line({ name, children }) {
  return html`<div><dt>${name}</dt><dd>${children}</dd></div>`;
}

function Addresses({ list }) {
  const all = Array.isArray(list) ? list : list ? [list] : [];
  if (!all.length) return html`<span class="muted">${t("nobody")}</span>`;
  return html`<ul class="addresses">${all.map((address) => html`<li key=${address}><bdi>${revealed(address)}</bdi></li>`)}</ul>`;
}

function Code({ preview }) {
  const element = useRef(null);
  const code = revealed(preview.code ?? "");
  useLayoutEffect(() => {
    let current = true;
    element.current.textContent = code;
    const coloured = (found) => current && found && element.current?.replaceChildren(found);
    highlight(code, preview.language).then(coloured, () => undefined); // without colours it is still the code
    return () => {
      current = false;
    };
  }, [code, preview.language]);
  return html`<figure class="code-block" dir="ltr"><figcaption class="code-head"><span>${preview.language || t("code")}</span><span class="code-lines">${counted(code)}</span></figcaption>
    <${Scrolled} label=${t("Code")}><pre><code ref=${element}></code></pre></${Scrolled}></figure>`;
}

function counted(code) {
  const lines = code.replace(/\n$/, "").split("\n").length;
  return tn("{count} line", "{count} lines", lines);
}

function Diff({ preview }) {
  return html`<figure class="code-block" dir="ltr"><figcaption class="code-head"><span>${revealed(preview.path ?? "")}</span></figcaption>
    <${Scrolled} label=${t("Changes of {what}", { what: preview.path || t("the text") })}><${DiffLines} before=${preview.before ?? ""} after=${preview.after ?? ""} /></${Scrolled}></figure>
    ${(preview.notes ?? []).map((note) => Object.hasOwn(NOTES, note) && html`<p key=${note} class="muted small diff-note">${NOTES[note]()}</p>`)}`;
}

const NOTES = {
  new: () => t("There is no such file yet."),
  unreadable: () => t("What the file has now is no text that can be shown. All of it would be replaced."),
  misfit: () => t("The file does not have what would be replaced exactly once, so this change would fail."),
  clipped: () => t("Only the beginning of this change is shown."),
};

const SIGNS = { gone: "−", new: "+", same: " " };
const WORDS = { gone: () => `${t("Removed:")} `, new: () => `${t("Added:")} `, same: () => "" };

// Lines with their sign; long stretches without a change are folded until they are wanted.
export function DiffLines({ before, after }) {
  const rows = useMemo(() => folded(lineDiff(before, after)), [before, after]);
  if (!rows.length) return html`<p class="muted small diff-none">${t("Both are empty.")}</p>`;
  return html`<div class="diff">${rows.map((row, index) => (row.kind === "fold" ? html`<${Fold} key=${index} rows=${row.rows} />` : html`<${DiffLine} key=${index} row=${row} />`))}</div>`;
}

function Fold({ rows }) {
  const [open, setOpen] = useState(false);
  if (open) return rows.map((row) => html`<${DiffLine} row=${row} />`);
  return html`<button type="button" class="diff-fold" onClick=${() => setOpen(true)}>${tn("{count} unchanged line", "{count} unchanged lines", rows.length)}</button>`;
}

function DiffLine({ row }) {
  return html`<div class=${`diff-line is-${row.kind}`}><span class="diff-sign" aria-hidden="true">${SIGNS[row.kind]}</span><span class="visually-hidden">${WORDS[row.kind]()}</span><span class="diff-text" dir="auto">${revealed(row.text)}</span></div>`;
}

function Arguments({ call }) {
  const entries = Object.entries(call.arguments ?? {});
  if (!entries.length) return html`<p class="muted small">${t("Without arguments.")}</p>`;
  return html`<${Scrolled} label=${t("Arguments")}><dl class="arguments">${entries.map(([name, value]) => html`<div key=${name}><dt title=${name}>${labelOf(name)}</dt><dd><${Value} value=${value} /></dd></div>`)}</dl></${Scrolled}>`;
}

function Value({ value }) {
  if (value === null || value === "") return html`<span class="muted">${value === null ? t("nothing") : t("empty")}</span>`;
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  const isDeep = typeof value === "object" && !(Array.isArray(value) && value.every((item) => typeof item !== "object"));
  return isDeep ? html`<pre dir="ltr">${revealed(asText(value))}</pre>` : html`<span class="argument-text" dir="auto">${revealed(asText(value))}</span>`;
}

// What exactly is approved: the preview leaves nothing out, but it is the arguments that are carried out.
function AllArguments({ values, tool }) {
  return html`<details class="entry-fold preview-raw"><summary><${Icon} name="brackets" /><span class="entry-words">${parts("Exact arguments of {tool}", { tool: html`<code>${tool}</code>` })}</span><${Icon} name="chevron" /></summary>
    <figure class="block"><pre tabindex="0" aria-label=${t("Exact arguments")} dir="ltr"><code>${revealed(JSON.stringify(values, null, 2))}</code></pre></figure></details>`;
}

// Long content scrolls in its place and can be opened whole: what is approved must be there to be read.
export function Scrolled({ label, children }) {
  const box = useRef(null);
  const [state, setState] = useState({ isLong: false, open: false });
  useLayoutEffect(() => {
    const look = () => setState((before) => (before.open || before.isLong === isTooLong(box.current) ? before : { ...before, isLong: isTooLong(box.current) }));
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return html`<div class=${`scrolled ${state.open ? "is-open" : ""} ${state.isLong ? "is-long" : ""}`}>
    <div class="scrolled-box" ref=${box} tabindex=${state.isLong && !state.open ? "0" : null} role=${state.isLong && !state.open ? "region" : null} aria-label=${state.isLong && !state.open ? label : null}>${children}</div>
    ${state.isLong && html`<button type="button" class="link-button scrolled-more" onClick=${() => setState({ ...state, open: !state.open })}>${state.open ? t("Show less") : t("Show all of it")}</button>`}
  </div>`;
}

const isTooLong = (element) => element.scrollHeight > element.clientHeight + 2;
