// Programs and commands that agents ran: one line each that opens to the program and what it printed; the one that runs is open.
// All of it is strangers' text, and is shown as text.
import { html, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { coloured, plain } from "../ansi.js";
import { highlight } from "../code.js";
import { t, tn } from "../i18n.js";
import { shownOf, tailOf, textOf, withoutCharts } from "../output.js";
import { Icon } from "./icons.js";
import { CopyButton } from "./prose.js";
import { StateIcon } from "./state_icon.js";
import { Elapsed } from "./ticking.js";

const CODE_LINES = 15;
const SHOWN_AT_ONCE = 4;
const NAMES = { python: "Python", javascript: "JavaScript", typescript: "TypeScript", bash: "Bash" };

// `folds`: the answer is being written, so that what ran before it steps back.
export function Programs({ programs, isLive, folds }) {
  const [all, setAll] = useState(false);
  if (!programs.length) return null;
  const shown = all ? programs : programs.slice(-SHOWN_AT_ONCE);
  const earlier = programs.length - shown.length;
  const last = programs.at(-1);
  return html`<div class="programs" role="group" aria-label=${t("Programs")}>
    ${earlier > 0 && html`<button type="button" class="quiet-button programs-earlier" onClick=${() => setAll(true)}>${tn("{count} earlier program", "{count} earlier programs", earlier)}</button>`}
    ${shown.map((program) => html`<${ProgramCard} key=${program.key} program=${program} isOpenAtFirst=${isLive && !folds && (program === last || program.status === "running")} />`)}
  </div>`;
}

function ProgramCard({ program, isOpenAtFirst }) {
  const [chosen, setChosen] = useState(null);
  const open = chosen ?? isOpenAtFirst;
  const id = `program-${program.key}`;
  return html`<div role="group" class=${`program ${open ? "is-open" : ""} ${program.isShell ? "is-shell" : ""}`} data-status=${program.status} aria-label=${headOf(program)}>
    <button type="button" class="row-button program-head" aria-expanded=${open ? "true" : "false"} aria-controls=${open ? id : null} onClick=${() => setChosen(!open)}>
      <${StateIcon} status=${STATES[program.status]} />
      <span class="program-words">${headOf(program)}</span>
      ${!open && html`<span class="program-glance" dir="ltr">${glanceOf(program)}</span>`}
      <${Elapsed} of=${{ startedAt: program.at, endedAt: program.endedAt }} isLive=${program.status === "running"} />
      <${Icon} name="chevron" />
    </button>
    ${open && html`<div class="program-body" id=${id}><${ProgramBody} program=${program} /></div>`}
  </div>`;
}

// The program and its output, without a head of its own.
export function ProgramBody({ program }) {
  return html`
    ${program.isShell ? html`<${Command} text=${program.code} />` : html`<${Source} code=${program.code} language=${program.language} />`}
    <${Output} program=${program} />
    ${endWords(program) && html`<p class=${`program-end ${program.status === "failed" ? "is-bad" : ""}`} dir="auto">${endWords(program)}</p>`}`;
}

const STATES = { running: "running", completed: "completed", failed: "failed", cancelled: "cancelled", lost: "running", not_run: "skipped" };

export function headOf({ language: written, isShell, status, exitCode }) {
  const what = isShell ? t("a command") : (NAMES[written] ?? (written || t("a program")));
  if (status === "running") return t("Running {what}", { what });
  if (status === "lost") return t("Running {what} again", { what });
  if (status === "not_run") return t("Wrote {what}; it was not run", { what: isShell ? what : NAMES[written] ? t("a program in {language}", { language: what }) : t("a program") });
  if (status === "cancelled") return t("Stopped {what}", { what });
  return status === "failed" ? t("Ran {what} · exit {code}", { what, code: exitCode }) : t("Ran {what}", { what });
}

// How it ended, where that needs more words than its sign.
function endWords({ status, note, exitCode }) {
  if (note) return note;
  if (status === "failed") return t("It ended with exit code {code}.", { code: exitCode });
  return status === "cancelled" ? t("It was stopped before it ended.") : "";
}

// What a program was about, in a few words beside a folded head: its first comment or the end of its output.
function glanceOf({ isShell, code, parts, status }) {
  if (isShell) return code.split("\n", 1)[0];
  const remark = /^\s*(?:#(?!!)|\/\/)\s*(.+)$/m.exec(code.slice(0, 2_000))?.[1];
  const printed = plain(textOf(tailOf(withoutCharts(parts), 1).parts)).trim();
  return (status === "failed" ? printed || remark : remark || printed) ?? "";
}

function Command({ text }) {
  return html`<figure class="code-block program-code" dir="ltr"><figcaption class="code-head"><span>${t("Terminal")}</span><${CopyButton} text=${text} label=${t("Copy the command")} /></figcaption>
    <pre tabindex="0" aria-label=${t("Command")}><code><span class="program-prompt" aria-hidden="true">$ </span>${text}</code></pre></figure>`;
}

function Source({ code, language: written }) {
  const element = useRef(null);
  const [open, setOpen] = useState(false);
  const lines = useMemo(() => code.replace(/\n$/, "").split("\n"), [code]);
  const isLong = lines.length > CODE_LINES + 3;
  const shown = isLong && !open ? lines.slice(0, CODE_LINES).join("\n") : code;

  useLayoutEffect(() => {
    let current = true;
    element.current.textContent = shown;
    const colour = (found) => current && found && element.current?.replaceChildren(found);
    highlight(shown, written).then(colour, () => undefined); // without colours it is still the code
    return () => {
      current = false;
    };
  }, [shown, written]);

  return html`<figure class="code-block program-code" dir="ltr">
    <figcaption class="code-head"><span>${written || t("code")}</span><${CopyButton} text=${code} label=${t("Copy code")} /></figcaption>
    <pre tabindex="0" aria-label=${t("Program")}><code ref=${element}></code></pre>
    ${isLong && html`<button type="button" class="program-more" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? t("Show the first {count} lines", { count: CODE_LINES }) : tn("Show all {count} line", "Show all {count} lines", lines.length)}</button>`}
  </figure>`;
}

function Output({ program }) {
  const { status } = program;
  const [open, setOpen] = useState(false);
  const parts = useMemo(() => withoutCharts(program.parts), [program.parts]);
  const { parts: shown, left } = useMemo(() => (open ? shownOf(parts) : tailOf(parts)), [parts, open]);
  if (!parts.length) return status === "running" ? html`<p class="program-end">${t("Nothing printed yet.")}</p>` : null;
  return html`<figure class="block program-output" dir="ltr">
    <figcaption><span>${t("Output")}</span><${CopyButton} text=${plain(textOf(parts))} label=${t("Copy output")} /></figcaption>
    ${(left > 0 || open) && html`<button type="button" class="program-more is-above" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? t("Show the last lines") : t("Show what was printed before")}</button>`}
    ${open && left > 0 && html`<p class="muted small">${tn("{count} character before this is not shown. Copy has all that was kept.", "{count} characters before this are not shown. Copy has all that was kept.", left)}</p>`}
    <pre tabindex="0" aria-label=${t("Output")}><code>${shown.map(({ stream, text }) => coloured(text).map((run) => html`<span class=${[stream === "err" && "is-err", run.classes].filter(Boolean).join(" ") || null}>${run.text}</span>`))}</code></pre>
  </figure>`;
}
