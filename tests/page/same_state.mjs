// State in the page after any sequence of reloads, drops of the socket and second tabs equals the state from the API.
// `node tests/page/same_state.mjs [worlds] [first seed]`: so many generated histories; of one that fails the shortest part that
// still fails is said, as JSON, to be put into EXAMPLES.
import { equal, randomFrom } from "./given.mjs";
import { LOGS, newWorld } from "./same_state_world.mjs";

const TABS = 2;

// Each step: [name, a number, a number]. What the numbers name is settled when it happens, so that any part of a history is one.
const STEPS = {
  say: ({ tabs }, a, b) => tabs[a % TABS].session.say(`Question ${b}`),
  edit({ tabs }, a, b) {
    const tab = tabs[a % TABS];
    const asked = tab.state.messages.filter(({ role }) => role === "user");
    if (asked.length) tab.session.say(`Edited ${b}`, null, undefined, undefined, { edits: asked[b % asked.length].id });
  },
  retry({ tabs }, a, b) {
    const tab = tabs[a % TABS];
    const replies = tab.state.messages.filter(({ role }) => role === "assistant");
    if (replies.length) tab.session.retry(replies[b % replies.length].id);
  },
  choose({ tabs, client }, a, b) {
    const tab = tabs[a % TABS];
    const forks = client.transcript(tab.state).filter(({ siblings }) => siblings.length > 1);
    if (forks.length) tab.session.choose(forks[b % forks.length].message.parent_id, forks[b % forks.length].siblings[a % forks[b % forks.length].siblings.length]);
  },
  progress({ server }, a, b) {
    const live = server.live();
    if (live.length) server.progress(live[a % live.length], 1 + (b % 12));
  },
  setBack({ server }, a, b) {
    const live = server.live();
    if (live.length) server.setBack(live[a % live.length], 1 + (b % 6));
  },
  finish: ({ server }) => server.live().forEach((run) => server.progress(run, 1_000)),
  stop: ({ tabs }, a) => tabs[a % TABS].session.stopAll(),
  deliver: ({ tabs }, a, b) => tabs[a % TABS].socket?.deliver(1 + (b % 15)),
  drop: ({ tabs }, a) => tabs[a % TABS].socket?.break(),
  tooSlow: ({ tabs }, a) => tabs[a % TABS].socket?.break(4008),
  offline({ tabs }, a) {
    tabs[a % TABS].offline = true;
    tabs[a % TABS].socket?.break();
  },
  online: ({ tabs }, a) => tabs[a % TABS].online(),
  reload: ({ tabs }, a) => tabs[a % TABS].reload(),
  earlier: ({ tabs }, a) => void tabs[a % TABS].session.loadEarlier().catch(() => undefined),
  wait: ({ advance }, a, b) => advance([50, 200, 1_000, 30_000][b % 4]),
};

const OFTEN = ["say", "say", "edit", "retry", "choose", "progress", "progress", "progress", "progress", "setBack", "finish", "stop", "deliver", "deliver", "deliver", "deliver",
  "drop", "tooSlow", "offline", "online", "online", "reload", "earlier", "wait", "wait", "wait"];

