// A small world around the page's own client: a server that keeps conversations, tabs whose network breaks, and a clock that
// is moved. Only WebSocket, fetch and what a browser has besides are stood in for; session, socket, store, trace and api are
// the product's. The server behaves as conversations/consumers.py does, and worse where a network is worse.
import { readFileSync } from "node:fs";

export const LOGS = JSON.parse(readFileSync(new URL("./logs.json", import.meta.url), "utf8"));
const REAL = { setImmediate };
const OVER = new Set(["completed", "failed", "cancelled"]);
const CONVERSATION = "0c0c0c0c-0000-4000-8000-000000000001";
const TOLD_AFTER_END_MS = 15_000; // agents/log/reading.py, JUST_ENDED
const CHUNK = 6;

const settled = async () => {
  for (let i = 0; i < 4; i += 1) await new Promise((done) => REAL.setImmediate(done));
};

// ── the clock ──

const clock = { now: 0, timers: new Map(), next: 1 };

function installBrowser() {
  const later = (every) => (act, ms = 0) => {
    const id = clock.next++;
    clock.timers.set(id, { at: clock.now + Math.max(0, ms), act, every: every ? Math.max(1, ms) : null });
    return id;
  };
  const never = (id) => void clock.timers.delete(id);
  const stored = new Map();
  const shared = (key) => key.replaceAll(/~\d+/g, ""); // tabs of one person have one storage
  Object.assign(globalThis, {
    setTimeout: later(false), setInterval: later(true), clearTimeout: never, clearInterval: never,
    requestAnimationFrame: (act) => later(false)(act, 16), cancelAnimationFrame: never,
    addEventListener: (type, act) => world.opening?.listeners.push([type, act]), removeEventListener: (type, act) => world.tabs.forEach((tab) => tab.forget(act)),
    document: { hidden: false, addEventListener: () => undefined, removeEventListener: () => undefined, getElementById: () => null, querySelector: () => null },
    location: new URL("http://127.0.0.1/"),
    localStorage: {
      getItem: (key) => stored.get(shared(key)) ?? null, setItem: (key, value) => stored.set(shared(key), value), removeItem: (key) => stored.delete(shared(key)), clear: () => stored.clear(),
    },
    WebSocket: FakeSocket,
  });
  Date.now = () => clock.now;
}

async function advance(ms) {
  const until = clock.now + ms;
  await settled();
  for (;;) {
    const due = [...clock.timers].filter(([, { at }]) => at <= until).sort(([a, one], [b, other]) => one.at - other.at || a - b)[0];
    if (!due) break;
    const [id, timer] = due;
    clock.now = Math.max(clock.now, timer.at);
    if (timer.every) timer.at += timer.every;
    else clock.timers.delete(id);
    timer.act();
    await settled();
  }
  clock.now = until;
}

// ── the network ──

let world = null;

class FakeSocket {
  static OPEN = 1;

  constructor(url) {
    const { pathname, searchParams } = new URL(url);
    this.tab = world.tabs[Number(/~(\d+)/.exec(pathname)[1])];
    this.after = JSON.parse(searchParams.get("after"));
    this.readyState = 0;
    this.inbox = []; // from the server, not delivered yet
    this.feeds = new Map();
    this.joined = false;
    this.said = [];
    this.tab.sockets.push(this);
    setTimeout(() => this.open(), 5 + world.pick(40));
  }

  open() {
    if (this.readyState !== 0) return;
    if (this.tab.offline) return this.break();
    this.readyState = 1;
    this.onopen?.();
    // Accepted before it is known who it is: joined a little later.
    setTimeout(() => this.readyState === 1 && world.server.join(this), 5 + world.pick(60));
  }

  send(text) {
    const frame = JSON.parse(text);
    const dead = this.tab.offline || world.pick(25) === 0; // the line, which nobody knows yet
    if (dead) setTimeout(() => this.break(), world.pick(3_000));
    else setTimeout(() => world.server.hear(this, frame), 1 + world.pick(30));
  }

