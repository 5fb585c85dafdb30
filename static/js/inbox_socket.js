// How many requests wait for this person, and which they are reminded of, as the server tells it: a socket that comes back with growing pauses.
import { startPulse } from "./pulse.js";
import { CLOSE, pauseBefore } from "./socket.js";

const STEADY_MS = 5_000;
const FATAL = new Set([CLOSE.signedOut, CLOSE.forbidden, CLOSE.missing]);

const listeners = new Set(); // {told, onDocument, onReminder}: whoever on this page wants to know; one socket tells them all
let pending = null; // as it was told last
let end = null; // ends the socket, while there is one

// `told(pending)` at first and whenever it changes; `onDocument(document)` whenever something happened to one of this
// person's; `onReminder({request_id, conversation_id, title, expires_at})` when one of the requests still waits. Gives a
// function that ends it.
export function watchInbox(told, { onDocument = () => {}, onReminder = () => {} } = {}) {
  const listener = { told, onDocument, onReminder };
  listeners.add(listener);
  end ??= listen();
  if (pending !== null) queueMicrotask(() => listeners.has(listener) && told(pending));
  return () => {
    listeners.delete(listener);
    if (listeners.size) return;
    end?.();
    [end, pending] = [null, null];
  };
}

function hear(frame) {
  if (frame.type === "requests") pending = frame.pending;
  for (const { told, onDocument, onReminder } of listeners) {
    if (frame.type === "requests") told(frame.pending);
    if (frame.type === "document") onDocument(frame.document);
    if (frame.type === "reminder") onReminder(frame);
  }
}

function listen() {
  const url = `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/ws/inbox/`;
  let socket = null;
  let attempt = 0;
  let ended = false;
  let timer = null;

  function connect() {
    clearTimeout(timer);
    const mine = new WebSocket(url);
    socket = mine;
    let steady = null;
    mine.onopen = () => {
      pulse.heard();
      steady = setTimeout(() => (attempt = 0), STEADY_MS);
    };
    mine.onmessage = ({ data }) => {
      pulse.heard();
      hear(JSON.parse(data));
    };
    mine.onclose = ({ code }) => {
      clearTimeout(steady);
      if (mine !== socket || ended || FATAL.has(code)) return;
      timer = setTimeout(connect, pauseBefore(attempt++));
    };
  }

  // A socket from before the connection was lost may look open for minutes.
  function again() {
    if (ended) return;
    const old = socket;
    socket = null;
    old?.close();
    connect();
  }

  function ask() {
    if (socket?.readyState !== WebSocket.OPEN) return false;
    socket.send(JSON.stringify({ type: "ping" }));
    return true;
  }

  const pulse = startPulse({ ask, dead: again });
  addEventListener("online", again);
  connect();
  return () => {
    ended = true;
    pulse.stop();
    clearTimeout(timer);
    removeEventListener("online", again);
    socket?.close();
  };
}

// "(3) Inbox · HyperAgent": the page's own title with the count before it.
export const titleWith = (count, title) => (count > 0 ? `(${count}) ${title}` : title);
