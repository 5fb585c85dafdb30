// Which conversations got an answer that was not looked at in this browser: remembered by when each was last open.
import { signal } from "../vendor/preact.js";

const KEPT = 500;

export function createUnread(userId) {
  const key = `hyperagent.seen.${userId}`;
  const state = signal(read(key));

  function note(id, at = new Date().toISOString()) {
    const { since, seen } = state.peek();
    if (!id || (seen[id] ?? "") >= at) return;
    const newest = Object.entries({ ...seen, [id]: at }).sort(([, a], [, b]) => (a < b ? 1 : -1)).slice(0, KEPT);
    state.value = { since, seen: Object.fromEntries(newest) };
    write(key, state.peek());
  }

  addEventListener("storage", (event) => {
    if (event.key === key) state.value = read(key);
  });
  // Times of the server and of this machine may differ by seconds: what was just open is not unread.
  const isUnread = ({ id, updated_at, running }) => !running && Date.parse(updated_at) > Date.parse(state.value.seen[id] ?? state.value.since) + SLACK_MS;
  return { note, isUnread };
}

const SLACK_MS = 2_000;

function read(key) {
  try {
    const found = JSON.parse(localStorage.getItem(key));
    if (found?.since && found.seen) return found;
  } catch {
    // Blocked, or nonsense: as if it were new.
  }
  const fresh = { since: new Date().toISOString(), seen: {} };
  write(key, fresh);
  return fresh;
}

function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Known in this tab only.
  }
}
