// When who worked: a lane for each agent with its calls and its waits for people, and the answer as it stood at that moment.
import { html, useMemo, useRef } from "../../vendor/preact.js";
import { duration, statusWords } from "../activity.js";
import { agentIcon, agentLabel } from "../agents.js";
import { Icon } from "../components/icons.js";
import { Prose } from "../components/prose.js";
import { useNow } from "../components/ticking.js";
import { language, t, tn } from "../i18n.js";
import { streamedText } from "../store.js";
import { lanesOf, seenMarks, ticksOf } from "./lanes.js";

const WIDTH = 1000; // of a lane, in its own units

export function TimelinePart({ run, execution, isLive, showAgent, said }) {
  const goesOn = !run.isOver.value;
  const now = useNow(goesOn);
  const { clock, start, end } = run.times(now);
  const { trace } = run.end.value;
  const lanes = useMemo(() => lanesOf(trace, end, goesOn), [trace, end, goesOn]);
  const text = execution.answer ?? streamedText(execution, "answer");
  const area = useRef(null);
  const place = run.moment.value === null ? null : clock.placeOf(run.moment.value);

  function seek(event) {
    const { left, width } = area.current.getBoundingClientRect();
    const part = (event.clientX - left) / width;
    run.pause();
    run.seekTime(clock.timeAt((getComputedStyle(area.current).direction === "rtl" ? 1 - part : part) * clock.total));
  }

  return html`<div class="lanes" role="group" aria-label=${t("Agents over time")}>
      <div class="lanes-axis" aria-hidden="true"><span></span><div class="lanes-ticks" ref=${area} onPointerDown=${seek}>${ticksOf(clock.total).filter((tick) => tick <= clock.total * 0.9).map((tick) => html`<span key=${tick} style=${{ "--at": String(clock.total ? tick / clock.total : 0) }}>${tickWords(tick, clock.total)}</span>`)}</div></div>
      <ul class="lanes-list">${lanes.map((lane) => html`<${Lane} key=${lane.agent.id} lane=${lane} clock=${clock} showAgent=${showAgent} />`)}</ul>
      ${place !== null && html`<div class="lanes-now" aria-hidden="true"><span style=${{ "--place": String(place) }}></span></div>`}
    </div>
    <p class="lanes-key muted small" aria-hidden="true"><span><i class="is-bar"></i>${t("at work")}</span><span><i class="is-mark"></i>${t("tool call")}</span><span><i class="is-failed"></i>${t("failed")}</span><span><i class="is-wait"></i>${t("waits for a person")}</span></p>
    <section class="run-answer" aria-label=${t("The answer at this moment")}>
      <h3 class="run-heading">${run.cursor.value === null ? t("Answer") : t("The answer at this moment")}</h3>
      ${text ? html`<${Prose} text=${text} live=${isLive} sources=${execution.sources} said=${said} />` : html`<p class="muted small">${t("Nothing of it was written yet.")}</p>`}
    </section>`;
}

function tickWords(tick, total) {
  const count = (part) => ({ count: (tick / part).toLocaleString(language) });
  if (total < 2_000) return t("{count} ms", count(1));
  if (total < 120_000) return t("{count} s", count(1_000));
  return total < 7_200_000 ? t("{count} min", count(60_000)) : t("{count} h", count(3_600_000));
}

function Lane({ lane, clock, showAgent }) {
  const { agent, depth, status, from, to, waits } = lane;
  const marks = useMemo(() => seenMarks(lane.marks, clock.placeOf), [lane.marks, clock]);
  const x = (time) => Math.round(clock.placeOf(time) * WIDTH * 10) / 10;
  const calls = lane.marks.filter(({ kind }) => kind === "tool").length;
  const name = depth === 0 ? t("Run") : agentLabel(agent.name);
  const words = [name, statusWords(status), from === null ? null : duration(to - from), calls ? tn("{count} tool call", "{count} tool calls", calls) : null].filter(Boolean).join(", ");
  const path = (group) => marks.filter((mark) => mark.group === group).map(({ place }) => `M${Math.round(place * WIDTH * 10) / 10} 6v12`).join("");
  return html`<li class=${`lane is-${status}`} data-agent=${agent.id} data-status=${status}>
    <button type="button" class="lane-name" style=${{ "--depth": String(Math.min(depth, 5)) }} title=${agent.task || name} aria-label=${words} onClick=${() => showAgent(agent.id)}><${Icon} name=${depth === 0 ? "branch" : agentIcon(agent.name)} /><span dir="auto">${name}</span></button>
    <svg class="lane-bar" viewBox=${`0 0 ${WIDTH} 24`} preserveAspectRatio="none" aria-hidden="true">
      ${from !== null && html`<rect class="lane-work" x=${x(from)} y="8" width=${Math.max(3, x(to) - x(from))} height="8" rx="3" />`}
      ${waits.map((wait) => html`<g key=${wait.from} class="lane-wait"><rect x=${x(wait.from)} y="6" width=${Math.max(4, x(wait.to) - x(wait.from))} height="12" /><path d=${hatch(x(wait.from), Math.max(4, x(wait.to) - x(wait.from)))} /></g>`)}
      ${["model", "tool", "failed"].map((group) => html`<path key=${group} class=${`lane-marks is-${group}`} d=${path(group)} />`)}
    </svg>
  </li>`;
}

// Slanting lines over a span: a pattern of the page's own colours needs no id.
function hatch(from, width) {
  const lines = [];
  for (let at = from + 4; at < from + width; at += 10) lines.push(`M${at} 18l${Math.min(6, from + width - at)} -12`);
  return lines.join("");
}
