// The messages: scrolls with the text only for a reader who is at its end, draws long conversations piece by piece and asks for
// their earlier pages as one comes near.
import { html, signal, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { placeIn } from "../place.js";
import { transcript } from "../store.js";
import { useNamedMessage } from "../to_message.js";
import { Icon } from "./icons.js";

const NEAR_END_PX = 60;
const NEAR_TOP = "1200px 0px 0px"; // so far above the view what is earlier is drawn
const FIRST = 6; // messages drawn at first
const PIECE = 2; // and with each step up: more would hold up a frame
const AHEAD = 20; // messages before those that are drawn: with fewer the page before them is read

// What draws a message is most of the page's code, and an empty page does not need it: it comes with the first conversation.
const parts = signal(null); // {Answer, Question, PendingQuestion}
const partsFailed = signal(false);

export async function readParts() {
  partsFailed.value = false;
  try {
    const [{ Answer }, { Question, PendingQuestion }] = await Promise.all([import("./answer.js"), import("./question.js")]);
    parts.value ??= { Answer, Question, PendingQuestion };
  } catch {
    partsFailed.value = true;
  }
}

// Whoever begins to do something will soon see messages.
for (const sign of ["keydown", "pointerdown"]) addEventListener(sign, readParts, { once: true, passive: true });

export function Thread(given) {
  useEffect(() => {
    if (!parts.value) readParts();
  }, []);
  if (parts.value) return html`<${Messages} ...${given} ...${parts.value} />`;
  return html`<div class="thread-frame" aria-busy="true">
    ${partsFailed.value && html`<p class="row-error" role="alert">${t("The messages cannot be shown: a part of the page could not be read.")} <button type="button" class="link-button" onClick=${readParts}>${t("Try again")}</button></p>`}
  </div>`;
}

function Messages({ application, session, takeBack, Answer, Question, PendingQuestion }) {
  const state = session.state.value;
  const rows = transcript(state);
  const { outbox } = state;
  const [first, setFirst] = useState(null); // the id of the first message that is drawn; null: FIRST from the end
  const at = first === null ? -1 : rows.findIndex(({ message }) => message.id === first);
  const from = at < 0 ? Math.max(0, rows.length - FIRST) : at;
  const shown = rows.slice(from);
  const earlier = useEarlier({ session, rows, from, setFirst });
  const hasEarlier = from > 0 || state.hasEarlier;
  const { scroller, content, top, away, toEnd } = useScrolling(session, outbox.length, { first: shown[0]?.message.id, hasEarlier, showEarlier: earlier.show });
  const draw = useDrawer(application, session, { Answer, Question });
  useNamedMessage({ session, scroller, from, showFrom: setFirst });
  useEffect(() => {
    if (away && first === null) setFirst(shown[0]?.message.id ?? null); // what is read is not dropped for what comes at the end
  }, [away]);
  usePrinting(() => setFirst(rows[0]?.message.id ?? null));

  return html`<div class="thread-frame">
    <div class="thread" ref=${scroller} tabindex="-1">
      <div class="thread-content" ref=${content}>
        ${hasEarlier && html`<div class="earlier" ref=${top}>
          ${earlier.failed && html`<p class="row-error" role="alert">${earlier.failed}</p>`}
          <button type="button" class="link-button" onClick=${earlier.show}>${earlier.failed ? t("Try again") : t("Show earlier messages")}</button>
        </div>`}
        ${shown.map((row) => draw(row, row === rows.at(-1)))}
        ${outbox.map((item) => html`<${PendingQuestion} key=${item.client_id} item=${item} session=${session} takeBack=${takeBack} />`)}
      </div>
    </div>
    ${away && html`<button type="button" class="to-end" onClick=${toEnd}><${Icon} name="down" /><span class="visually-hidden">${t("Jump to the latest")}</span></button>`}
  </div>`;
}

// Paper does not scroll: all that is here is on it.
function usePrinting(drawAll) {
  const latest = useRef(drawAll);
  latest.current = drawAll;
  useEffect(() => {
    const onPrint = () => latest.current();
    addEventListener("beforeprint", onPrint);
    return () => removeEventListener("beforeprint", onPrint);
  }, []);
}

// What is here is drawn at once; what is not is asked for, and drawn when it came.
function useEarlier({ session, rows, from, setFirst }) {
  const [failed, setFailed] = useState(null);

  async function show() {
    setFailed(null);
    if (from > 0) setFirst(rows[Math.max(0, from - PIECE)].message.id);
    if (from > AHEAD) return;
    try {
      await session.loadEarlier();
    } catch (error) {
      setFailed(error.message);
    }
  }

  // Those of a page that came while its first message was the first that was drawn.
  const waited = useRef(null);
  useEffect(() => {
    if (from > 0 && waited.current === rows[from].message.id) setFirst(rows[Math.max(0, from - PIECE)].message.id);
    waited.current = from === 0 ? (rows[0]?.message.id ?? null) : null;
  });
  return { show, failed };
}

// Gives the same element for a row in which nothing changed, so that a token redraws one answer and not all of them.
function useDrawer(application, session, { Answer, Question }) {
  const drawn = useRef(new Map());
  return (row, last) => {
    const { message, execution, siblings } = row;
    const before = drawn.current.get(message.id);
    const same = before && before.row.message === message && before.row.execution === execution && before.last === last
      && before.row.siblings.length === siblings.length;
    if (same) return before.element;
    const element = message.role === "user"
      ? html`<${Question} key=${message.id} row=${row} session=${session} application=${application} />`
      : html`<${Answer} key=${message.id} row=${row} application=${application} session=${session} last=${last} />`;
    drawn.current.set(message.id, { row, last, element });
    return element;
  };
}

// Sticks to the end while the reader is there, and to what is read when something is drawn above it. `away`: the reader is not
// at the end. `first`: the first message that is drawn.
function useScrolling(session, pendingCount, { first, hasEarlier, showEarlier }) {
  const scroller = useRef(null);
  const content = useRef(null);
  const top = useRef(null);
  const stuck = useRef(true);
  const place = useRef(null);
  const height = useRef(0); // where it stood when it was last looked at, or brought
  const [away, setAway] = useState(false);

  const jump = () => {
    scroller.current.scrollTop = scroller.current.scrollHeight;
    height.current = scroller.current.scrollTop;
  };

  useLayoutEffect(() => {
    if (!stuck.current && place.current) height.current += place.current.hold();
  }, [first]);

  useLayoutEffect(() => {
    const element = scroller.current;
    height.current = element.scrollTop;
    place.current = placeIn(element);
    const hold = () => (stuck.current ? place.current.release() : (height.current += place.current.hold()));
    const onScroll = () => {
      const wasStuck = stuck.current;
      hold();
      const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
      // Upwards is the reader's own doing; a growing text never scrolls up. Nor is standing near the end to come there.
      if (element.scrollTop < height.current) stuck.current = distance < 2;
      else if (element.scrollTop > height.current && distance < NEAR_END_PX) stuck.current = true;
      height.current = element.scrollTop;
      if (stuck.current !== wasStuck) hold();
      setAway(!stuck.current && distance > NEAR_END_PX);
    };
    const observer = new ResizeObserver(() => (stuck.current ? jump() : onScroll()));
    observer.observe(content.current);
    observer.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    // What somebody opens grows below their eyes, not away from them.
    const onOpen = ({ target }) => {
      if (target.closest("[aria-expanded], summary")) stuck.current = false;
    };
    element.addEventListener("click", onOpen, { capture: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("click", onOpen, { capture: true });
      element.removeEventListener("scroll", onScroll);
    };
  }, [session]);

  // One's own question is always brought into view, once.
  const pendingBefore = useRef(0);
  useLayoutEffect(() => {
    const isMore = pendingCount > pendingBefore.current;
    pendingBefore.current = pendingCount;
    if (!isMore) return;
    stuck.current = true;
    jump();
  }, [pendingCount]);

  // A slow machine tells several moments at once: only the last of them is now.
  useEffect(() => {
    if (!top.current) return undefined;
    const observer = new IntersectionObserver((entries) => entries.at(-1).isIntersecting && showEarlier(), { root: scroller.current, rootMargin: NEAR_TOP });
    observer.observe(top.current);
    return () => observer.disconnect();
  }, [first, hasEarlier]);

  const toEnd = () => {
    stuck.current = true;
    setAway(false);
    jump();
  };
  return { scroller, content, top, away, toEnd };
}