// What once failed, or is told here for whoever reads it: [seed of the network, steps].
const EXAMPLES = {
  "a log whose end was lost and written anew while the line was broken": [400,
    [["say", 45, 1], ["progress", 33, 45], ["deliver", 94, 67], ["deliver", 88, 75], ["drop", 34, 42], ["setBack", 30, 45], ["progress", 76, 1]],
  ],
  "a question that another tab asked, and that was answered, while this one was away": [
    1, [["say", 0, 1], ["wait", 0, 2], ["deliver", 0, 9], ["offline", 1, 0], ["say", 0, 2], ["wait", 0, 2], ["deliver", 0, 9], ["finish", 0, 0], ["wait", 0, 3], ["online", 1, 0], ["wait", 0, 3]],
  ],
  "a run on an earlier page that had not begun when the line broke, and ended meanwhile": [1314,
    [["say", 20, 87], ["progress", 50, 29], ["deliver", 12, 51], ["progress", 18, 21], ["drop", 29, 42], ["say", 84, 52], ["say", 71, 62], ["tooSlow", 52, 25], ["online", 31, 23], ["progress", 74, 77], ["wait", 72, 19], ["tooSlow", 90, 2]],
  ],
  "another answer, told by the API while the socket was dead and others went on": [1570,
    [["wait", 17, 23], ["say", 89, 53], ["deliver", 57, 55], ["deliver", 28, 83], ["edit", 38, 48], ["wait", 66, 27], ["retry", 29, 25], ["say", 33, 64], ["wait", 42, 35]],
  ],
  "an event and the announcement of its run in one moment": [1,
    [["say", 26, 51], ["say", 70, 78], ["finish", 9, 13], ["reload", 30, 14], ["wait", 30, 63], ["reload", 85, 6], ["say", 65, 25], ["stop", 27, 69], ["tooSlow", 66, 49], ["retry", 26, 3]],
  ],
  "messages that were said between the pages that are here and those that were read again": [5,
    [["say", 10, 55], ["deliver", 95, 79], ["retry", 3, 76], ["wait", 91, 26], ["say", 8, 13], ["offline", 68, 9], ["edit", 25, 9]],
  ],
  "messages that were on their way to a reader who was too slow": [443,
    [["tooSlow", 71, 64], ["reload", 11, 79], ["online", 26, 73], ["deliver", 40, 49], ["deliver", 27, 19], ["say", 78, 22], ["wait", 4, 95], ["tooSlow", 63, 11], ["progress", 96, 74], ["say", 90, 39], ["say", 25, 35],
      ["wait", 87, 79], ["progress", 95, 81], ["progress", 32, 56], ["deliver", 33, 31], ["deliver", 45, 87], ["deliver", 74, 7], ["wait", 93, 5], ["deliver", 60, 70], ["earlier", 93, 15], ["say", 43, 83], ["say", 16, 37],
      ["retry", 56, 72], ["tooSlow", 51, 49]],
  ],
};

function generated(seed) {
  const pick = randomFrom(seed);
  return Array.from({ length: 8 + pick(40) }, () => [OFTEN[pick(OFTEN.length)], pick(97), pick(97)]);
}

// The fault that this history shows, or null.
async function fault(seed, steps) {
  const world = await newWorld({ pick: randomFrom(seed), tabs: TABS });
  const watched = world.tabs.slice();
  try {
    for (const [name, a, b] of steps) {
      await STEPS[name](world, a, b);
      await world.advance(20);
      watched.forEach((tab) => shownOnce(tab, world.client));
    }
    await world.heard();
    if (!world.server.wasSetBack) for (const tab of watched) goingOn(tab, world);
    await world.quiet();
    const fresh = await world.fresh();
    for (const tab of [...watched, fresh]) {
      await world.allPages(tab);
      await world.allTraces(tab);
    }
    const runs = world.client.runsOf(fresh.state);
    equal(Object.keys(runs).sort(), [...world.server.runs.keys()].sort(), "the runs that a fresh page knows");
    const wanted = world.client.summary(fresh.state);
    equal(wanted.map(({ id }) => id), world.server.messages.map(({ id }) => id), "what a fresh page has");
    for (const tab of watched) {
      shownOnce(tab, world.client);
      equal(world.client.summary(tab.state), wanted, `tab ${tab.number}`);
      equal(world.client.runsOf(tab.state), runs, `how the runs went, by tab ${tab.number}`);
      equal(tab.state.outbox, [], `what tab ${tab.number} has not sent`);
      if (!Object.keys(tab.state.chosen).length) equal(shown(tab, world.client), shown(fresh, world.client), `the branch that tab ${tab.number} shows`);
    }
    return null;
  } catch (error) {
    return error.message;
  } finally {
    await world.end();
  }
}