  close() {
    this.readyState = 3;
    world.server.left(this);
  }

  break(code = 1006) {
    if (this.readyState === 3) return;
    this.close();
    setTimeout(() => this.onclose?.({ code }), world.pick(20));
  }

  tell(frame) {
    if (this.readyState === 1) this.inbox.push(JSON.stringify(frame));
  }

  deliver(count) {
    for (; count > 0 && this.inbox.length; count -= 1) {
      const text = this.inbox.shift();
      if (this.readyState !== 1) return;
      const { type, event } = JSON.parse(text);
      const isFollowed = type === "event" && this.inbox.some((later) => later.includes(`"execution_id":"${event.execution_id}"`) && JSON.parse(later).event?.seq > event.seq);
      if (isFollowed && world.pick(60) === 0) continue; // lost on the way: a gap
      this.onmessage?.({ data: text });
      const isForgotten = this.inbox.some((later) => later.includes('"resync"')); // what comes behind that is of the new log
      if (world.pick(30) === 0 && !isForgotten) this.inbox.push(text); // comes again, later
    }
  }
}

function fetchOf(tab) {
  return (url, { method, body }) => new Promise((done, fail) => {
    const lost = () => tab.offline && (fail(new TypeError("Failed to fetch")), true);
    setTimeout(() => {
      if (lost()) return;
      const answer = world.server.answer(method, new URL(url, "http://127.0.0.1"), body ? JSON.parse(body) : null);
      const text = JSON.stringify(answer); // as it is now: it may be old when it arrives
      setTimeout(() => lost() || done({ ok: true, status: 200, json: async () => JSON.parse(text) }), world.pick(400));
    }, world.pick(200));
  });
}

// ── the server ──

class Server {
  constructor() {
    this.messages = [];
    this.runs = new Map();
    this.sockets = new Set();
    this.ids = 0;
  }

  id(kind) {
    this.ids += 1;
    return `${kind}-${String(this.ids).padStart(4, "0")}`;
  }

  // As the server writes moments: to the microsecond, and later than whatever stands before it.
  moment() {
    this.micros = Math.max((this.micros ?? 0) + 1, clock.now * 1000);
    const whole = new Date(Math.floor(this.micros / 1000)).toISOString().replace("Z", "");
    return `${whole}${String(this.micros % 1000).padStart(3, "0")}Z`;
  }

  say({ text, client_id, edits, after }) {
    const before = this.messages.find((message) => client_id && message.client_id === client_id);
    if (before) return { message: before, reply: this.messages.find(({ parent_id, role }) => parent_id === before.id && role === "assistant"), client_id };
    const edited = this.messages.find(({ id }) => id === edits);
    const parent_id = edited ? edited.parent_id : (after ?? this.messages.at(-1)?.id ?? null);
    const message = { id: this.id("m"), parent_id, role: "user", text, created_at: this.moment(), mode: null, client_id: client_id ?? null, attachments: [], follow_ups: [], execution: null, sources: [], checks: [] };
    this.messages.push(message);
    return this.announced({ message, reply: this.replyTo(message), client_id: client_id ?? null });
  }

  retry(id) {
    const asked = this.messages.find((message) => message.id === id);
    const question = asked.role === "assistant" ? this.messages.find((message) => message.id === asked.parent_id) : asked;
    return this.announced({ message: null, reply: this.replyTo(question), client_id: null });
  }

  announced(said) {
    this.tellAll({ type: "said", ...this.shapedSaid(said) });
    return said;
  }

  shapedSaid({ message, reply, client_id }) {
    return { message: message && this.shape(message), reply: this.shape(reply), client_id };
  }

  replyTo(question) {
    const run = this.newRun();
    const reply = { id: this.id("m"), parent_id: question.id, role: "assistant", text: "", created_at: this.moment(), mode: null, client_id: null, attachments: [], follow_ups: [], execution_id: run.id };
    this.messages.push(reply);
    return reply;
  }

