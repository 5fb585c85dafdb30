// Moments as people say them, from ISO times. Pure: `now` in milliseconds is given.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [[DAY * 2, DAY, "days"], [HOUR * 2, HOUR, "hours"], [MINUTE * 2, MINUTE, "minutes"]];

// "3 days", "about an hour", "45 seconds": how long a span is. Rounded down, so that nothing is promised.
export function span(milliseconds) {
  const length = Math.max(0, milliseconds);
  for (const [from, unit, word] of STEPS) if (length >= from) return `${Math.floor(length / unit)} ${word}`;
  if (length >= DAY) return "a day";
  if (length >= HOUR) return "an hour";
  if (length >= MINUTE) return "a minute";
  const seconds = Math.floor(length / 1000);
  return `${seconds} ${seconds === 1 ? "second" : "seconds"}`;
}

// "in 2 days"; a moment that is over is "now".
export function fromNow(iso, now) {
  const left = Date.parse(iso) - now;
  return left < 1000 ? "now" : `in ${span(left)}`;
}

export function ago(iso, now) {
  const gone = now - Date.parse(iso);
  return gone < MINUTE ? "just now" : `${span(gone)} ago`;
}

// "14:02", "yesterday 14:02", "20 Nov, 14:02": as short as it is clear, in the reader's own time.
export function moment(iso, now, locale = undefined) {
  const then = new Date(iso);
  const time = then.toLocaleTimeString(locale, { hour: "numeric", minute: "2-digit" });
  const days = Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(then).setHours(0, 0, 0, 0)) / DAY);
  if (days === 0) return time;
  if (days === 1) return `yesterday ${time}`;
  if (days === -1) return `tomorrow ${time}`;
  const year = then.getFullYear() === new Date(now).getFullYear() ? {} : { year: "numeric" };
  return `${then.toLocaleDateString("en-GB", { day: "numeric", month: "short", ...year })}, ${time}`;
}

// When to be asked again: [{label, iso}], none of them after the request's time is over.
export function laterChoices(now, expiresAt) {
  const end = expiresAt ? Date.parse(expiresAt) : Infinity;
  const morning = (days) => {
    const day = new Date(now);
    day.setDate(day.getDate() + days);
    return day.setHours(9, 0, 0, 0);
  };
  const weekday = (time) => new Date(time).toLocaleDateString("en", { weekday: "long" });
  return [
    { label: "In an hour", time: now + HOUR },
    { label: "In four hours", time: now + 4 * HOUR },
    { label: "Tomorrow at 9:00", time: morning(1) },
    { label: `${weekday(morning(2))} at 9:00`, time: morning(2) },
    { label: `${weekday(morning(7))} in a week, 9:00`, time: morning(7) },
  ].filter(({ time }) => time < end).map(({ label, time }) => ({ label, iso: new Date(time).toISOString() }));
}
