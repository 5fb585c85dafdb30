// The time of now for what is drawn, once a second while something runs.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { clock, duration } from "../activity.js";
import { elapsed } from "../plan.js";

const LEAST_MS = 50; // less would read as nothing

export function useNow(isTicking) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!isTicking) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}

// How long something took, or takes so far: a clock of its own, so that what is around it is left alone.
export function Elapsed({ of, isLive }) {
  const ticks = isLive && of.startedAt !== null && of.endedAt === null;
  const now = useNow(ticks);
  if (ticks) return html`<span class="elapsed">${clock(elapsed(of, now))}</span>`;
  const took = of.endedAt === null ? null : elapsed(of);
  return took === null || took < LEAST_MS ? null : html`<span class="elapsed">${duration(took)}</span>`;
}
