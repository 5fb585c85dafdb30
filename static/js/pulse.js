// Whether a socket's line still leads anywhere: it is asked now and then, and dead once nothing came for a while after it was
// asked. The time without a word says nothing by itself: of a tab that nobody looks at browsers run the timers but once a minute.

const EVERY_MS = 20_000;
const PATIENCE_MS = 30_000; // after a question: two went unheard
const ASLEEP_MS = 150_000; // no timer waits so long: the machine slept, and the line is hardly there any more

// `ask()` sends a question, and is true if there was an open socket to send it by; `dead()` is called when its line is. Gives
// `heard()`, to be called with whatever comes and when a socket opens, and `stop()`.
export function startPulse({ ask, dead }) {
  let heardAt = Date.now();
  let askedAt = null; // and nothing was heard since

  function heard() {
    heardAt = Date.now();
    askedAt = null;
  }

  const timer = setInterval(() => {
    if (!ask()) return;
    const now = Date.now();
    const isDead = now - (askedAt ?? now) > PATIENCE_MS || now - heardAt > ASLEEP_MS;
    askedAt ??= now;
    if (isDead) {
      heard(); // of the next one
      dead();
    }
  }, EVERY_MS);

  return { heard, stop: () => clearInterval(timer) };
}
