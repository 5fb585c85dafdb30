// What an agent did, in order: stages with the calls that belong to them, handoffs, code, warnings. All of it is text.
import { html, useContext, useState } from "../../vendor/preact.js";
import { alreadyDone as doneWords, requestWords } from "../activity.js";
import { agentLabel } from "../agents.js";
import { stepWords } from "../browsing.js";
import { guardWords } from "../guarded.js";
import { language, parts, t } from "../i18n.js";
import { clipped, inline, pretty, setOut, shownResult } from "../json.js";
import { labelOf } from "../schema_fields.js";
import { Icon } from "./icons.js";
import { ProgramBody, headOf } from "./program.js";
import { CopyButton } from "./prose.js";
import { StateIcon } from "./state_icon.js";
import { Elapsed } from "./ticking.js";
import { inOurWords } from "../told.js";
import { quotedTool, toolLabel } from "../tools.js";
import { WholeResults } from "./whole_results.js";

// `ending`: how the agent ended, null while it works.
export function Entries({ entries, ending }) {
  const own = entries.map((entry, index) => ({ entry, index })).filter(({ entry }) => entry.kind !== "model"); // they are counted
  const draw = ({ entry, index }) => html`<${Entry} key=${index} entry=${entry} ending=${ending} />`;
  const within = (stage) => own.filter(({ entry }) => entry.kind === "tool" && entry.stage === stage);
  return html`<ol class="entries">
    ${own.filter(({ entry }) => entry.kind !== "tool" || entry.stage === null).map((item) => html`<li key=${item.index} class=${`entry-${item.entry.kind}`}>
      ${draw(item)}
      ${item.entry.kind === "stage" && within(item.index).length > 0 && html`<ol class="entries">${within(item.index).map((call) => html`<li key=${call.index} class="entry-tool">${draw(call)}</li>`)}</ol>`}
    </li>`)}
  </ol>`;
}

export function Entry({ entry, ending }) {
  const Shown = SHOWN[entry.kind];
  return html`<${Shown} entry=${entry} ending=${ending} />`;
}

const SHOWN = {
  stage: Stage, tool: Tool, handoff: Handoff, program: Program, guardrail: Guardrail, skill: Skill, approval: Approval, resumed: Resumed, cut: Cut,
  chart: Made, image: Made, file: Made, browser: Made, stream: Made, preview: Made,
};

// What was under way when the agent ended goes on no longer. A stage that nobody closed ended with a good end.
function statusOf({ kind, status }, ending) {
  if ((status !== "running" && status !== "lost") || ending === null) return status;
  return kind === "stage" && ending === "completed" ? "completed" : "cancelled";
}

const timesOf = ({ at, endedAt }) => ({ startedAt: at, endedAt: endedAt ?? null });

function Stage({ entry, ending }) {
  return html`<p class="entry-line"><${StateIcon} status=${statusOf(entry, ending)} /><span class="entry-words" dir="auto">${inOurWords(entry.text)}</span><${Elapsed} of=${timesOf(entry)} isLive=${ending === null} /></p>`;
}

function Tool({ entry, ending }) {
  const [open, setOpen] = useState(false);
  const { tool, args, result, alreadyDone } = entry;
  const status = statusOf(entry, ending);
  return html`<div class="tool-call" data-tool=${tool} data-status=${status}>
    <button type="button" class="row-button" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>
      <${StateIcon} status=${status} /><span class="tool-name">${toolLabel(tool, entry.label)}</span>${alreadyDone && html`<span class="badge" title=${doneWords().title}>${doneWords().label}</span>`}<span class="tool-args">${inline(args)}</span>
      <${Elapsed} of=${timesOf(entry)} isLive=${ending === null} /><${Icon} name="chevron" />
    </button>
    ${status === "failed" && !open && html`<p class="row-error" dir="auto">${clipped(result ?? "", 200)}</p>`}
    ${open && html`<div class="tool-detail">
      <p class="muted small">${t("Tool")} <code>${tool}</code></p>
      ${args && html`<${Arguments} args=${args} />`}
      ${result !== null
        ? html`<${Result} entry=${entry} isError=${status === "failed"} />`
        : html`<p class="muted small">${ending === null ? t("No result yet.") : t("The run ended before there was a result.")}</p>`}
    </div>`}
  </div>`;
}

// The events have the beginning of a long result; the rest is read for whoever wants it.
function Result({ entry, isError }) {
  const read = useContext(WholeResults);
  const [whole, setWhole] = useState(null);
  const [state, setState] = useState(""); // "" | "reading" | why it could not be read
  const isPart = entry.clipped && !whole;
  const label = isError ? t("Error") : t("Result");

  async function readAll() {
    setState("reading");
    try {
      setWhole(await read(entry.seq));
      setState("");
    } catch (error) {
      setState(error.message);
    }
  }

  return html`<${Block} label=${label} text=${whole ? setOut(whole.content) : shownResult(entry.result, entry.clipped)} isError=${isError} />
    ${isPart && html`<p class="muted small">${t("Only the beginning is shown.")} ${read && html`<button type="button" class="link-button" disabled=${state === "reading"} onClick=${readAll}>${state === "reading" ? t("Reading…") : t("Show all of it")}</button>`}</p>`}
    ${whole && whole.content.length < whole.chars && html`<p class="muted small">${t("Of {chars} characters this is what was kept.", { chars: whole.chars.toLocaleString(language) })}</p>`}
    ${state && state !== "reading" && html`<p class="form-error" role="alert">${state}</p>`}`;
}

