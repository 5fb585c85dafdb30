// Values as text for people, never longer than can be looked at.
import { tn } from "./i18n.js";

const LONGEST = 4_000; // characters

export function clipped(text, longest = LONGEST) {
  return text.length > longest ? `${text.slice(0, longest)}\n… ${tn("{count} more character", "{count} more characters", text.length - longest)}` : text;
}

export function pretty(value) {
  return clipped(JSON.stringify(value, null, 2) ?? "");
}

// The arguments of a call in one line: `query: "pricing", top_k: 8`.
export function inline(args) {
  const parts = Object.entries(args ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const line = parts.join(", ");
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

// All of a text, JSON set out in lines.
export function setOut(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// A tool's result: JSON that came whole is set out in lines, anything else stands as it is.
export function shownResult(text, isClipped) {
  if (isClipped || !/^\s*[[{]/.test(text)) return clipped(text);
  try {
    return pretty(JSON.parse(text));
  } catch {
    return clipped(text);
  }
}
