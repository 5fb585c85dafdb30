// Words for people: what a run does, how long it took, what it used. Pure.

const DOING = {
  pending: "Waiting for a free worker",
  running: "Working",
  awaiting_user: "Waiting for your decision",
  thinking: "Thinking",
  writing: "Writing",
  resuming: "A worker stopped; another one goes on",
};

export function doing(execution) {
  const { kind, text } = execution.activity ?? { kind: execution.status, text: "" };
  if (kind === "stage") return text;
  if (kind === "tool") return `Using ${text}`;
  return DOING[kind] ?? "Working";
}

export function duration(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

// Whole seconds, for a clock that ticks.
export function clock(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function cost(usd) {
  if (usd === null || usd === undefined) return "price unknown";
  if (usd === 0) return "no cost";
  if (usd < 0.0001) return "under $0.0001";
  return `$${usd.toFixed(usd < 0.01 ? 4 : 2)}`;
}

// The facts below an answer: model, time, tokens, money. Only what is known.
export function facts({ model, usage, startedAt, endedAt }) {
  const tokens = usage ? usage.prompt_tokens + usage.completion_tokens : 0;
  return [
    model,
    startedAt !== null && endedAt - startedAt >= 50 ? duration(endedAt - startedAt) : null,
    tokens ? `${tokens.toLocaleString("en")} tokens` : null,
    tokens ? cost(usage.cost_usd) : null,
  ].filter(Boolean);
}
