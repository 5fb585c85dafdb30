// The box to write in. A text leaves it only when it is safely on its way: as a question, or as words for the run that goes on.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { knownMode, modesOf, optionsOf } from "../agents.js";
import { announce } from "../announce.js";
import { onDraft, readChoices, readDraft, writeChoices, writeDraft, writeMode } from "../drafts.js";
import { t } from "../i18n.js";
import { actionOf, keysOf } from "../keys.js";
import { AttachButton, Attached, attachPasted, attachmentsOf, leftOutWords } from "./attaching.js";
import { Icon } from "./icons.js";
import { ModePicker, ResearchOptions } from "./mode_picker.js";

const WARN_SHARE = 0.9; // of the limit, from which the count is shown

// Code points, as the server counts them; exact only where it matters.
function characters(text, limit) {
  return text.length < limit * WARN_SHARE ? text.length : [...text].length;
}

// `running`: an answer is being worked on; `waiting`: one waits for a person. Both can be stopped, only the first takes words.
export function Composer({ application, session, running, waiting, blocked, inserted, lastQuestion }) {
  const { user, max_question_chars: limit = 100_000, modes: names = [], modes_lacking: lacking } = application.page;
  const modes = modesOf(names, application.roster.value, lacking);
  const id = session?.conversationId ?? null;
  const box = useRef(null);
  const [text, setText] = useState(() => readDraft(user.id, id));
  const mode = knownMode(names, application.mode.value);
  const [choices, setChoices] = useState(readChoices);
  const [sending, setSending] = useState(false);
  const [error, setError] = useState(null);
  const put = useRef(""); // what was put here last, and not written
  const count = characters(text, limit);
  const tooLong = count > limit;
  const { attaching } = application;
  const files = attaching.items.value;
  const isUploading = attaching.isBusy.value;
  const isQueued = running && files.length > 0; // words for a run that goes on carry no files
  const isMissing = files.some(({ state }) => state === "failed"); // it would be asked without a file that is meant
  const ready = text.trim() !== "" && !tooLong && !sending && !blocked && !isUploading && !isMissing;

  useLayoutEffect(() => {
    setText(readDraft(user.id, id));
    setSending(false);
    setError(null);
  }, [id]);
  useEffect(() => onDraft(user.id, id, (value) => !(document.hasFocus() && document.activeElement === box.current) && setText(value)), [id]); // another tab's
  useEffect(() => {
    if (!inserted) return;
    application.inserted.value = null;
    const isOwn = text.trim() !== "" && text !== put.current;
    put.current = inserted.text;
    change(isOwn ? `${text.trimEnd()}\n\n${inserted.text}` : inserted.text);
    box.current.focus();
  }, [inserted]);
  useLayoutEffect(() => grow(box.current), [text]);
  // At once: later it would take the focus from a menu that somebody has opened by then.
  useLayoutEffect(() => {
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

  // As a question; while an answer is written as words for it, or as the next question after it (`later`).
  async function send(later = isQueued) {
    if (!ready) return;
    setSending(true);
    const steers = running && !later;
    let where = id;
    const isHere = () => application.conversationId.peek() === where; // else somebody went on, and is left alone there
    try {
      if (steers) await session.steer(text.trim());
      else {
        where = await application.say(text, mode, optionsOf(mode, choices), attachmentsOf(files), { held: running && later });
        attaching.clear();
      }
      if (steers) announce(t("Added to the running answer"));
      else if (running) announce(t("It is sent when the answer is finished"));
      writeDraft(user.id, id, "");
      if (!isHere()) return;
      setText("");
      setError(null);
    } catch (caught) {
      if (isHere()) setError(caught.message);
    } finally {
      if (isHere()) {
        setSending(false);
        box.current?.focus();
      }
    }
  }

  function onKeyDown(event) {
    const action = actionOf(event, ["box"]); // none while an input method is choosing a word
    if (action === "send" || action === "queue") {
      event.preventDefault();
      send(action === "queue" || isQueued);
    } else if (action === "recall" && text === "" && lastQuestion) {
      event.preventDefault();
      change(lastQuestion);
    }
  }

  const why = tooLong ? t("{count} characters too long: the limit is {limit}", { count: number(count - limit), limit: number(limit) }) : error;
  const told = why ?? leftOutWords(attaching) ?? (isMissing && text.trim() ? missingWords() : null);
  const hint = running ? t("Add something to the running answer") : waiting ? t("Answer above, or ask something else") : session ? t("Ask a follow-up") : t("Ask anything");
  const stop = running ? t("Stop (Esc)") : t("Stop the run that waits");
  const sendHint = ready ? t("Send (Enter)") : isUploading ? t("Files are on their way") : isMissing ? missingWords() : (why ?? blocked ?? t("Write a question first"));
  return html`<form class="composer" onSubmit=${(event) => { event.preventDefault(); send(); }}>
    ${told && html`<p class="composer-why" id="composer-why" role="alert">${told}</p>`}
    <div class=${`composer-box ${application.dropping.value ? "is-dropping" : ""}`} onPaste=${(event) => attachPasted(event, attaching)}>
      <${Attached} attaching=${attaching} />
      <label class="visually-hidden" for="composer-text">${t("Your question")}</label>
      <textarea id="composer-text" ref=${box} rows="1" dir="auto" placeholder=${hint} value=${text} readonly=${sending}
        aria-describedby=${told ? "composer-why" : null} aria-invalid=${tooLong ? "true" : null} enterkeyhint="send" autocomplete="off"
        onInput=${(event) => change(event.currentTarget.value)} onKeyDown=${onKeyDown}></textarea>
      <div class="composer-row">
        <${AttachButton} attaching=${attaching} />
        ${modes.length > 1 && !running && html`<span class="composer-modes">
          <${ModePicker} modes=${modes} mode=${mode} chooseMode=${(value) => { application.mode.value = value; writeMode(value); }} choices=${choices} choose=${choose} />
          ${mode === "research" && html`<${ResearchOptions} choices=${choices} choose=${choose} />`}
        </span>`}
        ${count >= limit * WARN_SHARE && html`<span class=${`count ${tooLong ? "is-over" : ""}`}>${number(count)} / ${number(limit)}</span>`}
        <span class="composer-gap"></span>
        ${running && text.trim() !== "" && html`
          <button type="button" class="quiet-button add-button" disabled=${!ready} title=${`${t("Send when the answer is finished")} (${keysOf("queue")})`} onClick=${() => send(true)}><${Icon} name="later" /><span class="wide-words">${t("Send when finished")}</span></button>
          ${!isQueued && html`<button type="submit" class="quiet-button add-button" disabled=${!ready} title=${t("Add to the running answer (Enter)")}><${Icon} name="addTo" /><span class="wide-words">${sending ? t("Adding…") : t("Add to the running answer")}</span></button>`}`}
        ${(running || waiting) && html`<button type="button" class=${`round-button ${running ? "" : "is-quiet"}`} onClick=${session.stopAll} aria-label=${stop} title=${stop}><${Icon} name="stop" /></button>`}
        ${!running && html`<button type="submit" class="round-button" disabled=${!ready} aria-label=${t("Send")} title=${sendHint}><${Icon} name="send" /></button>`}
      </div>
    </div>
  </form>`;
}

const missingWords = () => t("A file has not arrived: try it again, or take it off.");

function grow(area) {
  area.style.blockSize = "auto";
  area.style.blockSize = `${area.scrollHeight}px`;
}

const number = (value) => value.toLocaleString(document.documentElement.lang || undefined);