  newRun() {
    const { events, reply } = LOGS[world.pick(LOGS.length)];
    const id = this.id("r");
    // Recorded text comes in other pieces each time, and is sometimes taken back and told again.
    const bodies = events.flatMap((event) => {
      const { seq, execution_id, ...body } = event;
      if (body.type !== "token") return [body];
      const half = Math.floor([...body.content].length / 2);
      const [one, two] = [[...body.content].slice(0, half).join(""), [...body.content].slice(half).join("")];
      return half && world.pick(4) === 0 ? [{ ...body, content: one }, { ...body, content: two }] : [body];
    });
    const run = { id, todo: withResets(bodies), log: [], status: "pending", reply, endedAt: null, started_at: null };
    this.runs.set(id, run);
    return run;
  }

  live() {
    return [...this.runs.values()].filter(({ status }) => !OVER.has(status));
  }

  progress(run, count) {
    for (const body of run.todo.splice(0, count)) {
      const event = { ...body, seq: run.log.length + 1, execution_id: run.id, timestamp: clock.now };
      run.log.push(event);
      if (event.type === "status_changed") run.status = event.status;
      else if (run.status === "pending") run.status = "running";
      if (event.type === "complete" || event.type === "error") {
        run.status = run.reply.execution.status;
        run.endedAt = clock.now;
      }
    }
    this.feedAll();
  }

  // The database died and lost the end of the log: another driver gives the same numbers to other events.
  setBack(run, count) {
    const kept = Math.max(0, run.log.length - count);
    const lost = run.log.splice(kept);
    if (!lost.length) return;
    this.wasSetBack = true;
    run.todo.unshift(...lost.map(({ seq, execution_id, timestamp, ...body }) => body));
    run.todo.unshift({ type: "agent_shutdown", reason: "lost", agent_id: lost[0].agent_id });
    for (const socket of this.sockets) if ((socket.feeds.get(run.id) ?? 0) > kept) this.resync(socket, run.id);
    this.feedAll();
  }

  resync(socket, id) {
    socket.feeds.set(id, 0);
    socket.tell({ type: "resync", execution_id: id });
  }

  // conversations/consumers.py, `entered`: joins, then looks at what goes on, what has just ended, and what is named.
  join(socket) {
    this.sockets.add(socket);
    socket.joined = true;
    for (const [id, seq] of Object.entries(socket.after)) if (this.runs.has(id)) socket.feeds.set(id, seq);
    for (const run of this.runs.values()) {
      const lately = !OVER.has(run.status) || clock.now - run.endedAt < TOLD_AFTER_END_MS;
      if (!lately && !socket.feeds.has(run.id)) continue;
      if ((socket.feeds.get(run.id) ?? 0) > run.log.length) this.resync(socket, run.id);
      else if (!socket.feeds.has(run.id)) socket.feeds.set(run.id, 0);
    }
    for (const frame of socket.said.splice(0)) this.hear(socket, frame);
    this.feedAll();
  }

  left(socket) {
    this.sockets.delete(socket);
  }

  feedAll() {
    for (const socket of this.sockets) {
      for (const run of this.runs.values()) {
        const lately = !OVER.has(run.status) || clock.now - run.endedAt < TOLD_AFTER_END_MS;
        if (!lately && !socket.feeds.has(run.id)) continue;
        const had = socket.feeds.get(run.id) ?? 0;
        for (const event of run.log.slice(had)) socket.tell({ type: "event", event });
        socket.feeds.set(run.id, run.log.length);
      }
    }
  }

  tellAll(frame) {
    for (const socket of this.sockets) socket.tell(frame);
  }

  // In order, and only once it is in.
  hear(socket, frame) {
    if (socket.readyState !== 1) return;
    if (!socket.joined) return void socket.said.push(frame);
    if (frame.type === "ping") socket.tell({ type: "pong" });
    if (frame.type === "cancel") this.cancel(frame.execution_id);
    if (frame.type !== "say") return;
    const known = this.messages.some(({ client_id }) => client_id === frame.client_id);
    const said = this.say(frame);
    if (known) socket.tell({ type: "said", ...this.shapedSaid(said) });
  }

