// Reads a run's event log by pages: those that are known to be there at once, the rest one after the other.

const PAGE = 500; // events; the server gives no more
const AT_ONCE = 4; // a browser has six lines to one server

// `read(after)` → {results, next}. `until`: the number of its last event, as far as it is known. `found(events)` is given what
// came, in order and without a gap; resolves when there is no more for now.
export async function readLog({ read, after = 0, until = 0, found }) {
  let last = after;
  const take = (events) => {
    const fresh = inOrder(events, last);
    last += fresh.length;
    if (fresh.length) found(fresh);
    return fresh.length;
  };
  const starts = [];
  for (let from = last; from < until; from += PAGE) starts.push(from);
  for (let at = 0; at < starts.length; at += AT_ONCE) {
    const pages = await Promise.all(starts.slice(at, at + AT_ONCE).map((from) => (from < last ? null : read(from))));
    take(pages.flatMap((page) => page?.results ?? []));
  }
  // A page may hold fewer than it could, and a run that goes on has more by now.
  for (let page = null; !page?.isLast; ) {
    const answer = await read(last);
    page = { isLast: take(answer.results) === 0 || !answer.next };
  }
  return last;
}

// The events behind number `last`, up to the first that is missing.
function inOrder(events, last) {
  const known = new Map(events.map((event) => [event.seq, event]));
  const fresh = [];
  for (let seq = last + 1; known.has(seq); seq += 1) fresh.push(known.get(seq));
  return fresh;
}
