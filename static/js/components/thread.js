// The messages: scrolls with the text only for a reader who is at its end, and draws long conversations piece by piece.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { transcript } from "../store.js";
import { Answer } from "./answer.js";
import { Icon } from "./icons.js";
import { PendingQuestion, Question } from "./question.js";

const NEAR_END_PX = 60;
const PIECE = 30; // messages drawn at first, and with each step up

export function Thread({ application, session, takeBack }) {
  const state = session.state.value;
  const rows = transcript(state);
  const { outbox } = state;
  const [pieces, setPieces] = useState(1);
  const { scroller, content, top, away, toEnd } = useScrolling(session, outbox.length, () => setPieces((count) => count + 1));
  const shown = rows.slice(-PIECE * pieces);
  const draw = useDrawer(application, session);

  return html`<div class="thread-frame">
    <div class="thread" ref=${scroller} tabindex="-1">
      <div class="thread-content" ref=${content}>
        ${shown.length < rows.length && html`<div class="earlier" ref=${top}><button type="button" class="link-button" onClick=${() => setPieces(pieces + 1)}>Show earlier messages</button></div>`}
        ${shown.map((row) => draw(row, row === rows.at(-1)))}
        ${outbox.map((item) => html`<${PendingQuestion} key=${item.client_id} item=${item} session=${session} takeBack=${takeBack} />`)}
      </div>
    </div>
    ${away && html`<button type="button" class="to-end" onClick=${toEnd}><${Icon} name="down" /><span class="visually-hidden">Jump to the latest</span></button>`}
  </div>`;
}

// Gives the same element for a row in which nothing changed, so that a token redraws one answer and not all of them.
function useDrawer(application, session) {
  const drawn = useRef(new Map());
  return (row, last) => {
    const { message, execution, siblings } = row;
    const before = drawn.current.get(message.id);
    const same = before && before.row.message === message && before.row.execution === execution && before.last === last
      && before.row.siblings.length === siblings.length;
    if (same) return before.element;
    const element = message.role === "user"
      ? html`<${Question} key=${message.id} message=${message} />`
      : html`<${Answer} key=${message.id} row=${row} application=${application} session=${session} last=${last} />`;
    drawn.current.set(message.id, { row, last, element });
    return element;
  };
}

// Sticks to the end while the reader is there. `away`: the reader is not.
function useScrolling(session, pendingCount, showEarlier) {
  const scroller = useRef(null);
  const content = useRef(null);
  const top = useRef(null);
  const stuck = useRef(true);
  const [away, setAway] = useState(false);

  const jump = () => {
    scroller.current.scrollTop = scroller.current.scrollHeight;
  };

  useLayoutEffect(() => {
    const element = scroller.current;
    let height = element.scrollTop;
    const onScroll = () => {
      const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
      // Upwards is the reader's own doing; a growing text never scrolls up.
      if (element.scrollTop < height) stuck.current = distance < 2;
      else if (distance < NEAR_END_PX) stuck.current = true;
      height = element.scrollTop;
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

  // One's own question is always brought into view.
  useLayoutEffect(() => {
    if (!pendingCount) return;
    stuck.current = true;
    jump();
  }, [pendingCount]);

  useEffect(() => {
    if (!top.current) return undefined;
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      const fromEnd = scroller.current.scrollHeight - scroller.current.scrollTop;
      showEarlier();
      requestAnimationFrame(() => {
        scroller.current.scrollTop = scroller.current.scrollHeight - fromEnd;
      });
    }, { root: scroller.current, rootMargin: "200px 0px 0px" });
    observer.observe(top.current);
    return () => observer.disconnect();
  });

  const toEnd = () => {
    stuck.current = true;
    setAway(false);
    jump();
  };
  return { scroller, content, top, away, toEnd };
}
