// The replay's controls: a scrubber over the run's time with its waits hatched, play, step by step, speed, and back to its end.
import { html, useRef } from "../../vendor/preact.js";
import { clock as clockWords } from "../activity.js";
import { Icon } from "../components/icons.js";
import { useNow } from "../components/ticking.js";
import { language, t } from "../i18n.js";
import { SPEEDS } from "./run.js";

const PAGE = 0.1; // of the whole

export function Transport({ run }) {
  const isLive = !run.isOver.value;
  const now = useNow(isLive);
  const times = run.times(now);
  const isReady = run.told.value > 0;
  const isPast = run.cursor.value !== null;
  const { clock, waits, start } = times;
  const until = run.moment.value ?? times.end;
  const at = run.cursor.value ?? run.told.value;
  return html`<div class="run-transport" role="group" aria-label=${t("Replay")}>
    <${Scrubber} run=${run} times=${times} isReady=${isReady} />
    <div class="run-controls">
      <button type="button" class="icon-button small" disabled=${!isReady || at === 0} onClick=${() => run.step(-1)} aria-label=${t("One event back")} title=${t("One event back")}><${Icon} name="stepBack" /></button>
      <button type="button" class="icon-button run-play" disabled=${!isReady} onClick=${run.toggle} aria-label=${run.playing.value ? t("Pause") : t("Play")} title=${run.playing.value ? t("Pause") : t("Play")}><${Icon} name=${run.playing.value ? "pause" : "play"} /></button>
      <button type="button" class="icon-button small" disabled=${!isReady || !isPast || at >= run.told.value} onClick=${() => run.step(1)} aria-label=${t("One event on")} title=${t("One event on")}><${Icon} name="stepOn" /></button>
      ${isLive
        ? isPast && html`<button type="button" class="quiet-button" onClick=${run.follow}><span class="pulse" aria-hidden="true"></span>${t("Live")}</button>`
        : html`<button type="button" class="icon-button small" disabled=${!isPast} onClick=${run.follow} aria-label=${t("To the end")} title=${t("To the end")}><${Icon} name="toEnd" /></button>`}
      <span class="run-clock"><span>${clockWords(until - start)}</span><span class="muted"> / ${clockWords(times.end - start)}</span></span>
      <span class="composer-gap"></span>
      ${waits.length > 0 && html`<button type="button" class="quiet-button" aria-pressed=${run.skips.value ? "true" : "false"} onClick=${() => (run.skips.value = !run.skips.value)}>${t("Skip the waits")}</button>`}
      <label class="run-speed"><span class="visually-hidden">${t("Speed")}</span><select value=${String(run.speed.value)} onChange=${(event) => (run.speed.value = Number(event.currentTarget.value))}>
        ${SPEEDS.map((speed) => html`<option key=${speed} value=${String(speed)}>${speed.toLocaleString(language)}×</option>`)}</select></label>
    </div>
  </div>`;
}

function Scrubber({ run, times, isReady }) {
  const track = useRef(null);
  const { clock, waits, start } = times;
  const at = run.cursor.value ?? run.told.value;
  const place = run.moment.value === null ? 1 : clock.placeOf(run.moment.value);

  function seekTo(event) {
    const { left, width } = track.current.getBoundingClientRect();
    const isRtl = getComputedStyle(track.current).direction === "rtl";
    const part = Math.max(0, Math.min(1, (event.clientX - left) / width));
    run.pause();
    run.seekTime(clock.timeAt((isRtl ? 1 - part : part) * clock.total));
  }

  function onKeyDown(event) {
    const isRtl = getComputedStyle(track.current).direction === "rtl";
    const page = Math.max(1, Math.round(run.told.value * PAGE));
    const by = { ArrowRight: isRtl ? -1 : 1, ArrowLeft: isRtl ? 1 : -1, ArrowUp: 1, ArrowDown: -1, PageUp: page, PageDown: -page }[event.key];
    if (by) run.step(by);
    else if (event.key === "Home") run.seek(0);
    else if (event.key === "End") run.follow();
    else return;
    event.preventDefault();
  }

  const words = t("{time}, event {at} of {count}", { time: clockWords((run.moment.value ?? times.end) - start), at, count: run.told.value });
  return html`<div class="run-scrubber" ref=${track} role="slider" tabindex=${isReady ? 0 : -1} aria-disabled=${isReady ? null : "true"} aria-label=${t("Moment of the run")} aria-valuemin="0" aria-valuemax=${run.told.value} aria-valuenow=${at} aria-valuetext=${words}
    style=${{ "--place": String(place) }} onKeyDown=${onKeyDown}
    onPointerDown=${(event) => {
      if (!isReady || event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      event.currentTarget.focus({ preventScroll: true });
      seekTo(event);
    }}
    onPointerMove=${(event) => event.currentTarget.hasPointerCapture(event.pointerId) && seekTo(event)}>
    <span class="run-track"></span>
    ${waits.map(({ from, to }) => html`<span key=${from} class="run-track-wait" style=${{ "--from": String(clock.placeOf(from)), "--to": String(clock.placeOf(to)) }}></span>`)}
    <span class="run-track-done"></span><span class="run-thumb"></span>
  </div>`;
}
