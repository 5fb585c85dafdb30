// What the cases share: a comparison that says what it found, numbered events, and connections that break.

export const RUN = "11111111-0000-4000-8000-000000000001";

export function equal(found, wanted, what = "value") {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: found ${a}, wanted ${b}`);
}

export const numbered = (bodies, id = RUN) => bodies.map((body, index) => ({ seq: index + 1, execution_id: id, agent_id: "chat", timestamp: 1000 + index, ...body }));

// A small generator of random numbers, so that a failing seed can be run again.
export function randomFrom(seed) {
  let state = seed * 2654435761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) >>> 0;
    return (state >>> 3) % below;
  };
}

// What one connection brings: from some number on, broken off somewhere, with repetitions and losses.
export function delivered(pick, events, after) {
  const from = Math.max(0, after - pick(3));
  const batch = events.slice(from, from + 1 + pick(events.length));
  return batch.flatMap((event) => (pick(20) === 0 ? [] : pick(10) === 0 ? [event, event] : [event]));
}