  cancel(id) {
    const run = this.runs.get(id);
    if (!run || OVER.has(run.status)) return;
    const text = run.log.filter(({ type }) => type === "token").length; // what it wrote is told at the end
    run.todo = [];
    const answer = textOf(run.log);
    run.reply = { ...run.reply, text: answer, sources: [], checks: [], execution: { ...run.reply.execution, status: "cancelled", error: null } };
    const usage = run.reply.execution.usage;
    run.todo.push({ type: "complete", answer, status: "cancelled", sources: [], checks: [], usage, agent_id: null, words: text });
  }

  answer(method, url, body) {
    const path = url.pathname.replace("/api/v1", "");
    if (method === "GET" && /^\/conversations\/[^/]+\/messages$/.test(path)) return this.page(url.searchParams);
    const events = /^\/executions\/([^/]+)\/events$/.exec(path);
    if (events) return this.eventPage(this.runs.get(events[1]), url.searchParams);
    const retried = /^\/messages\/([^/]+)\/retry$/.exec(path);
    if (method === "POST" && retried) return { reply: this.shape(this.retry(retried[1]).reply) };
    const cancelled = /^\/executions\/([^/]+)\/cancel$/.exec(path);
    if (method === "POST" && cancelled) return this.cancel(cancelled[1]) ?? {};
    throw new Error(`the world has no ${method} ${path} (${JSON.stringify(body)})`);
  }

  page(asked) {
    const before = asked.get("before");
    const until = before ? this.messages.findIndex(({ id }) => id === before) : this.messages.length;
    const from = Math.max(0, until - Number(asked.get("limit")));
    return { results: this.messages.slice(from, until).map((message) => this.shape(message)), has_earlier: from > 0 };
  }

  eventPage(run, asked) {
    const after = Number(asked.get("after") ?? 0);
    const results = run.log.slice(after, after + CHUNK * 4);
    const last = results.at(-1)?.seq ?? after;
    const goesOn = last < run.log.length || !OVER.has(run.status);
    return { results, next: goesOn ? `http://inside/api/v1/executions/${run.id}/events?after=${last}` : null };
  }

  shape({ execution_id, ...message }) {
    const run = this.runs.get(execution_id);
    if (!run) return message;
    const over = OVER.has(run.status);
    const { text, sources, checks, execution } = run.reply;
    const error = over ? execution.error : null;
    return {
      ...message,
      text: over ? text : "",
      sources: over ? sources : [],
      checks: over ? checks : [],
      execution: { ...execution, id: run.id, status: run.status, last_seq: run.log.length, error, usage: over ? execution.usage : { prompt_tokens: 0, completion_tokens: 0, cost_usd: 0 } },
    };
  }
}

// A stream that broke is begun again somewhere: what is told after it is told anew.
function withResets(bodies) {
  const at = bodies.findLastIndex(({ type }) => type === "token");
  if (at < 1 || world.pick(3)) return bodies;
  const { agent_id, channel } = bodies[at];
  const text = [...bodies.slice(0, at + 1).filter((body) => body.type === "token" && body.agent_id === agent_id && body.channel === channel).map(({ content }) => content).join("")];
  const keep = world.pick(text.length + 1);
  const again = { type: "token", agent_id, channel, content: text.slice(keep).join("") };
  return bodies.toSpliced(at + 1, 0, { type: "token_reset", agent_id, channel, keep, reason: null }, ...(again.content ? [again] : []));
}

function textOf(log) {
  const texts = new Map();
  for (const { type, agent_id, channel, content, keep } of log) {
    if (channel === "thinking") continue;
    const text = texts.get(agent_id) ?? [];
    if (type === "token") texts.set(agent_id, [...text, ...content]);
    if (type === "token_reset") texts.set(agent_id, text.slice(0, keep));
  }
  return [...texts.values()].map((text) => text.join("")).filter(Boolean).join("\n\n");
}

// ── the tabs ──

