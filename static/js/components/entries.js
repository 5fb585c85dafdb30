// What an agent did, in order: stages with the calls that belong to them, handoffs, code, warnings. All of it is text.
import { html, useState } from "../../vendor/preact.js";
import { ALREADY_DONE, requestWords } from "../activity.js";
import { agentLabel } from "../agents.js";
import { clipped, inline, pretty, shownResult } from "../json.js";
import { Icon } from "./icons.js";
import { StateIcon } from "./state_icon.js";
import { Elapsed } from "./ticking.js";

// `ending`: how the agent ended, null while it works.
export function Entries({ entries, ending }) {
  const own = entries.map((entry, index) => ({ entry, index }));
  const draw = ({ entry, index }) => html`<${Entry} key=${index} entry=${entry} ending=${ending} />`;
  const within = (stage) => own.filter(({ entry }) => entry.kind === "tool" && entry.stage === stage);
  return html`<ol class="entries">
    ${own.filter(({ entry }) => entry.kind !== "tool" || entry.stage === null).map((item) => html`<li key=${item.index} class=${`entry-${item.entry.kind}`}>
      ${draw(item)}
      ${item.entry.kind === "stage" && within(item.index).length > 0 && html`<ol class="entries">${within(item.index).map((call) => html`<li key=${call.index} class="entry-tool">${draw(call)}</li>`)}</ol>`}
    </li>`)}
  </ol>`;
}

function Entry({ entry, ending }) {
  const Shown = SHOWN[entry.kind];
  return html`<${Shown} entry=${entry} ending=${ending} />`;
}

const SHOWN = { stage: Stage, tool: Tool, handoff: Handoff, code: Code, guardrail: Guardrail, skill: Skill, approval: Approval, resumed: Resumed, cut: Cut };

// What was under way when the agent ended goes on no longer. A stage that nobody closed ended with a good end.
function statusOf({ kind, status }, ending) {
  if (status !== "running" || ending === null) return status;
  return kind === "stage" && ending === "completed" ? "completed" : "cancelled";
}

const timesOf = ({ at, endedAt }) => ({ startedAt: at, endedAt: endedAt ?? null });

function Stage({ entry, ending }) {
  return html`<p class="entry-line"><${StateIcon} status=${statusOf(entry, ending)} /><span class="entry-words" dir="auto">${entry.text}</span><${Elapsed} of=${timesOf(entry)} isLive=${ending === null} /></p>`;
}

function Tool({ entry, ending }) {
  const [open, setOpen] = useState(false);
  const { tool, args, result, clipped: isClipped, alreadyDone } = entry;
  const status = statusOf(entry, ending);
  return html`<div class="tool-call" data-tool=${tool} data-status=${status}>
    <button type="button" class="row-button" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>
      <${StateIcon} status=${status} /><code class="tool-name">${tool}</code>${alreadyDone && html`<span class="badge" title=${ALREADY_DONE.title}>${ALREADY_DONE.label}</span>`}<span class="tool-args">${inline(args)}</span>
      <${Elapsed} of=${timesOf(entry)} isLive=${ending === null} /><${Icon} name="chevron" />
    </button>
    ${status === "failed" && !open && html`<p class="row-error" dir="auto">${clipped(result ?? "", 200)}</p>`}
    ${open && html`<div class="tool-detail">
      ${args && html`<${Block} label="Arguments" text=${pretty(args)} />`}
      ${result !== null
        ? html`<${Block} label=${status === "failed" ? "Error" : "Result"} text=${shownResult(result, isClipped)} isError=${status === "failed"} />
          ${isClipped && html`<p class="muted small">Only the beginning is shown.</p>`}`
        : html`<p class="muted small">${ending === null ? "No result yet." : "The run ended before there was a result."}</p>`}
    </div>`}
  </div>`;
}

function Block({ label, text, isError = false }) {
  return html`<figure class=${`block ${isError ? "is-error" : ""}`}><figcaption>${label}</figcaption><pre tabindex="0" aria-label=${label} dir="ltr"><code>${text}</code></pre></figure>`;
}

function Handoff({ entry }) {
  return html`<p class="entry-line"><${Icon} name="handoff" /><span class="entry-words"><strong>${agentLabel(entry.source)} → ${agentLabel(entry.target)}</strong>: <span dir="auto">${entry.task}</span></span></p>`;
}

function Code({ entry }) {
  const failed = entry.exitCode !== null && entry.exitCode !== 0;
  return html`<details class="entry-fold">
    <summary><${StateIcon} status=${failed ? "failed" : "completed"} /><span class="entry-words">Ran code${entry.exitCode === null ? "" : ` · exit ${entry.exitCode}`}</span><${Icon} name="chevron" /></summary>
    <${Block} label="Code" text=${clipped(entry.code)} />
    ${entry.stdout && html`<${Block} label="Output" text=${clipped(entry.stdout)} />`}
    ${entry.stderr && html`<${Block} label="Errors" text=${clipped(entry.stderr)} isError=${failed} />`}
  </details>`;
}

const GUARDED = { block: "Blocked", warn: "Warning", log: "Noted", redact: "Redacted" };

function Guardrail({ entry }) {
  return html`<p class="entry-line is-warning"><${Icon} name="shield" /><span class="entry-words"><strong>${GUARDED[entry.action] ?? entry.action}</strong> (${entry.scanner}): <span dir="auto">${entry.reason}</span></span></p>`;
}

function Skill({ entry }) {
  return html`<details class="entry-fold">
    <summary><${Icon} name="spark" /><span class="entry-words">Skill ${entry.skill}</span><${Icon} name="chevron" /></summary>
    <${Block} label="Output" text=${pretty(entry.output)} />
  </details>`;
}

const APPROVAL = { pending: "Waiting for approval", denied: "Denied", timed_out: "Nobody decided in time", expired: "The run ended before anybody decided" };

function Approval({ entry }) {
  return html`<p class="entry-line"><${Icon} name="question" /><span class="entry-words"><strong>${APPROVAL[entry.status] ?? requestWords(entry.status)}</strong>: ${entry.tools.join(", ")}${entry.task ? html` · <span dir="auto">${entry.task}</span>` : ""}</span></p>`;
}

function Resumed({ entry }) {
  const words = entry.reason === "drain" ? "The worker was stopped for a while; the run went on from its last recorded step." : "A worker was lost; another one went on from the last recorded step.";
  return html`<p class="entry-line"><${Icon} name="retry" /><span class="entry-words">${words}</span></p>`;
}

function Cut({ entry }) {
  return html`<p class="entry-line"><${Icon} name="retry" /><span class="entry-words">Done anew from here: <span dir="auto">${entry.reason}</span></span></p>`;
}
