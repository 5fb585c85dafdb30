// Moments as people say them, from ISO times. Pure: `now` in milliseconds is given.
import { language, t, tn } from "./i18n.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  [DAY * 2, DAY, "days"], [DAY, DAY, "day"], [HOUR * 2, HOUR, "hours"], [HOUR, HOUR, "hour"], [MINUTE * 2, MINUTE, "minutes"], [MINUTE, MINUTE, "minute"], [0, 1000, "seconds"],
];
// Whole phrases: in other languages the unit itself changes after "in" and before "ago".
const LASTING = {
  days: (count) => tn("{count} day", "{count} days", count), day: () => t("a day"),
  hours: (count) => tn("{count} hour", "{count} hours", count), hour: () => t("an hour"),
  minutes: (count) => tn("{count} minute", "{count} minutes", count), minute: () => t("a minute"),
  seconds: (count) => tn("{count} second", "{count} seconds", count),
};
const COMING = {
  days: (count) => tn("in {count} day", "in {count} days", count), day: () => t("in a day"),
  hours: (count) => tn("in {count} hour", "in {count} hours", count), hour: () => t("in an hour"),
  minutes: (count) => tn("in {count} minute", "in {count} minutes", count), minute: () => t("in a minute"),
  seconds: (count) => tn("in {count} second", "in {count} seconds", count),
};
const GONE = {
  days: (count) => tn("{count} day ago", "{count} days ago", count), day: () => t("a day ago"),
  hours: (count) => tn("{count} hour ago", "{count} hours ago", count), hour: () => t("an hour ago"),
  minutes: (count) => tn("{count} minute ago", "{count} minutes ago", count), minute: () => t("a minute ago"),
  seconds: (count) => tn("{count} second ago", "{count} seconds ago", count),
};

function said(milliseconds, phrases) {
  const length = Math.max(0, milliseconds);
  const [, unit, name] = STEPS.find(([from]) => length >= from);
  return phrases[name](Math.floor(length / unit));
}

// "3 days", "an hour", "45 seconds": how long a span is. Rounded down, so that nothing is promised.
export const span = (milliseconds) => said(milliseconds, LASTING);

// "in 2 days", days to the nearest; a moment that is over is "now".
export function fromNow(iso, now) {
  const left = Date.parse(iso) - now;
  return left < 1000 ? t("now") : said(nearest(left), COMING);
}

// What is set to end in 30 days has not 29 a moment later. The last hour is counted down by what is whole.
function nearest(left) {
  const unit = left < HOUR - MINUTE ? 1 : left < DAY - MINUTE ? MINUTE : DAY;
  return Math.round(left / unit) * unit;
}

export function ago(iso, now) {
  const gone = now - Date.parse(iso);
  return gone < MINUTE ? t("just now") : said(gone, GONE);
}

// English dates stand as in Europe; the clock is the reader's own while the page is English.
const DATES = language === "en" ? "en-GB" : language;
const CLOCK = language === "en" ? undefined : language;

// "14:02", "yesterday 14:02", "20 Nov, 14:02": as short as it is clear, in the reader's own time.
export function moment(iso, now, locale = CLOCK) {
  const then = new Date(iso);
  const time = then.toLocaleTimeString(locale, { hour: "numeric", minute: "2-digit" });
  const days = Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(then).setHours(0, 0, 0, 0)) / DAY);
  if (days === 0) return time;
  if (days === 1) return t("yesterday {time}", { time });
  if (days === -1) return t("tomorrow {time}", { time });
  const year = then.getFullYear() === new Date(now).getFullYear() ? {} : { year: "numeric" };
  return t("{date}, {time}", { date: then.toLocaleDateString(DATES, { day: "numeric", month: "short", ...year }), time });
}

// When to be asked again: [{label, iso}], none of them after the request's time is over.
export function laterChoices(now, expiresAt) {
  const end = expiresAt ? Date.parse(expiresAt) : Infinity;
  const morning = (days) => {
    const day = new Date(now);
    day.setDate(day.getDate() + days);
    return day.setHours(9, 0, 0, 0);
  };
  const weekday = (time) => new Date(time).toLocaleDateString(language, { weekday: "long" });
  return [
    { label: t("In an hour"), time: now + HOUR },
    { label: t("In four hours"), time: now + 4 * HOUR },
    { label: t("Tomorrow at 9:00"), time: morning(1) },
    { label: t("{weekday} at 9:00", { weekday: weekday(morning(2)) }), time: morning(2) },
    { label: t("{weekday} in a week, 9:00", { weekday: weekday(morning(7)) }), time: morning(7) },
  ].filter(({ time }) => time < end).map(({ label, time }) => ({ label, iso: new Date(time).toISOString() }));
}
