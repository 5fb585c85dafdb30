// One open conversation: messages from the API, events from the socket, folded by store.js into a signal that the page draws.
import { batch, computed, signal } from "../vendor/preact.js";
import { isWaiting } from "./activity.js";
import { ApiError } from "./api.js";
import { readOutbox, writeOutbox } from "./drafts.js";
import { freshId } from "./ids.js";
import { createRequests } from "./requests.js";
import { CLOSE, openSocket } from "./socket.js";
import { createSteering } from "./steering.js";
import { EMPTY, hasGap, isLive, lastNumbers, liveExecutions, reduce, transcript } from "./store.js";

const HIDDEN_FLUSH_MS = 250; // a hidden tab gets no animation frames
const STALE_RELOAD_MS = 150; // `said` usually comes right behind the first event

// connection: "connecting" | "open" | "waiting" | "signed_out" | "missing" | "forbidden"
export function openSession({ conversationId, userId, api, onConversation, onRunning, onMissing }) {
  const state = signal({ ...EMPTY, outbox: readOutbox(userId, conversationId).map((item) => ({ ...item, error: null })) });
  const connection = signal("connecting");
  const resyncs = signal(0); // how often the messages were read anew after a loss
  const loading = signal(true);
  const failure = signal(null); // why the messages could not be read
  const complaint = signal(null); // what could not be done
  const neverOpened = signal(true);
  const stopping = signal(new Set());
  const added = signal(new Map()); // execution id → what was told to it while it ran, as far as this page saw it
  const steering = createSteering({ send: (frame) => socket?.send(frame) ?? false, post: api.steerExecution });
  const requests = createRequests(api);
  const tracing = new Map(); // execution id → the promise of its trace
  let buffer = [];
  let flushTimer = null;
  let frameRequest = null;
  let reloadTimer = null;
  let socket = null;
  let closed = false;

  function dispatch(action) {
    const before = state.value;
    const after = reduce(before, action);
    if (after === before) return;
    state.value = after;
    if (after.outbox !== before.outbox) writeOutbox(userId, conversationId, after.outbox);
  }

  // Frames of one moment are folded together and drawn once.
  function buffered(body) {
    buffer.push(body);
    if (document.hidden) flushTimer ??= setTimeout(flush, HIDDEN_FLUSH_MS);
    else frameRequest ??= requestAnimationFrame(flush);
  }

  function fold() {
    clearTimeout(flushTimer);
    cancelAnimationFrame(frameRequest);
    flushTimer = frameRequest = null;
    const events = buffer;
    buffer = [];
    if (events.length) dispatch({ type: "events", events });
  }

  function flush() {
    fold();
    if (closed) return;
    if (state.value.stale) reloadTimer ??= setTimeout(reloadStale, STALE_RELOAD_MS);
    if (hasGap(state.value)) socket?.reconnectSoon();
    onRunning(conversationId, liveExecutions(state.value).length > 0);
  }

  async function reloadStale() {
    reloadTimer = null;
    if (state.value.stale && !closed) await load().catch(() => socket?.reconnectSoon());
  }

  async function load() {
    const { results } = await api.listMessages(conversationId);
    if (closed) return;
    fold();
    batch(() => {
      dispatch({ type: "loaded", messages: results });
      failure.value = null;
      loading.value = false;
    });
  }

  async function readAgain() {
    await load();
    resyncs.value += 1;
  }

  const FRAMES = {
    event: ({ event }) => buffered(event),
    said: ({ message, reply, client_id }) => {
      fold();
      dispatch({ type: "said", message, reply, client_id });
      onRunning(conversationId, true);
    },
    conversation: ({ conversation }) => onConversation(conversation),
    resync: ({ execution_id }) => {
      fold();
      dispatch({ type: "forgot", execution_id });
      readAgain().catch(() => socket?.reconnectSoon());
    },
    ack: (frame) => steering.acknowledged(frame),
    steered: (frame) => steering.acknowledged(frame),
    error: ({ error, client_id, execution_id }) => {
      if (steering.refused({ error, client_id, execution_id })) return;
      if (client_id) dispatch({ type: "refused", client_id, error });
      else complaint.value = error;
      if (execution_id) stopping.value = new Set([...stopping.value].filter((id) => id !== execution_id));
    },
  };

  const CLOSED_AS = { [CLOSE.signedOut]: "signed_out", [CLOSE.missing]: "missing", [CLOSE.forbidden]: "forbidden" };

  function connect() {
    socket = openSocket(conversationId, {
      lastNumbers: () => {
        fold();
        dispatch({ type: "reconnected" });
        return lastNumbers(state.value);
      },
      handlers: {
        frame: (frame) => FRAMES[frame.type]?.(frame),
        status: (status, code) => {
          connection.value = status === "closed" ? CLOSED_AS[code] : status;
          if (connection.value === "missing") onMissing(conversationId);
          if (status !== "open") return;
          neverOpened.value = false;
          state.value.outbox.filter(({ error }) => !error).forEach(send);
        },
        reload: readAgain,
      },
    });
  }

  function send({ client_id, text, mode, options, attachments }) {
    const attached = attachments?.length ? { attachment_ids: attachments.map(({ id }) => id) } : null;
    return socket?.send({ type: "say", text, client_id, ...(mode && { mode }), ...(options && { options }), ...attached }) ?? false;
  }

  async function start() {
    try {
      await load();
      if (!closed) connect();
    } catch (error) {
      if (closed) return;
      loading.value = false;
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) {
        connection.value = "missing";
        onMissing(conversationId);
      } else if (error.isSignedOut) connection.value = "signed_out";
      else failure.value = { code: error.code, message: error.message };
    }
  }

  function wake() {
    if (navigator.onLine === false || document.hidden) return;
    if (failure.value) restart();
    else if (connection.value === "waiting") socket?.reconnectNow();
  }

  // A socket from before may look open for minutes and lead nowhere.
  function cameOnline() {
    if (failure.value) restart();
    else socket?.reconnectNow();
  }

  // Only where the messages could not be read: there is no socket yet.
  function restart() {
    failure.value = null;
    loading.value = true;
    start();
  }

  function close() {
    closed = true;
    clearTimeout(reloadTimer);
    clearTimeout(flushTimer);
    cancelAnimationFrame(frameRequest);
    removeEventListener("online", cameOnline);
    document.removeEventListener("visibilitychange", wake);
    socket?.close();
  }

  // The text is kept (here and in localStorage) until the server says that it is stored; the server drops repetitions.
  function say(text, mode, options, attachments) {
    const item = { client_id: freshId(), text, mode, options, attachments };
    dispatch({ type: "queued", ...item });
    send(item);
  }

  function resend(item) {
    dispatch({ type: "queued", ...item });
    send(item);
  }

  async function stop(executionId) {
    stopping.value = new Set([...stopping.value, executionId]);
    if (socket?.send({ type: "cancel", execution_id: executionId })) return;
    try {
      await api.cancelExecution(executionId);
    } catch (error) {
      stopping.value = new Set([...stopping.value].filter((id) => id !== executionId));
      complaint.value = { code: error.code, message: error.message };
    }
  }

  async function retry(messageId) {
    try {
      dispatch({ type: "replied", ...(await api.retryMessage(messageId)) });
      onRunning(conversationId, true);
    } catch (error) {
      complaint.value = { code: error.code, message: error.message };
    }
  }

  async function steer(text) {
    const id = liveExecutions(state.value).findLast((execution) => !isWaiting(execution))?.id;
    await steering.steer(id, text);
    added.value = new Map(added.value).set(id, [...(added.value.get(id) ?? []), text]);
  }

  // The same question once more, for an agent that suits it better; what another one is writing to it is stopped.
  function askAgain(execution, { text, attachments }, mode) {
    if (isLive(execution)) stop(execution.id);
    say(text, mode, undefined, attachments);
  }

  // How a run went that ended before we looked. Once for each; a failure is told and may be tried again.
  function trace(executionId) {
    const known = tracing.get(executionId);
    if (known) return known;
    const reading = readTrace(executionId).catch((error) => {
      tracing.delete(executionId);
      throw error;
    });
    tracing.set(executionId, reading);
    return reading;
  }

  async function readTrace(executionId) {
    const found = [];
    for (let next = null, page; !page || next; next = page.next) {
      page = await api.listEvents(executionId, next);
      if (closed) return;
      found.push(...page.results);
    }
    dispatch({ type: "traced", execution_id: executionId, events: found });
  }

  addEventListener("online", cameOnline);
  document.addEventListener("visibilitychange", wake);
  start();
  return {
    conversationId, state, connection, resyncs, loading, failure, complaint, stopping, added, neverOpened,
    say, resend, stop, retry, askAgain, restart, close, trace,
    steer,
    intervene: (agentId, change) => api.intervene(agentId, change),
    requests,
    respond: requests.respond,
    unqueue: (client_id) => dispatch({ type: "unqueued", client_id }),
    choose: (parent_id, id) => dispatch({ type: "chose", parent_id, id }),
    stopAll: () => liveExecutions(state.value).forEach(({ id }) => stop(id)),
    // What the frame of the page needs: these change seldom, the state with each token.
    running: computed(() => liveExecutions(state.value).some((execution) => !isWaiting(execution))),
    waiting: computed(() => liveExecutions(state.value).some(isWaiting)), // for a person
    isEmpty: computed(() => !loading.value && !failure.value && !state.value.messages.length && !state.value.outbox.length),
    showsMessages: computed(() => !loading.value || state.value.outbox.length > 0),
    notice: computed(() => lastOf(state.value, ({ execution }) => execution?.notice)?.execution.notice ?? null),
    lastQuestion: computed(() => lastOf(state.value, ({ message }) => message.role === "user")?.message.text ?? null),
  };
}

function lastOf(state, test) {
  return transcript(state).findLast(test);
}
