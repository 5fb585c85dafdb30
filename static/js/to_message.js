// The message that the page's address names (#m-<id>): read until it is there, brought into view, and marked for a moment.
import { useEffect, useState } from "../vendor/preact.js";
import { transcript } from "./store.js";

const NAMED = /^#m-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
const MARKED_MS = 2_400;
const SETTLING_MS = 400; // what is drawn above and below it may still move it

export function messageIn(hash) {
  return NAMED.exec(hash)?.[1].toLowerCase() ?? null;
}

// `from`: the number of the first row that is drawn; `showFrom(id)` draws from that message on.
export function useNamedMessage({ session, scroller, from, showFrom }) {
  const [named, setNamed] = useState(() => ({ id: messageIn(location.hash) }));

  useEffect(() => {
    const onChange = () => setNamed({ id: messageIn(location.hash) });
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);

  useEffect(() => {
    const { id } = named;
    if (!id) return undefined;
    let stop = () => undefined;
    let current = true;
    reach(session, id).then((isThere) => {
      if (!current || !isThere) return;
      const rows = transcript(session.state.peek());
      const at = rows.findIndex(({ message }) => message.id === id);
      if (at < 0) return;
      if (at < from + 1) showFrom(rows[Math.max(0, at - 1)].message.id);
      requestAnimationFrame(() => requestAnimationFrame(() => current && (stop = show(scroller.current, id))));
    }, () => undefined); // it stays where it is: the conversation is shown as ever
    return () => {
      current = false;
      stop();
    };
  }, [named, session]);
}

// Reads earlier pages until the message is there, and chooses the branch that leads to it. False if it is not of this conversation.
async function reach(session, id) {
  const messages = () => session.state.peek().messages;
  const find = (wanted) => messages().find((message) => message.id === wanted);
  while (!find(id) && session.state.peek().hasEarlier) {
    const first = messages()[0]?.id;
    await session.loadEarlier();
    if (messages()[0]?.id === first) break;
  }
  for (let one = find(id); one; one = find(one.parent_id)) {
    const { id: chosen, parent_id } = one;
    if (messages().some((other) => other.parent_id === parent_id && other.id !== chosen)) session.choose(parent_id, chosen);
  }
  return Boolean(find(id));
}

function show(scroller, id) {
  const element = scroller?.querySelector(`[data-message="${CSS.escape(id)}"]`);
  if (!element) return () => undefined;
  const align = () => element.scrollIntoView({ block: "start", behavior: "instant" });
  const settling = new ResizeObserver(align);
  const letGo = () => settling.disconnect();
  align();
  settling.observe(scroller.firstElementChild);
  for (const sign of ["wheel", "touchstart", "keydown", "pointerdown"]) addEventListener(sign, letGo, { once: true, passive: true });
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  element.classList.add("is-named");
  const timers = [setTimeout(letGo, SETTLING_MS), setTimeout(() => element.classList.remove("is-named"), MARKED_MS)];
  return () => {
    timers.forEach(clearTimeout);
    letGo();
    element.classList.remove("is-named");
  };
}
