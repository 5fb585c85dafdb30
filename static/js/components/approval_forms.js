// The longer answers to an approval: no with a reason, yes with instructions, yes to changed arguments.
import { html, useLayoutEffect, useRef } from "../../vendor/preact.js";
import { mayRemember } from "../approvals.js";
import { t } from "../i18n.js";
import { EditArguments } from "./edit_arguments.js";
import { Remember } from "./remember.js";
import { useWords } from "./words.js";

const textsOf = {
  deny: () => ({
    label: t("Why not?"), placeholder: t("What is wrong with it, or what shall be done instead"), help: t("Optional. The agent reads this."),
    send: t("Deny"), remembering: t("Deny and remember"), decision: "denied", kind: "button-danger",
  }),
  instruct: () => ({
    label: t("Instructions"), placeholder: t("For example: shorter, and in German"), decision: "approved", kind: "button-primary",
    help: t("The agent reads this before it acts. If that changes what it would do, you are asked again."), send: t("Approve with these instructions"),
  }),
};

export function ApprovalForms({ mode, request, call, draft, setDraft, words, sending, refused, decide, back }) {
  const whole = useRef(null);
  useLayoutEffect(() => {
    whole.current.querySelector(".is-first")?.focus({ preventScroll: true });
    whole.current.scrollIntoView({ block: "nearest" });
  }, [mode]);
  return html`<div class="approval-form" ref=${whole}>
    ${mode === "edit"
      ? html`<${EditArguments} request=${request} call=${call} refused=${refused} sending=${sending} send=${(changed) => decide("approved", { edited_arguments: changed })} back=${back} />`
      : html`<${Saying} key=${mode} texts=${textsOf[mode]()} request=${request} mode=${mode} words=${words} sending=${sending} decide=${decide} back=${back} isNeeded=${mode === "instruct"}>
          ${mode === "deny" && mayRemember(request, "denied") && html`<${Remember} request=${request} call=${call} decision="denied" draft=${draft} change=${setDraft} words=${words} sending=${sending} />`}
        </${Saying}>`}
  </div>`;
}

function Saying({ texts, request, mode, words, sending, decide, back, isNeeded, children }) {
  const [text, setText] = useWords(request.request_id, mode);
  const id = `${mode}-${request.request_id}`;
  const ready = !sending && words.ready && (!isNeeded || text.trim() !== "");

  function send(event) {
    event.preventDefault();
    if (ready) decide(texts.decision, text.trim() ? { instructions: text.trim() } : {});
  }

  function onKeyDown(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) send(event);
  }

  return html`<form onSubmit=${send}>
    <div class="field"><label for=${id}>${texts.label}</label>
      <textarea id=${id} class="is-first" rows="2" maxlength="4000" dir="auto" placeholder=${texts.placeholder} aria-describedby=${`${id}-help`} value=${text} readonly=${sending} onInput=${(event) => setText(event.currentTarget.value)} onKeyDown=${onKeyDown}></textarea>
      <p class="help small" id=${`${id}-help`}>${texts.help}</p></div>
    ${children}
    <div class="button-row">
      <button type="submit" class=${`button small-button ${texts.kind}`} disabled=${!ready}>${sending ? t("Sending…") : words.remember && texts.remembering ? texts.remembering : texts.send}</button>
      <button type="button" class="button small-button" disabled=${sending} onClick=${back}>${t("Back")}</button>
    </div>
  </form>`;
}
