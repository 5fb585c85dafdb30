// The box to write in. A text leaves it only when it is safely on its way.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { readDraft, readMode, writeDraft, writeMode } from "../drafts.js";
import { Icon } from "./icons.js";

const WARN_SHARE = 0.9; // of the limit, from which the count is shown

// Code points, as the server counts them; exact only where it matters.
function characters(text, limit) {
  return text.length < limit * WARN_SHARE ? text.length : [...text].length;
}

export function Composer({ application, session, running, blocked, inserted, lastQuestion }) {
  const { user, max_question_chars: limit = 100_000, modes = [] } = application.page;
  const id = session?.conversationId ?? null;
  const box = useRef(null);
  const [text, setText] = useState(() => readDraft(user.id, id));
  const [mode, setMode] = useState(() => knownMode(modes, readMode()));
  const [sending, setSending] = useState(false);
  const [error, setError] = useState(null);
  const count = characters(text, limit);
  const tooLong = count > limit;
  const ready = text.trim() !== "" && !tooLong && !sending && !blocked && !running;

  useLayoutEffect(() => setText(readDraft(user.id, id)), [id]);
  useEffect(() => {
    if (inserted) change(inserted.text);
    if (inserted) box.current.focus();
  }, [inserted]);
  useLayoutEffect(() => grow(box.current), [text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) box.current.focus();
  }, [id]);

  function change(value) {
    setText(value);
    setError(null);
    writeDraft(user.id, id, value);
  }

  async function send() {
    if (!ready) return;
    setSending(true);
    try {
      await application.say(text, mode);
      writeDraft(user.id, id, "");
      setText("");
      setError(null);
    } catch (caught) {
      setError(caught.message);
    } finally {
      setSending(false);
      box.current?.focus();
    }
  }

  function onKeyDown(event) {
    if (event.isComposing || event.keyCode === 229) return; // an input method is choosing a word
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      send();
    } else if (event.key === "ArrowUp" && text === "" && lastQuestion) {
      event.preventDefault();
      change(lastQuestion);
    }
  }

  const why = tooLong ? `${(count - limit).toLocaleString("en")} characters too long: the limit is ${limit.toLocaleString("en")}` : error;
  const hint = running ? "You can write the next question meanwhile" : session ? "Ask a follow-up" : "Ask anything";
  return html`<form class="composer" onSubmit=${(event) => { event.preventDefault(); send(); }}>
    ${why && html`<p class="composer-why" id="composer-why" role="alert">${why}</p>`}
    <div class="composer-box">
      <label class="visually-hidden" for="composer-text">Your question</label>
      <textarea id="composer-text" ref=${box} rows="1" dir="auto" placeholder=${hint} value=${text}
        aria-describedby=${why ? "composer-why" : null} aria-invalid=${tooLong ? "true" : null} enterkeyhint="send" autocomplete="off"
        onInput=${(event) => change(event.currentTarget.value)} onKeyDown=${onKeyDown}></textarea>
      <div class="composer-row">
        ${modes.length > 1 && html`<${ModePicker} modes=${modes} mode=${mode} choose=${(value) => { setMode(value); writeMode(value); }} />`}
        ${count >= limit * WARN_SHARE && html`<span class=${`count ${tooLong ? "is-over" : ""}`}>${count.toLocaleString("en")} / ${limit.toLocaleString("en")}</span>`}
        <span class="composer-gap"></span>
        ${running
          ? html`<button type="button" class="round-button" onClick=${session.stopAll} aria-label="Stop (Esc)" title="Stop (Esc)"><${Icon} name="stop" /></button>`
          : html`<button type="submit" class="round-button" disabled=${!ready} aria-label="Send" title=${ready ? "Send (Enter)" : (why ?? blocked ?? "Write a question first")}><${Icon} name="send" /></button>`}
      </div>
    </div>
  </form>`;
}

function grow(area) {
  area.style.blockSize = "auto";
  area.style.blockSize = `${area.scrollHeight}px`;
}

// The server knows modes by name; these have a better word for people than their name.
const MODE_WORDS = { task: "Auto", rag: "Documents", data: "Data analysis" };

const modeName = (mode) => (typeof mode === "string" ? mode : (mode.name ?? mode.id));
const modeLabel = (mode) => mode.label ?? MODE_WORDS[modeName(mode)] ?? modeName(mode)[0].toUpperCase() + modeName(mode).slice(1);

function knownMode(modes, wanted) {
  const names = modes.map(modeName);
  return names.includes(wanted) ? wanted : (names[0] ?? null);
}

function ModePicker({ modes, mode, choose }) {
  return html`<label class="mode-picker"><span class="visually-hidden">Mode</span>
    <select value=${mode} onChange=${(event) => choose(event.currentTarget.value)}>
      ${modes.map((item) => html`<option value=${modeName(item)} title=${item.description ?? ""}>${modeLabel(item)}</option>`)}
    </select><${Icon} name="chevron" /></label>`;
}