// While a run goes on, a tab has of it what its log says, with what it asks of people. Of a log that was set back while the tab
// was away it cannot know, until it is over.
function goingOn(tab, { server, client }) {
  const had = client.runsOf(tab.state);
  for (const { id, log } of server.live()) {
    if (!had[id] || tab.state.executions[id].lastSeq === 0) continue;
    equal(tab.state.executions[id].lastSeq, log.length, `how much of ${id} tab ${tab.number} has heard`);
    equal(had[id], client.summaryOfTrace(log.reduce(client.applyToTrace, client.EMPTY_TRACE)), `how ${id} goes, by tab ${tab.number}`);
  }
}

// What the events of a recorded run say last of each task, agent, call and request; the fold has to say the same.
function plainly(events) {
  const last = (type, key, value) => Object.fromEntries(events.filter((event) => event.type === type).map((event) => [event[key], value(event)]));
  return {
    steps: last("plan_step_completed", "step_id", ({ status }) => status),
    agents: last("agent_state", "agent_id", ({ status }) => status),
    calls: last("tool_result", "id", ({ is_error }) => (is_error ? "failed" : "completed")),
    requests: { ...last("hitl_approved", "request_id", () => "approved"), ...last("hitl_denied", "request_id", () => "denied") },
  };
}

function folded(events, { summaryOfTrace, applyToTrace, EMPTY_TRACE }) {
  const { plan, tree, tools, requests } = summaryOfTrace(events.reduce(applyToTrace, EMPTY_TRACE));
  const statuses = (things) => Object.fromEntries(things.map(({ id, status }) => [id, status]));
  return { steps: statuses(plan?.steps ?? []), agents: statuses(tree), calls: statuses(tools.filter(({ kind }) => kind === "tool")), requests: statuses(requests) };
}

const sorted = (groups) => Object.values(groups).map((group) => Object.entries(group).sort());

const shown = ({ state }, { transcript }) => transcript(state).map(({ message, siblings }) => [message.id, siblings]);

function shownOnce(tab, { transcript }) {
  const { messages, outbox } = tab.state;
  const ids = messages.map(({ id }) => id);
  equal(ids.length, new Set(ids).size, `tab ${tab.number} has a message twice: ${ids}`);
  const rows = transcript(tab.state).map(({ message }) => message.id);
  equal(rows.length, new Set(rows).size, `tab ${tab.number} shows a message twice: ${rows}`);
  const stored = new Set(messages.map(({ client_id }) => client_id));
  equal(outbox.filter(({ client_id }) => stored.has(client_id)), [], `tab ${tab.number} shows as unsent what is stored`);
}

// The shortest history that still fails, found by leaving parts out.
async function shrunk(seed, steps) {
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < steps.length; ) {
      const fewer = steps.toSpliced(at, size);
      if (await fault(seed, fewer)) steps = fewer;
      else at += size;
    }
  }
  return steps;
}

const [count = 60, first = 1] = process.argv.slice(2).map(Number);
const faults = [];
{
  const { client } = await newWorld({ pick: randomFrom(1), tabs: TABS });
  for (const { events } of LOGS) equal(sorted(folded(events, client)), sorted(plainly(events)), "what a recorded run did");
}
for (const [name, [seed, steps]] of Object.entries(EXAMPLES)) {
  const found = await fault(seed, steps);
  if (found) faults.push(`${name}: ${found}`);
}
for (let seed = first; seed < first + count && faults.length < 3; seed += 1) {
  if (!(await fault(seed, generated(seed)))) continue;
  const steps = await shrunk(seed, generated(seed));
  faults.push(`seed ${seed}, ${JSON.stringify(steps)}: ${await fault(seed, steps)}`);
}
console.log(JSON.stringify({ histories: count + Object.keys(EXAMPLES).length, faults }));
process.exit(0); // the sessions that were left have timers
