// One websocket of one conversation: connects, pings, acknowledges, and comes back with growing pauses.
// It knows frames and numbers, nothing of messages: `handlers` get each frame, `known()` says what is already known,
// as `{numbers, times}`.
import { startPulse } from "./pulse.js";

const ACK_EVENTS = 50;
const ACK_MS = 2_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 20_000;
const STEADY_MS = 5_000; // a connection that lasted so long makes the next pause short again

export const CLOSE = { signedOut: 4401, forbidden: 4403, missing: 4404, resync: 4008 };
const FATAL = new Set([CLOSE.signedOut, CLOSE.forbidden, CLOSE.missing]);

// Milliseconds before attempt n (from 0): doubled each time, capped, spread by half so that clients do not come in step.
export function pauseBefore(attempt, random = Math.random) {
  const full = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  return full / 2 + (random() * full) / 2;
}

export function socketUrl(conversationId, { numbers, times }, base = location) {
  const scheme = base.protocol === "https:" ? "wss:" : "ws:";
  const [after, at] = [numbers, times].map((known) => encodeURIComponent(JSON.stringify(known)));
  return `${scheme}//${base.host}/ws/conversations/${conversationId}/?after=${after}&at=${at}`;
}

// handlers: frame(frame); status("connecting"|"open"|"waiting"|"closed", closeCode); reload() → promise, before the reconnect
// that follows a 4008.
export function openSocket(conversationId, { known, handlers }) {
  let socket = null;
  let attempt = 0;
  let ended = false;
  let timer = null;
  let acks = new Map(); // execution id → {seq: last received, sent: last acknowledged}
  let ackTimer = null;
  let steadyTimer = null;

  function connect() {
    clearTimeout(timer);
    if (ended) return;
    handlers.status("connecting");
    acks = new Map();
    const mine = new WebSocket(socketUrl(conversationId, known()));
    socket = mine;
    mine.onopen = () => {
      pulse.heard();
      steadyTimer = setTimeout(() => (attempt = 0), STEADY_MS);
      handlers.status("open");
    };
    mine.onmessage = ({ data }) => {
      if (mine === socket) receive(data);
    };
    mine.onclose = ({ code }) => {
      if (mine === socket) lost(code);
    };
  }

  function receive(data) {
    pulse.heard();
    const frame = JSON.parse(data);
    if (frame.type === "event") note(frame.event);
    if (frame.type === "resync") acks.delete(frame.execution_id);
    handlers.frame(frame);
  }

  function lost(code) {
    socket = null;
    quiet();
    if (ended) return;
    if (FATAL.has(code)) {
      ended = true;
      handlers.status("closed", code);
    } else if (code === CLOSE.resync) {
      handlers.status("connecting");
      reload();
    } else {
      waitAndConnect();
    }
  }

  function waitAndConnect() {
    handlers.status("waiting");
    clearTimeout(timer);
    timer = setTimeout(connect, pauseBefore(attempt++));
  }

  // We were too slow for the server: read the tables anew, then follow.
  async function reload() {
    try {
      await handlers.reload();
      if (!ended && !socket) connect();
    } catch {
      if (!ended) waitAndConnect();
    }
  }

  function drop() {
    const old = socket;
    socket = null;
    quiet();
    old?.close();
  }

  function quiet() {
    clearTimeout(ackTimer);
    clearTimeout(steadyTimer);
    ackTimer = null;
  }

  function note({ execution_id: id, seq }) {
    const ack = acks.get(id) ?? { seq: 0, sent: seq - 1 };
    ack.seq = Math.max(ack.seq, seq);
    acks.set(id, ack);
    if (ack.seq - ack.sent >= ACK_EVENTS) acknowledge();
    else ackTimer ??= setTimeout(acknowledge, ACK_MS);
  }

  function acknowledge() {
    clearTimeout(ackTimer);
    ackTimer = null;
    for (const [execution_id, ack] of acks) {
      if (ack.seq > ack.sent && send({ type: "ack", execution_id, seq: ack.seq })) ack.sent = ack.seq;
    }
  }

  function send(frame) {
    if (socket?.readyState !== WebSocket.OPEN) return false;
    socket.send(JSON.stringify(frame));
    return true;
  }

  function reconnectNow() {
    if (ended) return;
    drop();
    connect();
  }

  // After a pause, as the wrong thing may come again.
  function reconnectSoon() {
    if (ended) return;
    drop();
    waitAndConnect();
  }

  const pulse = startPulse({ ask: () => send({ type: "ping" }), dead: reconnectNow });

  function close() {
    ended = true;
    clearTimeout(timer);
    pulse.stop();
    drop();
  }

  connect();
  return { send, close, reconnectNow, reconnectSoon };
}