const modules = async () => ({
  ...(await import("../../static/js/session.js")),
  ...(await import("../../static/js/store.js")),
  ...(await import("../../static/js/trace.js")),
  ...(await import("../../static/js/api.js")),
  ...(await import("./summaries.mjs")),
});

let client = null;

class Tab {
  constructor(number) {
    this.number = number;
    this.offline = false;
    this.sockets = [];
    this.listeners = [];
  }

  forget(act) {
    this.listeners = this.listeners.filter(([, other]) => other !== act);
  }

  // As a browser tells it, where it knows.
  online() {
    if (!this.offline) return;
    this.offline = false;
    this.listeners.forEach(([type, act]) => type === "online" && act());
  }

  open() {
    const api = client.createApi({ fetch: fetchOf(this) });
    world.opening = this;
    this.session = client.openSession({
      conversationId: `${CONVERSATION}~${this.number}`, userId: "alice", api, page: world.pageSize,
      onConversation: () => undefined, onRunning: () => undefined, onMissing: () => undefined,
    });
    world.opening = null;
  }

  reload() {
    this.session.close();
    this.sockets = [];
    this.open();
  }

  get socket() {
    return this.sockets.findLast(({ readyState }) => readyState === 1);
  }

  get state() {
    return this.session.state.value;
  }
}

export async function newWorld({ pick, tabs = 2, pageSize = 4 }) {
  if (!client) {
    installBrowser();
    client = await modules();
  }
  clock.now = 1_700_000_000_000;
  clock.timers.clear();
  localStorage.clear();
  world = { pick, pageSize, server: null, tabs: [], opening: null };
  Math.random = () => pick(1_000_000) / 1_000_000;
  world.server = new Server();
  for (let number = 0; number < tabs; number += 1) world.tabs.push(new Tab(number));
  world.tabs.forEach((tab) => tab.open());
  await advance(1_000);
  return {
    server: world.server, tabs: world.tabs, advance, client,
    // Everybody is there, everything has been told, nothing is under way.
    async quiet() {
      world.tabs.forEach((tab) => tab.online());
      for (let round = 0; round < 30; round += 1) {
        for (const run of world.server.live()) world.server.progress(run, 1_000);
        for (const tab of world.tabs) tab.socket?.deliver(1_000);
        await advance(1_500);
        if (round > 20 && !world.server.live().length && world.tabs.every(({ socket, state }) => socket?.joined && !socket.inbox.length && !state.outbox.length && !state.stale)) break;
      }
    },
    // Everybody has heard all that was told so far; nothing goes on meanwhile.
    async heard() {
      world.tabs.forEach((tab) => tab.online());
      const isBehind = ({ state }) => world.server.live().some(({ id, log }) => state.executions[id] && state.executions[id].lastSeq !== log.length);
      for (let round = 0; round < 60; round += 1) {
        for (const tab of world.tabs) tab.socket?.deliver(1_000);
        await advance(1_500);
        if (round > 4 && world.tabs.every(({ socket }) => socket?.joined && !socket.inbox.length) && !world.tabs.some(isBehind)) break;
      }
    },
    // How each run went, that of others' tabs too: as who opens the run view of each would read it.
    async allTraces(tab) {
      for (const { id, status } of Object.values(tab.state.executions)) {
        if (!OVER.has(status)) continue;
        let isRead = false;
        const reading = tab.session.trace(id).then(() => (isRead = true));
        while (!isRead) await advance(500); // page by page
        await reading;
      }
    },
    async allPages(tab) {
      while (tab.state.hasEarlier) {
        const reading = tab.session.loadEarlier();
        await advance(1_000);
        await reading;
      }
    },
    async fresh() {
      const tab = new Tab(world.tabs.length);
      world.tabs.push(tab);
      tab.open();
      await advance(1_000);
      return tab;
    },
    async end() {
      world.tabs.forEach((tab) => tab.session.close());
      await advance(5_000); // what is under way comes to nothing here, and not in the next world
    },
  };
}
