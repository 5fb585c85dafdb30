// The message that the page's address names (#m-<id>): read until it is there, brought into view, and marked for a moment. Of a
// request (#request-<id>) it is the answer whose run asked; the request's own card then comes into view (components/arrival.js).
import { useEffect, useState } from "../vendor/preact.js";
import { transcript } from "./store.js";

const NAMED = /^#m-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
const REQUEST = /^#request-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
const AT_ONCE = 1_000; // messages, while the one that is named is looked for
const MARKED_MS = 2_400;
const SETTLING_MS = 400; // what is drawn above and below it may still move it

export function messageIn(hash) {
  return NAMED.exec(hash)?.[1].toLowerCase() ?? null;
}

// `from`: the number of the first row that is drawn; `showFrom(id)` draws from that message on.
export function useNamedMessage({ session, scroller, from, showFrom }) {
  const [named, setNamed] = useState(namedNow);

  useEffect(() => {
    const onChange = () => setNamed(namedNow());
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);

  useEffect(() => {
    const { request } = named;
    if (!named.id && !request) return undefined;
    let stop = () => undefined;
    let current = true;
    (request ? answerOf(session, request) : reach(session, named.id)).then((id) => {
      if (!current || !id) return;
      const rows = transcript(session.state.peek());
      const at = rows.findIndex(({ message }) => message.id === id);
      if (at < 0) return;
      if (at < from + 1) showFrom(rows[Math.max(0, at - 1)].message.id);
      if (!request) requestAnimationFrame(() => requestAnimationFrame(() => current && (stop = show(scroller.current, id))));
    }, () => undefined); // it stays where it is: the conversation is shown as ever
    return () => {
      current = false;
      stop();
    };
  }, [named, session]);
}

const namedNow = () => ({ id: messageIn(location.hash), request: REQUEST.exec(location.hash)?.[1].toLowerCase() ?? null });

// The answer whose run asked for this, as `reach`.
async function answerOf(session, request) {
  await session.requests.load(request);
  const { execution_id: asking } = session.requests.known.peek().get(request);
  return reach(session, asking, ({ execution_id }) => execution_id);
}

// Reads earlier pages until the message is there, and chooses the branch that leads to it. Its id; null if it is not of this
// conversation.
async function reach(session, wanted, nameOf = ({ id }) => id) {
  const messages = () => session.state.peek().messages;
  const find = (name, of = ({ id }) => id) => messages().find((message) => of(message) === name);
  while (!find(wanted, nameOf) && session.state.peek().hasEarlier) {
    const first = messages()[0]?.id;
    await session.loadEarlier(AT_ONCE);
    if (messages()[0]?.id === first) break;
  }
  const found = find(wanted, nameOf);
  for (let one = found; one; one = find(one.parent_id)) {
    const { id: chosen, parent_id } = one;
    if (messages().some((other) => other.parent_id === parent_id && other.id !== chosen)) session.choose(parent_id, chosen);
  }
  return found?.id ?? null;
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
