// What a citation names, beside it, for who points at it or comes to it by keyboard: file, place and the passage's beginning.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { revealed } from "../plain_text.js";
import { nameOf, placeOf } from "../sources.js";

const GAP_PX = 8;
const LINGER_MS = 180; // the way from the number to its card

let cards = 0;

// The card's element, and the listeners for whatever holds the citations.
export function useCitationCard(sources) {
  const [shown, setShown] = useState(null);
  const leaving = useRef(0);
  const id = useRef(null);
  id.current ??= `citation-card-${++cards}`;

  const stay = () => clearTimeout(leaving.current);
  const leave = () => {
    stay();
    leaving.current = setTimeout(() => setShown(null), LINGER_MS);
  };
  const show = (target) => {
    const anchor = target.closest?.(".citation[data-source]");
    if (!anchor) return;
    stay();
    setShown({ anchor, source: sources[Number(anchor.dataset.source) - 1] });
  };

  useEffect(() => stay, []);
  useEffect(() => {
    if (!shown) return undefined;
    shown.anchor.setAttribute("aria-describedby", id.current);
    const onKey = (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation(); // it would stop the answer that is being written
      setShown(null);
    };
    const onScroll = () => setShown(null);
    document.addEventListener("keydown", onKey, { capture: true });
    document.addEventListener("scroll", onScroll, { capture: true, passive: true });
    return () => {
      shown.anchor.removeAttribute("aria-describedby");
      document.removeEventListener("keydown", onKey, { capture: true });
      document.removeEventListener("scroll", onScroll, { capture: true });
    };
  }, [shown]);

  const listeners = {
    onPointerOver: (event) => event.pointerType !== "touch" && show(event.target),
    onPointerOut: (event) => event.target.closest?.(".citation") && leave(),
    onFocusIn: (event) => event.target.matches?.(":focus-visible") && show(event.target),
    onFocusOut: leave,
  };
  const card = shown?.source && html`<${Card} id=${id.current} anchor=${shown.anchor} source=${shown.source} stay=${stay} leave=${leave} />`;
  return [card, listeners];
}

function Card({ id, anchor, source, stay, leave }) {
  const element = useRef(null);
  useLayoutEffect(() => place(element.current, anchor.getBoundingClientRect()), [anchor, source]);
  const where = placeOf(source);
  return html`<div class="citation-card" role="tooltip" id=${id} ref=${element} onPointerEnter=${stay} onPointerLeave=${leave}>
    <p class="citation-name" dir="auto">${nameOf(source)}</p>
    ${where && html`<p class="muted" dir="auto">${where}</p>`}
    ${source.excerpt && html`<p class="citation-excerpt" dir="auto">${revealed(source.excerpt)}</p>`}
  </div>`;
}

// Below the number if there is room, else above it; within the window.
function place(card, at) {
  const { width, height } = card.getBoundingClientRect();
  const left = at.left + at.width / 2 - width / 2;
  const below = at.bottom + GAP_PX;
  const top = below + height > innerHeight - GAP_PX ? at.top - GAP_PX - height : below;
  card.style.left = `${Math.max(GAP_PX, Math.min(left, innerWidth - width - GAP_PX))}px`;
  card.style.top = `${Math.max(GAP_PX, top)}px`;
}
