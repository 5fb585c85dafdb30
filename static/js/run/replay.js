// The state of a run after any number of its events: the fold of the beginning of its log. Checkpoints keep every place near.
import { EMPTY, reduce } from "../store.js";

const EVERY = 250; // events between two checkpoints

// The conversation as it is before the first event: a reply that nothing was told of.
function beginning(executionId) {
  return reduce(EMPTY, {
    type: "replied",
    reply: { id: "reply", parent_id: null, role: "assistant", text: "", created_at: "", execution: { id: executionId, status: "pending" } },
  });
}

const fold = (state, events) => (events.length ? reduce(state, { type: "events", events }) : state);

export function createReplay(executionId, every = EVERY) {
  const events = [];
  const times = []; // of each event; never backwards, so that it can be searched
  const checkpoints = [beginning(executionId)]; // [i]: the state after i × `every` events
  let near = { position: 0, state: checkpoints[0] };

  // What is not the next event is left out. Gives how many there are now.
  function extend(more) {
    for (const event of more) {
      if (event.seq !== events.length + 1) continue;
      events.push(event);
      times.push(Math.max(times.at(-1) ?? 0, event.timestamp ?? 0));
    }
    return events.length;
  }

  function checkpoint(index) {
    while (checkpoints.length <= index) {
      const from = (checkpoints.length - 1) * every;
      checkpoints.push(fold(checkpoints.at(-1), events.slice(from, from + every)));
    }
    return checkpoints[index];
  }

  // The execution as it was when so many events were told.
  function at(position) {
    const wanted = Math.max(0, Math.min(position, events.length));
    const index = Math.floor(wanted / every);
    const isNear = near.position <= wanted && near.position >= index * every;
    const from = isNear ? near : { position: index * every, state: checkpoint(index) };
    near = { position: wanted, state: fold(from.state, events.slice(from.position, wanted)) };
    return near.state.executions[executionId];
  }

  // How many events were told by then.
  function positionAt(time) {
    let low = 0;
    for (let high = times.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    extend,
    at,
    positionAt,
    timeOf: (position) => (position > 0 ? times[Math.min(position, times.length) - 1] : (times[0] ?? null)),
    event: (position) => events[position - 1] ?? null,
    get length() {
      return events.length;
    },
  };
}
