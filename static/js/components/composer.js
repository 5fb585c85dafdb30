// The box to write in. A text leaves it only when it is safely on its way: as a question, or as words for the run that goes on.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { modesOf, optionsOf } from "../agents.js";
import { announce } from "../announce.js";
import { readChoices, readDraft, readMode, writeChoices, writeDraft, writeMode } from "../drafts.js";
import { AttachButton, Attached, attachPasted, attachmentsOf } from "./attaching.js";
import { Icon } from "./icons.js";
import { ModePicker, ResearchOptions } from "./mode_picker.js";

const WARN_SHARE = 0.9; // of the limit, from which the count is shown

// Code points, as the server counts them; exact only where it matters.
function characters(text, limit) {
  return text.length < limit * WARN_SHARE ? text.length : [...text].length;
}

// `running`: an answer is being worked on; `waiting`: one waits for a person. Both can be stopped, only the first takes words.
export function Composer({ application, session, running, waiting, blocked, inserted, lastQuestion }) {
  const { user, max_question_chars: limit = 100_000, modes: names = [] } = application.page;
  const modes = modesOf(names, application.roster.value);
  const id = session?.conversationId ?? null;
  const box = useRef(null);
  const [text, setText] = useState(() => readDraft(user.id, id));
  const [mode, setMode] = useState(() => knownMode(names, readMode()));
  const [choices, setChoices] = useState(readChoices);
  const [sending, setSending] = useState(false);
  const [error, setError] = useState(null);
  const count = characters(text, limit);
  const tooLong = count > limit;
  const { attaching } = application;
  const files = attaching.items.value;
  const isUploading = attaching.isBusy.value;
  const ready = text.trim() !== "" && !tooLong && !sending && !blocked && !isUploading;

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

  function choose(chosen) {
    setChoices(chosen);
    writeChoices(chosen);
  }

  async function send() {
    if (!ready) return;
    setSending(true);
    try {
      if (running) await session.steer(text.trim());
      else {
        await application.say(text, mode, optionsOf(mode, choices), attachmentsOf(files));
        attaching.clear();
      }
      if (running) announce("Added to the running answer");
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
  const hint = running ? "Add something to the running answer" : waiting ? "Answer above, or ask something else" : session ? "Ask a follow-up" : "Ask anything";
  const stop = running ? "Stop (Esc)" : "Stop the run that waits";
  return html`<form class="composer" onSubmit=${(event) => { event.preventDefault(); send(); }}>
    ${why && html`<p class="composer-why" id="composer-why" role="alert">${why}</p>`}
    <div class=${`composer-box ${application.dropping.value ? "is-dropping" : ""}`} onPaste=${(event) => attachPasted(event, attaching)}>
      ${!running && html`<${Attached} attaching=${attaching} />`}
      <label class="visually-hidden" for="composer-text">Your question</label>
      <textarea id="composer-text" ref=${box} rows="1" dir="auto" placeholder=${hint} value=${text} readonly=${sending && running}
        aria-describedby=${why ? "composer-why" : null} aria-invalid=${tooLong ? "true" : null} enterkeyhint="send" autocomplete="off"
        onInput=${(event) => change(event.currentTarget.value)} onKeyDown=${onKeyDown}></textarea>
      <div class="composer-row">
        ${!running && html`<${AttachButton} attaching=${attaching} />`}
        ${modes.length > 1 && !running && html`<span class="composer-modes">
          <${ModePicker} modes=${modes} mode=${mode} chooseMode=${(value) => { setMode(value); writeMode(value); }} choices=${choices} choose=${choose} />
          ${mode === "research" && html`<${ResearchOptions} choices=${choices} choose=${choose} />`}
        </span>`}
        ${count >= limit * WARN_SHARE && html`<span class=${`count ${tooLong ? "is-over" : ""}`}>${count.toLocaleString("en")} / ${limit.toLocaleString("en")}</span>`}
        <span class="composer-gap"></span>
        ${running && text.trim() !== "" && html`<button type="submit" class="quiet-button add-button" disabled=${!ready}><${Icon} name="addTo" />${sending ? "Adding…" : "Add to the running answer"}</button>`}
        ${(running || waiting) && html`<button type="button" class=${`round-button ${running ? "" : "is-quiet"}`} onClick=${session.stopAll} aria-label=${stop} title=${stop}><${Icon} name="stop" /></button>`}
        ${!running && html`<button type="submit" class="round-button" disabled=${!ready} aria-label="Send" title=${ready ? "Send (Enter)" : isUploading ? "Files are on their way" : (why ?? blocked ?? "Write a question first")}><${Icon} name="send" /></button>`}
      </div>
    </div>
  </form>`;
}

function grow(area) {
  area.style.blockSize = "auto";
  area.style.blockSize = `${area.scrollHeight}px`;
}

function knownMode(names, wanted) {
  return names.includes(wanted) ? wanted : (names[0] ?? null);
}
