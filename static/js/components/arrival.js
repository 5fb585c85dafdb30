// A card that asks a person something: told to screen readers when it appears, given the focus unless somebody writes, and the
// focus handed on to the next one when it closes.
import { useEffect, useRef } from "../../vendor/preact.js";
import { announce } from "../announce.js";

export const CARD = "data-open-request"; // on every card that waits for an answer

function isTyping() {
  const active = document.activeElement;
  return /^(INPUT|TEXTAREA|SELECT)$/.test(active?.tagName ?? "") && active.value !== "";
}

const isCovered = () => Boolean(document.querySelector("dialog[open], :popover-open"));
const isInCard = () => Boolean(document.activeElement?.closest(`[${CARD}]`));

// `first`: a selector of what in the card takes the focus, else the card itself.
export function useArrival(card, isOpen, words, { first = null, quiet = false } = {}) {
  const hadFocus = useRef(false);
  useEffect(() => {
    if (!isOpen) {
      if (hadFocus.current) focusNext();
      return undefined;
    }
    const element = card.current;
    if (!quiet) announce(words);
    if (!quiet && !isTyping() && !isCovered() && !isInCard()) ((first && element.querySelector(first)) ?? element).focus({ preventScroll: true });
    if (!quiet && element.offsetHeight > innerHeight / 2) element.scrollIntoView({ block: "start" }); // its beginning is not to be missed
    const note = () => (hadFocus.current = element.contains(document.activeElement) || document.activeElement === document.body);
    document.addEventListener("focusin", note);
    note();
    return () => document.removeEventListener("focusin", note);
  }, [isOpen]);
}

// What the page's address leads to (`#request-<id>`) is brought into view, once, when it is drawn.
export function useTarget(element, id) {
  useEffect(() => {
    if (location.hash !== `#request-${id}`) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    element.current.focus({ preventScroll: true });
    element.current.scrollIntoView({ block: "center" });
  }, []);
}

// What was meant for the box to write in, and came to a card that had just taken the focus. False where there is no box.
export function goOnWriting(text) {
  const box = document.getElementById("composer-text");
  if (!box) return false;
  box.focus({ preventScroll: true });
  box.setRangeText(text, box.selectionStart, box.selectionEnd, "end");
  box.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
}

// A button that was pressed cannot be pressed while its answer is on its way, and loses the focus: a refused one leaves it to the card.
export function keepFocus(card) {
  requestAnimationFrame(() => document.activeElement === document.body && card.current?.focus({ preventScroll: true }));
}

// The next card that waits, else the box to write in.
export function focusNext() {
  const next = document.querySelector(`[${CARD}]`) ?? document.getElementById("composer-text");
  next?.focus({ preventScroll: true });
  next?.closest(`[${CARD}]`)?.scrollIntoView({ block: "nearest" });
}
