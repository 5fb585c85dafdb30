// What a person can do to an agent that works: stop it, change its instructions, tell it something. Each is confirmed in place.
import { html, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { agentLabel } from "../agents.js";
import { t } from "../i18n.js";
import { Icon } from "./icons.js";

// The words by which the server knows the other two: as a comment they would not be one.
const VERBS = new Set(["delete", "modify", "unchanged"]);

const forms = () => ({
  stop: { label: t("Stop"), icon: "stop", send: t("Stop it"), doing: t("Stopping…"), done: t("It will stop before its next step.") },
  modify: { label: t("Change instructions"), icon: "pencil", send: t("Change"), doing: t("Changing…"), done: t("Sent: it goes on with these instructions."), field: t("New instructions") },
  comment: { label: t("Comment"), icon: "comment", send: t("Send"), doing: t("Sending…"), done: t("Sent: it reads this before its next step."), field: t("Comment for this agent") },
});

const changeOf = (kind, text) =>
  kind === "stop" ? { user_comment: "delete" } : kind === "modify" ? { user_comment: "modify", user_content: text } : { user_comment: text };

export function Intervene({ agent, intervene }) {
  const [kind, setKind] = useState(null);
  const [told, setTold] = useState(null); // what was done last
  const name = agentLabel(agent.name);
  const openers = useRef({});

  function close(done) {
    const opener = openers.current[kind];
    setKind(null);
    setTold(done);
    requestAnimationFrame(() => opener?.focus());
  }

  function onKeyDown(event) {
    if (event.key !== "Escape" || !kind || event.isComposing) return;
    event.stopPropagation(); // it would stop the whole answer
    close(null);
  }

  return html`<div class="intervene" onKeyDown=${onKeyDown}>
    <div class="intervene-row" role="group" aria-label=${t("Intervene with {agent}", { agent: name })}>
      ${Object.entries(forms()).map(([key, form]) => html`<button type="button" key=${key} class="quiet-button" ref=${(element) => (openers.current[key] = element)}
        aria-expanded=${kind === key ? "true" : "false"} onClick=${() => setKind(kind === key ? null : key)}><${Icon} name=${form.icon} />${form.label}</button>`)}
    </div>
    ${told && !kind && html`<p class="row-told" role="status"><${Icon} name="check" />${told}</p>`}
    ${kind && html`<${Form} key=${kind} kind=${kind} agent=${agent} name=${name} intervene=${intervene} close=${close} />`}
  </div>`;
}

function Form({ kind, agent, name, intervene, close }) {
  const form = forms()[kind];
  const [text, setText] = useState(kind === "modify" ? agent.task : "");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState(null);
  const first = useRef(null);
  const whole = useRef(null);
  const id = `intervene-${agent.id}`;
  useLayoutEffect(() => {
    first.current.focus({ preventScroll: true });
    whole.current.scrollIntoView({ block: "nearest" });
  }, []);

  const verb = kind === "comment" && VERBS.has(text.trim().toLowerCase());
  const ready = !sending && (!form.field || (text.trim() !== "" && !verb));

  async function send(event) {
    event?.preventDefault();
    if (!ready) return;
    setSending(true);
    setError(null);
    try {
      await intervene(agent.id, changeOf(kind, text.trim()));
      close(form.done);
    } catch (caught) {
      setError(caught.message);
      setSending(false);
    }
  }

  function onKeyDown(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.tagName === "TEXTAREA") send(event);
  }

  const why = error ?? (verb ? t("“{word}” alone would be read as a command. Write a sentence.", { word: text.trim() }) : null);
  return html`<form class="intervene-form" ref=${whole} onSubmit=${send} onKeyDown=${onKeyDown}>
    ${form.field
      ? html`<label class="visually-hidden" for=${id}>${form.field}</label>
        <textarea id=${id} ref=${first} rows="3" dir="auto" placeholder=${form.field} value=${text} readonly=${sending} onInput=${(event) => setText(event.currentTarget.value)}></textarea>`
      : html`<p>${t("Stop {agent} and all agents below it? What it found so far is not used; the other agents go on.", { agent: name })}</p>`}
    ${why && html`<p class="form-error" role="alert">${why}</p>`}
    <div class="button-row">
      <button type="submit" class=${`button small-button ${kind === "stop" ? "button-danger" : "button-primary"}`} ref=${form.field ? null : first} disabled=${!ready}>${sending ? form.doing : form.send}</button>
      <button type="button" class="button small-button" disabled=${sending} onClick=${() => close(null)}>${t("Back")}</button>
    </div>
  </form>`;
}
