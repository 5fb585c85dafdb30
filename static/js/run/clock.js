// The time of a run as it is drawn and played: as it went, or with the waits for people cut short. Pure; all in milliseconds.

const LEAST_WAIT_MS = 3_000; // a shorter one is no wait
const SHOWN_MS = 1_000; // what is left of one that is skipped

// The spans in which nothing happened but that a person was asked: [{from, to}] in order, none over another.
export function waitsOf(trace, end) {
  const asked = trace.requests.filter(({ askedAt }) => askedAt !== null).map(({ askedAt, endedAt }) => ({ from: askedAt, to: endedAt ?? end }));
  if (!asked.length) return [];
  const moments = [...new Set([...momentsOf(trace), ...asked.flatMap(({ from, to }) => [from, to])])].sort((one, other) => one - other);
  const spans = moments.slice(1).map((to, index) => ({ from: moments[index], to }));
  return spans.filter(({ from, to }) => to - from >= LEAST_WAIT_MS && asked.some((one) => one.from <= from && to <= one.to));
}

// When something happened.
function momentsOf(trace) {
  const found = trace.agents.flatMap(({ bornAt, startedAt, endedAt, entries }) => [bornAt, startedAt, endedAt, ...entries.flatMap((entry) => [entry.at, entry.endedAt])]);
  return found.filter((moment) => moment !== null && moment !== undefined);
}

// Between the run's own time and the time that is played. `skips`: the waits are cut to a moment.
export function clockOf({ start, end, waits, skips }) {
  const pieces = [];
  let played = 0;
  const add = (from, to, length) => {
    if (to <= from) return;
    pieces.push({ from, to, played, length });
    played += length;
  };
  let at = start;
  for (const { from, to } of skips ? waits : []) {
    add(at, from, from - at);
    add(from, to, Math.min(to - from, SHOWN_MS));
    at = to;
  }
  add(at, end, end - at);

  const within = (value, from, length) => (length === 0 ? 0 : Math.max(0, Math.min(1, (value - from) / length)));

  function playedAt(time) {
    const piece = pieces.find(({ to }) => time < to) ?? pieces.at(-1);
    return piece ? piece.played + within(time, piece.from, piece.to - piece.from) * piece.length : 0;
  }

  function timeAt(moment) {
    const piece = pieces.find(({ played: begun, length }) => moment < begun + length) ?? pieces.at(-1);
    return piece ? piece.from + within(moment, piece.played, piece.length) * (piece.to - piece.from) : start;
  }

  return { total: played, playedAt, timeAt, placeOf: (time) => (played === 0 ? 0 : playedAt(time) / played) };
}
