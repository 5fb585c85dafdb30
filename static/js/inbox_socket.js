// How many requests wait for this person, as the server tells it: a socket that comes back with growing pauses.
import { CLOSE, pauseBefore } from "./socket.js";

const PING_MS = 20_000;
const STEADY_MS = 5_000;
const FATAL = new Set([CLOSE.signedOut, CLOSE.forbidden, CLOSE.missing]);

// `told(pending)` at first and whenever it changes; `onDocument(document)` whenever something happened to one of this
// person's. Gives a function that ends it.
export function watchInbox(told, { onDocument = () => {}, base = location } = {}) {
  const url = `${base.protocol === "https:" ? "wss:" : "ws:"}//${base.host}/ws/inbox/`;
  let socket = null;
  let attempt = 0;
  let ended = false;
  let timer = null;

  function connect() {
    clearTimeout(timer);
    const mine = new WebSocket(url);
    socket = mine;
    let steady = null;
    mine.onopen = () => (steady = setTimeout(() => (attempt = 0), STEADY_MS));
    mine.onmessage = ({ data }) => {
      const frame = JSON.parse(data);
      if (frame.type === "requests") told(frame.pending);
      if (frame.type === "document") onDocument(frame.document);
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

  const beat = setInterval(() => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify({ type: "ping" })), PING_MS);
  addEventListener("online", again);
  connect();
  return () => {
    ended = true;
    clearInterval(beat);
    clearTimeout(timer);
    removeEventListener("online", again);
    socket?.close();
  };
}

// "(3) Inbox · HyperAgent": the page's own title with the count before it.
export const titleWith = (count, title) => (count > 0 ? `(${count}) ${title}` : title);
