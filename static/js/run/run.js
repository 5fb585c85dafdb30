// One run that is looked at: its log, the state that is shown, and the replay. The page's live state is used while the run goes on
// and is followed; everything else is the fold of its recorded events.
import { batch, computed, signal } from "../../vendor/preact.js";
import { isLive } from "../store.js";
import { clockOf, waitsOf } from "./clock.js";
import { readLog } from "./log.js";
import { createReplay } from "./replay.js";

const LOOK_MS = 2_000; // how often a run is looked after of which this page hears nothing, or that is looked at in its past
const OVER = new Set(["complete", "error"]);
const GONE = 410; // kept no longer, which is no fault
const FINAL = new Set([404, GONE]); // asking again is of no use
export const SPEEDS = [0.25, 0.5, 1, 2, 5, 10, 50];

export function createRun({ executionId, session, api }) {
  const replay = createReplay(executionId);
  const told = signal(0); // how many of its events are here
  const reading = signal(false);
  const failure = signal(null);
  const moment = signal(null); // the time that is looked at; null: its end, which is followed
  const cursor = signal(null); // how many events were told by then
  const playing = signal(false);
  const speed = signal(1);
  const skips = signal(true);
  let timer = null;
  let frame = null;
  let isClosed = false;

  const heard = computed(() => session.state.value.executions[executionId] ?? null);
  const isWhole = computed(() => told.value > 0 && OVER.has(replay.event(told.value)?.type));

  // As it is now, or was at its end. Null while nothing is known.
  const end = computed(() => {
    if (isWhole.value) return replay.at(told.value);
    const here = heard.value;
    if (here && (isLive(here) || here.trace.whole)) return here;
    return told.value > 0 ? replay.at(told.value) : null;
  });
  const shown = computed(() => (cursor.value === null ? end.value : replay.at(cursor.value)));
  const isOver = computed(() => end.value !== null && !isLive(end.value));

  async function read() {
    if (reading.value) return;
    reading.value = true;
    failure.value = null;
    try {
      await readLog({
        read: (after) => api.listEventsAfter(executionId, after),
        after: replay.length,
        until: session.state.peek().executions[executionId]?.lastSeq ?? 0,
        found: (events) => {
          if (!isClosed) told.value = replay.extend(events);
        },
      });
    } catch (error) {
      if (!isClosed) failure.value = { message: error.message, isMissing: error.status === 404, isGone: error.status === GONE, isFinal: FINAL.has(error.status) };
    } finally {
      reading.value = false;
    }
    if (!isClosed && !isWhole.value && !failure.value?.isFinal) later();
  }

  // Whoever asks to read at once has begun another round: of two that wait one is enough.
  function later() {
    clearTimeout(timer);
    timer = setTimeout(again, LOOK_MS);
  }

  // The log is needed behind what is here only if somebody looks back, or if nobody else tells how it goes on.
  function again() {
    if (isClosed) return;
    const here = heard.peek();
    if (cursor.peek() !== null || !here || !isLive(here)) void read();
    else later();
  }

  function timesAt(now) {
    const { trace, startedAt, endedAt } = end.value;
    const start = replay.length ? replay.timeOf(0) : (startedAt ?? now);
    const until = isOver.value ? (replay.length ? replay.timeOf(replay.length) : (endedAt ?? now)) : now;
    const last = Math.max(start, until);
    const waits = waitsOf(trace, last);
    return { start, end: last, waits, clock: clockOf({ start, end: last, waits, skips: skips.value }) };
  }
  const restingTimes = computed(() => (isOver.value ? timesAt(0) : null));

  // When it began and ends, and its clock. `now` counts for a run that goes on.
  const times = (now) => restingTimes.value ?? timesAt(now);

  function show(position, time) {
    batch(() => {
      cursor.value = position;
      moment.value = time;
    });
  }

  function seek(position) {
    pause();
    const wanted = Math.max(0, Math.min(position, replay.length));
    show(wanted, replay.timeOf(wanted));
  }

  function seekTime(time) {
    show(replay.positionAt(time), time);
  }

  // One event on or back.
  const step = (count) => seek((cursor.value ?? replay.length) + count);

  // Back to the end, and on with it.
  function follow() {
    pause();
    show(null, null);
  }

  function play() {
    if (playing.value || !replay.length) return;
    const from = cursor.value === null || cursor.value >= replay.length ? times(Date.now()).start : moment.value;
    seekTime(from);
    playing.value = true;
    let before = null;
    const draw = (now) => {
      if (!playing.value) return;
      const { clock } = times(Date.now());
      const played = clock.playedAt(moment.value) + (before === null ? 0 : (now - before) * speed.value);
      before = now;
      if (played >= clock.total || cursor.value >= replay.length) return void seek(replay.length);
      seekTime(clock.timeAt(played));
      frame = requestAnimationFrame(draw);
    };
    frame = requestAnimationFrame(draw);
  }

  function pause() {
    playing.value = false;
    cancelAnimationFrame(frame);
  }

  void read();
  return {
    executionId, told, reading, failure, moment, cursor, playing, speed, skips, end, shown, isOver, isWhole, times,
    read, seek, seekTime, step, follow, play, pause,
    toggle: () => (playing.value ? pause() : play()),
    close: () => {
      isClosed = true;
      pause();
      clearTimeout(timer);
    },
  };
}
