// One open conversation: messages from the API, events from the socket, folded by store.js into a signal that the page draws.
import { batch, computed, signal } from "../vendor/preact.js";
import { isWaiting } from "./activity.js";
import { ApiError } from "./api.js";
import { onOutbox, readOutbox, writeOutbox } from "./drafts.js";
import { freshId } from "./ids.js";
import { addressesIn, textsIn } from "./links.js";
import { createRequests } from "./requests.js";
import { CLOSE, openSocket } from "./socket.js";
import { createSteering } from "./steering.js";
import { EMPTY, chosenEnd, hasGap, isLive, keptOutbox, lastNumbers, lastTimes, liveExecutions, reduce, thoughtsIn, transcript } from "./store.js";

const HIDDEN_FLUSH_MS = 250; // a hidden tab gets no animation frames
const STALE_RELOAD_MS = 150; // `said` usually comes right behind the first event
const PAGE = 60; // messages that are read at once
const MANY_EVENTS = 400; // of a run that goes on: from here on what it told is read in pages, as the socket tells them one by one
// What ended longer ago than this the socket does not tell of: whoever joins it later reads the messages again.
const TOLD_AFTER_END_MS = 10_000;

// connection: "connecting" | "open" | "waiting" | "signed_out" | "missing" | "forbidden"
export function openSession({ conversationId, userId, api, onConversation, onRunning, onMissing, page = PAGE }) {
  const state = signal({ ...EMPTY, outbox: readOutbox(userId, conversationId).map((item) => ({ ...item, error: null })) });
  const connection = signal("connecting");
  const resyncs = signal(0); // how often the messages were read anew after a loss
  const loading = signal(true);
  const failure = signal(null); // why the messages could not be read
  const complaint = signal(null); // what could not be done
  const neverOpened = signal(true);
  const stopping = signal(new Set());
  const added = signal(new Map()); // execution id → what this page told it while it ran
  const steering = createSteering({ send: (frame) => socket?.send(frame) ?? false, post: api.steerExecution });
  const requests = createRequests(api);
  const tracing = new Map(); // execution id → the promise of its trace
  let buffer = [];
  let flushTimer = null;
  let frameRequest = null;
  let reloadTimer = null;
  let socket = null;
  let closed = false;
  let readings = 0; // of the messages, that were begun
  let newest = 0; // the number of the last that was taken
  let readAt = -Infinity;
  let readingEarlier = null;
  let joining = false; // the socket is open, and the server has not answered yet
  let joinedAs = null; // the connection that the server let in, while it is there
  let wasOpen = false;
  let behind = []; // the runs of the messages, as they were read last

  function dispatch(action) {
    const before = state.value;
    const after = reduce(before, action);
    if (after === before) return;
    state.value = after;
    if (after.outbox !== before.outbox) writeOutbox(userId, conversationId, keptOutbox(readOutbox(userId, conversationId), before.outbox, after.outbox));
  }

  // Frames of one moment are folded together and drawn once.
  function buffered(body) {
    buffer.push(body);
    if (document.hidden) flushTimer ??= setTimeout(flush, HIDDEN_FLUSH_MS);
    else frameRequest ??= requestAnimationFrame(flush);
  }

  // What came, at once. What follows from it (a gap, a run that no message has yet) is seen to by the flush that is on its way.
  function fold() {
    const events = buffer;
    buffer = [];
    if (events.length) dispatch({ type: "events", events });
  }

  function flush() {
    clearTimeout(flushTimer);
    cancelAnimationFrame(frameRequest);
    flushTimer = frameRequest = null;
    fold();
    if (closed) return;
    release();
    if (state.value.stale) reloadTimer ??= setTimeout(reloadStale, STALE_RELOAD_MS);
    if (hasGap(state.value)) socket?.reconnectSoon();
    onRunning(conversationId, liveExecutions(state.value).length > 0);
  }

  async function reloadStale() {
    reloadTimer = null;
    if (state.value.stale && !closed) await load().catch(() => socket?.reconnectSoon());
  }

  // An answer that was overtaken by a later one is of no use.
  async function load() {
    const number = ++readings;
    const beganAt = Date.now();
    const connectionThen = joinedAs;
    const { results, has_earlier } = await api.listMessages(conversationId, { limit: page });
    if (closed || number < newest) return;
    newest = number;
    readAt = beganAt;
    fold();
    behind = results.flatMap(({ execution }) => execution ?? []);
    batch(() => {
      dispatch({ type: "loaded", messages: results, hasEarlier: has_earlier, isCurrent: connectionThen !== null && connectionThen === joinedAs });
      failure.value = null;
      loading.value = false;
    });
  }

  // The page before the first message, or so many messages. Once at a time; a failure is told.
  function loadEarlier(limit = page) {
    readingEarlier ??= readEarlier(limit).finally(() => (readingEarlier = null));
    return readingEarlier;
  }

  async function readEarlier(limit) {
    const before = state.value.messages[0]?.id;
    if (!before || !state.value.hasEarlier) return;
    const { results, has_earlier } = await api.listMessages(conversationId, { limit, before });
    if (!closed) dispatch({ type: "earlier", before, messages: results, hasEarlier: has_earlier });
  }

  // The next page is under way while one is folded. What cannot be read here the socket tells.
  async function readLiveRuns() {
    const live = new Set(liveExecutions(state.value).map(({ id }) => id));
    const long = behind.filter(({ id, last_seq }) => live.has(id) && last_seq - state.value.executions[id].lastSeq > MANY_EVENTS);
    await Promise.all(long.map(async ({ id, last_seq }) => {
      for (let coming = api.listAllEvents(id), last = 0; coming && last < last_seq && !closed; ) {
        const { next, results } = await coming;
        last = results.at(-1)?.seq ?? last_seq;
        coming = next && last < last_seq ? api.listAllEvents(id, next) : null;
        coming?.catch(() => undefined);
        dispatch({ type: "events", events: results });
      }
    }).map((reading) => reading.catch(() => undefined)));
  }

  async function readAgain() {
    await load();
    resyncs.value += 1;
  }

  // The server answers when it has let us in: from here on it tells all that is said. What was said, and ended, before that
  // the messages have.
  function joined() {
    if (!joining) return;
    joining = false;
    joinedAs = {};
    if (wasOpen || Date.now() - readAt > TOLD_AFTER_END_MS) load().catch(() => socket?.reconnectSoon());
    wasOpen = true;
  }

  const FRAMES = {
    event: ({ event }) => buffered(event),
    said: ({ message, reply, client_id }) => {
      fold();
      dispatch({ type: "said", message, reply, client_id });
      onRunning(conversationId, true);
    },
    conversation: ({ conversation }) => onConversation(conversation),
    follow_ups: ({ message_id, questions }) => dispatch({ type: "learned", message_id, more: { follow_ups: questions } }),
    unasked: ({ message_id, unasked }) => dispatch({ type: "learned", message_id, more: { unasked } }),
    resync: ({ execution_id }) => {
      fold();
      dispatch({ type: "forgot", execution_id });
      readAgain().catch(() => socket?.reconnectSoon());
    },
    pong: joined,
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
      known: () => {
        fold();
        dispatch({ type: "reconnected" });
        return { numbers: lastNumbers(state.value), times: lastTimes(state.value) };
      },
      handlers: {
        frame: (frame) => FRAMES[frame.type]?.(frame),
        status: (status, code) => {
          connection.value = status === "closed" ? CLOSED_AS[code] : status;
          if (connection.value === "missing") onMissing(conversationId);
          if (status !== "open") {
            joinedAs = null;
            steering.parted({ forGood: status === "closed" });
            dispatch({ type: "parted" });
            return;
          }
          neverOpened.value = false;
          joining = true;
          joinedAs = null;
          socket.send({ type: "ping" });
          state.value.outbox.filter(({ error, held }) => !error && !held).forEach(send);
          for (const id of stopping.value) if (isLive(state.value.executions[id])) tellToStop(id); // it may be lost with the line before
          steering.opened();
          release();
        },
        reload: readAgain,
      },
    });
  }

  // The next of those that wait for the end of an answer, one at a time and in order; after one that was stopped or failed
  // its writer decides.
  function release() {
    const { outbox } = state.value;
    const first = outbox[0];
    if (!first?.held || liveExecutions(state.value).length || transcript(state.value).at(-1)?.execution?.status !== "completed") return;
    sendNow(first);
  }

  // What was taken back in another tab is not sent from this one.
  const endListening = onOutbox(userId, conversationId, () => {
    const kept = new Set(readOutbox(userId, conversationId).map(({ client_id }) => client_id));
    const gone = state.value.outbox.filter(({ client_id, held }) => held && !kept.has(client_id));
    for (const { client_id } of gone) dispatch({ type: "unqueued", client_id });
  });

  function sendNow({ held, ...item }) {
    dispatch({ type: "queued", ...item });
    send(item);
  }

  function send({ client_id, text, mode, options, attachments, place }) {
    const attached = attachments?.length ? { attachment_ids: attachments.map(({ id }) => id) } : null;
    return socket?.send({ type: "say", text, client_id, ...(mode && { mode }), ...(options && { options }), ...attached, ...place }) ?? false;
  }

  async function start() {
    try {
      await load();
      await readLiveRuns();
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
    endListening();
    document.removeEventListener("visibilitychange", wake);
    socket?.close();
  }

  // The text is kept (here and in localStorage) until the server says that it is stored; the server drops repetitions.
  // `edits`: the question beside which this one stands. `held`: it is sent when the running answer is finished.
  function say(text, mode, options, attachments, { edits = null, held = false } = {}) {
    const after = edits || held ? null : chosenEnd(state.value);
    const place = edits ? { edits } : after ? { after } : undefined;
    const item = { client_id: freshId(), text, mode, options, attachments, place, held };
    dispatch({ type: "queued", ...item });
    if (!held) send(item);
  }

  const resend = sendNow;

  const beginning = new Set(); // what was asked for and is not there yet: a second click means the first

  async function begin(id, ask) {
    if (beginning.has(id)) return;
    beginning.add(id);
    try {
      await ask();
      onRunning(conversationId, true);
    } catch (error) {
      complaint.value = { code: error.code, message: error.message };
    } finally {
      beginning.delete(id);
    }
  }

  const retry = (messageId) => begin(messageId, async () => dispatch({ type: "replied", ...(await api.retryMessage(messageId)) }));

  // What failed of a run is done again, and what it had is kept: a reply beside the old one.
  const retryFailed = (executionId) => begin(executionId, () => api.retryExecution(executionId));

  const tellToStop = (id) => socket?.send({ type: "cancel", execution_id: id }) ?? false;

  async function stop(executionId) {
    stopping.value = new Set([...stopping.value, executionId]);
    if (tellToStop(executionId)) return;
    try {
      await api.cancelExecution(executionId);
    } catch (error) {
      stopping.value = new Set([...stopping.value].filter((id) => id !== executionId));
      complaint.value = { code: error.code, message: error.message };
    }
  }

  // What runs in the branch that is shown; of another branch one looks there.
  function liveHere() {
    const live = liveExecutions(state.value);
    if (!live.length) return live;
    const shown = new Set(transcript(state.value).map(({ message }) => message.execution_id));
    const told = new Set(state.value.messages.map(({ execution_id }) => execution_id));
    return live.filter(({ id }) => shown.has(id) || !told.has(id));
  }

  async function steer(text) {
    const id = liveHere().findLast((execution) => !isWaiting(execution))?.id;
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

  // What a run thought that ended before we looked.
  async function thoughts(executionId) {
    const found = [];
    for (let next = null, page; !page || next; next = page.next) {
      page = await api.listAllEvents(executionId, next);
      found.push(...page.results);
    }
    return thoughtsIn(found);
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

  // What an answer's links are held against: a new value only when the person has written a new address.
  const messages = computed(() => state.value.messages);
  const known = computed(() => [...addressesIn(messages.value.filter(({ role }) => role === "user").map(({ text }) => text))].join("\n"));
  const words = () => textsIn([state.peek().messages, state.peek().executions]);
  const said = computed(() => ({ known: known.value, words }));

  addEventListener("online", cameOnline);
  document.addEventListener("visibilitychange", wake);
  start();
  return {
    conversationId, state, connection, resyncs, loadEarlier, loading, failure, complaint, stopping, added, neverOpened,
    say, resend, stop, retry, retryFailed, askAgain, restart, close, trace,
    steer,
    intervene: (agentId, change) => api.intervene(agentId, change),
    thoughts,
    wholeResult: (executionId, seq) => api.wholeResult(executionId, seq),
    requests,
    respond: requests.respond,
    unqueue: (client_id) => dispatch({ type: "unqueued", client_id }),
    choose: (parent_id, id) => dispatch({ type: "chose", parent_id, id }),
    stopAll: () => liveHere().forEach(({ id }) => stop(id)),
    // What the frame of the page needs: these change seldom, the state with each token.
    running: computed(() => liveHere().some((execution) => !isWaiting(execution))),
    waiting: computed(() => liveHere().some(isWaiting)), // for a person
    isEmpty: computed(() => !loading.value && !failure.value && !state.value.messages.length && !state.value.outbox.length),
    showsMessages: computed(() => !loading.value || state.value.outbox.length > 0),
    notice: computed(() => lastOf(state.value, ({ execution }) => execution?.notice)?.execution.notice ?? null),
    said,
    lastQuestion: computed(() => lastOf(state.value, ({ message }) => message.role === "user")?.message.text ?? null),
  };
}

function lastOf(state, test) {
  return transcript(state).findLast(test);
}