// Programs and letters stand in lines of their own, not in one of JSON.
function Arguments({ args }) {
  const isText = ([, value]) => typeof value === "string" && value.includes("\n");
  const texts = Object.entries(args).filter(isText);
  const others = Object.fromEntries(Object.entries(args).filter((one) => !isText(one)));
  return html`${(!texts.length || Object.keys(others).length > 0) && html`<${Block} label=${t("Arguments")} text=${pretty(others)} />`}
    ${texts.map(([name, text]) => html`<${Block} key=${name} label=${t("Argument {name}", { name })} text=${clipped(text)} />`)}`;
}

function Block({ label, text, isError = false }) {
  return html`<figure class=${`block ${isError ? "is-error" : ""}`}><figcaption><span>${label}</span><${CopyButton} text=${text} label=${t("Copy")} /></figcaption><pre tabindex="0" aria-label=${label} dir="ltr"><code>${text}</code></pre></figure>`;
}

function Handoff({ entry }) {
  return html`<p class="entry-line"><${Icon} name="handoff" /><span class="entry-words"><strong>${agentLabel(entry.source)} → ${agentLabel(entry.target)}</strong>: <span dir="auto">${entry.task}</span></span></p>`;
}

function Program({ entry, ending }) {
  const program = { ...entry, status: statusOf(entry, ending) };
  return html`<details class="entry-fold">
    <summary><${StateIcon} status=${program.status === "lost" ? "running" : program.status === "not_run" ? "skipped" : program.status} /><span class="entry-words">${headOf(program)}</span><${Elapsed} of=${timesOf(entry)} isLive=${ending === null} /><${Icon} name="chevron" /></summary>
    <div class="program-body"><${ProgramBody} program=${program} /></div>
  </details>`;
}

// What an agent made or did, in one line; the answer shows the thing itself.
const MADE = {
  chart: ({ title }) => ["chart", title ? t("Drew a chart: {title}", { title }) : t("Drew a chart")],
  image: ({ path }) => ["image", t("Made a picture: {path}", { path })],
  file: ({ path, operation }) => ["document", /^delete/.test(operation) ? t("Deleted {path}", { path }) : t("Wrote {path}", { path })],
  browser: (entry) => ["globe", stepWords(entry)],
  stream: () => ["eye", t("The browser can be watched")],
  preview: ({ title }) => ["window", title ? t("An app can be looked at: {title}", { title }) : t("An app can be looked at")],
};

export const madeWords = (entry) => MADE[entry.kind](entry);

function Made({ entry }) {
  const [icon, words] = madeWords(entry);
  return html`<p class="entry-line"><${Icon} name=${icon} /><span class="entry-words" dir="auto">${words}</span></p>`;
}

function Guardrail({ entry }) {
  const { action, where, what, count, isGrave } = guardWords(entry);
  return html`<p class=${`entry-line is-guarded ${isGrave ? "is-warning" : ""}`} title=${entry.scanner}><${Icon} name="shield" /><span class="entry-words"><strong>${action}</strong>${where && html` <span class="muted">${where}</span>`}: <span dir="auto">${what}</span>${count && html` <span class="muted">${count}</span>`}</span></p>`;
}

// What a skill gave, field by field: short ones as words, deep ones as they are.
function Skill({ entry }) {
  const fields = Object.entries(entry.output ?? {}).filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && !value.length));
  return html`<details class="entry-fold">
    <summary><${Icon} name="spark" /><span class="entry-words">${t("Used the skill {skill}", { skill: labelOf(entry.skill).toLowerCase() })}</span><${Icon} name="chevron" /></summary>
    <dl class="row-facts skill-facts">${fields.map(([name, value]) => html`<div key=${name}><dt>${labelOf(name)}</dt><dd class="is-text" dir="auto"><${SkillValue} value=${value} /></dd></div>`)}</dl>
    ${!fields.length && html`<p class="muted small">${t("It gave nothing.")}</p>`}
  </details>`;
}

function SkillValue({ value }) {
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  if (typeof value !== "object") return clipped(String(value));
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return clipped(value.join(", "));
  return html`<pre tabindex="0" aria-label=${t("As JSON")} dir="ltr"><code>${pretty(value)}</code></pre>`;
}

const APPROVAL = { pending: () => t("Waiting for approval"), denied: () => t("Denied"), timed_out: () => t("Nobody decided in time"), expired: () => t("The run ended before anybody decided") };

function Approval({ entry }) {
  return html`<p class="entry-line"><${Icon} name="question" /><span class="entry-words"><strong>${Object.hasOwn(APPROVAL, entry.status) ? APPROVAL[entry.status]() : requestWords(entry.status)}</strong>: ${entry.tools.map((name) => quotedTool(name)).join(", ")}${entry.task ? html` · <span dir="auto">${entry.task}</span>` : ""}</span></p>`;
}

function Resumed({ entry }) {
  const words = entry.reason === "drain" ? t("The worker was stopped for a while; the run went on from its last recorded step.") : t("A worker was lost; another one went on from the last recorded step.");
  return html`<p class="entry-line"><${Icon} name="retry" /><span class="entry-words">${words}</span></p>`;
}

function Cut({ entry }) {
  return html`<p class="entry-line"><${Icon} name="retry" /><span class="entry-words">${parts("Done anew from here: {why}", { why: html`<span dir="auto">${entry.reason}</span>` })}</span></p>`;
}
