// What agents did with their hands, as a pure fold over the entries of one agent: programs with their output, charts, pictures,
// files, the browser, apps. Each function: (entries, event) → entries. An entry is changed in its place and never taken out.
import { t } from "./i18n.js";
import { ownHref, previewHref } from "./places.js";

const KEPT_CHARS = 400_000; // of one program's output; what is dropped is in its middle
const KEPT_PARTS = 2_000;
const gap = () => `\n… ${t("the middle of the output is left out here")} …\n`;

export const HANDS = {
  terminal_command: began,
  terminal_output: (entries, event) => printed(entries, event, "out"),
  terminal_error: (entries, event) => printed(entries, event, "err"),
  terminal_complete: (entries, event) => ended(entries, event, event.exit_code ?? null),
  code_result: gave,
  visualization: (entries, { title, spec, path, timestamp }) => added(entries, { kind: "chart", title: title ?? "", spec: spec ?? {}, path: path ?? "", at: timestamp ?? null }),
  image: (entries, { path, alt, version, timestamp }) => added(entries, { kind: "image", path, alt: alt ?? "", version: version ?? null, at: timestamp ?? null }),
  workspace_update: (entries, event) => added(entries, {
    kind: "file", path: event.path, operation: event.operation, scope: event.scope ?? "conversation", scopeId: event.scope_id ?? null,
    size: event.size_bytes ?? null, type: event.media_type ?? "", version: event.version ?? null, at: event.timestamp ?? null,
  }),
  browser_action: (entries, { action, target, url, title, screenshot, timestamp }) =>
    added(entries, { kind: "browser", action, target: target ?? "", url: url ?? "", title: title ?? "", screenshot: screenshot ?? "", at: timestamp ?? null }),
  browser_stream: (entries, { url, timestamp }) => added(entries, { kind: "stream", url, at: timestamp ?? null }),
  app_preview: (entries, { url, title, port, timestamp }) => added(entries, { kind: "preview", url, title: title ?? "", port: port ?? null, at: timestamp ?? null }),
};

const added = (entries, entry) => [...entries, entry];

const isOpen = (entry) => entry.kind === "program" && entry.status === "running";

const isLost = (entry) => entry.kind === "program" && entry.status === "lost";

// The program that an event tells of: by its id, else the last one that still runs. Of a program that another worker began anew
// what was told before is not told again, its beginning not either: with an id that nobody knows it is the one that was lost.
function placeOf(entries, id) {
  if (!id) return entries.findLastIndex(isOpen);
  const known = entries.findLastIndex((entry) => entry.kind === "program" && entry.id === id);
  return known >= 0 ? known : entries.findLastIndex(isLost);
}

// It goes on, and what is known of its output may have gaps.
const again = (entry, id) => (isLost(entry) ? { ...entry, id: id ?? entry.id, status: "running", hasGaps: true } : entry);

// A program that a lost worker was running is begun anew by another one: it takes the place of the first.
function began(entries, { command, id, language, timestamp }) {
  const entry = {
    kind: "program", id: id ?? null, code: command, language: language || "bash", isShell: !language, parts: [], status: "running", exitCode: null, note: "",
    at: timestamp ?? null, endedAt: null,
  };
  const same = id ? entries.findLastIndex((other) => other.kind === "program" && other.id === id) : -1;
  const at = same >= 0 ? same : entries.findLastIndex((other) => isLost(other) && other.code === command);
  return at < 0 ? [...entries, entry] : entries.with(at, entry);
}

function printed(entries, { content, id }, stream) {
  const at = placeOf(entries, id);
  if (at < 0 || !content) return entries;
  const entry = again(entries[at], id);
  return entries.with(at, { ...entry, parts: withText(entry.parts, stream, content) });
}

function ended(entries, { id, note, timestamp }, exitCode) {
  const at = placeOf(entries, id);
  return at < 0 ? entries : entries.with(at, { ...again(entries[at], id), ...endOf(exitCode, note), endedAt: timestamp ?? null });
}

const endOf = (exitCode, note) => ({ exitCode, note: note ?? "", status: exitCode === 0 ? "completed" : exitCode === null ? "cancelled" : "failed" });

// What came of a program: of one that was watched only what was not told yet, of any other all of it.
function gave(entries, { id, code, language, stdout, stderr, exit_code: exitCode = null, note, timestamp }) {
  const told = id ? placeOf(entries, id) : entries.findLastIndex((entry) => entry.kind === "program" && entry.code === code && !entry.hasResult);
  const before = told < 0 ? null : entries[told];
  const whole = withText(withText([], "out", stdout ?? ""), "err", stderr ?? "");
  const wasRun = before !== null || exitCode !== null || Boolean(stdout) || Boolean(note);
  const entry = {
    kind: "program", id: id ?? before?.id ?? null, code, language: language || before?.language || guessed(code), isShell: before?.isShell ?? false, hasResult: true,
    parts: before && !before.hasGaps && !isLost(before) && lengthOf(before.parts) >= lengthOf(whole) ? before.parts : whole,
    ...(wasRun ? endOf(exitCode, note || before?.note) : { status: "not_run", exitCode: null, note: stderr ?? "" }),
    at: before?.at ?? timestamp ?? null, endedAt: before ? (before.endedAt ?? timestamp ?? null) : null,
  };
  if (!wasRun) entry.parts = [];
  return told < 0 ? [...entries, entry] : entries.with(told, entry);
}

// Older runs did not say what their programs are written in.
function guessed(code) {
  return /^\s*(import |from \w|def |print\()/m.test(code) ? "python" : "";
}

function withText(parts, stream, text) {
  if (!text) return parts;
  const last = parts.at(-1);
  const longer = last?.stream === stream ? parts.with(-1, { stream, text: last.text + text }) : [...parts, { stream, text }];
  return lengthOf(longer) > KEPT_CHARS || longer.length > KEPT_PARTS ? withoutMiddle(longer) : longer;
}

const lengthOf = (parts) => parts.reduce((sum, { text }) => sum + text.length, 0);

// The beginning and the end stay, a quarter and a half of what may be kept: so it is not cut again with each word.
function withoutMiddle(parts) {
  const head = [];
  for (let left = KEPT_CHARS / 4, at = 0; at < parts.length && at < KEPT_PARTS / 4 && left > 0; at += 1) {
    head.push({ ...parts[at], text: parts[at].text.slice(0, left) });
    left -= parts[at].text.length;
  }
  const tail = [];
  for (let left = KEPT_CHARS / 2, at = parts.length - 1; at >= 0 && tail.length < KEPT_PARTS / 2 && left > 0; at -= 1) {
    tail.unshift({ ...parts[at], text: parts[at].text.slice(-left) });
    left -= parts[at].text.length;
  }
  if (head.length) head[head.length - 1] = { ...head.at(-1), text: head.at(-1).text.replace(gap(), "") + gap() };
  return [...head, ...tail];
}

// Its worker was lost: nobody hears what it prints any more.
export function lost(entries) {
  return entries.some(isOpen) ? entries.map((entry) => (isOpen(entry) ? { ...entry, status: "lost" } : entry)) : entries;
}

// ── what is shown of all agents together ──

function allOf(trace, kinds) {
  const found = trace.agents.flatMap((agent) => agent.entries.flatMap((entry, index) => (kinds.includes(entry.kind) ? [{ ...entry, agent: agent.name, key: `${agent.id}.${index}` }] : [])));
  return found.sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
}

// Programs in the order in which they began. In a run that is over none goes on.
export function programsOf(trace, isLive) {
  return allOf(trace, ["program"]).map((entry) => (isLive || !["running", "lost"].includes(entry.status) ? entry : { ...entry, status: "cancelled" }));
}

// What came of the run besides its text, each thing once and in its latest version.
// Whether there is anything of it, which most answers have nothing of.
export const usesHands = (trace) => trace.agents.some(({ entries }) => entries.some(({ kind }) => KINDS.has(kind)));

const KINDS = new Set(["program", "chart", "image", "file", "browser", "stream", "preview"]);

export function resultsOf(trace) {
  const charts = allOf(trace, ["chart"]);
  const drawn = new Set(charts.map(({ path }) => path).filter(Boolean));
  const files = latest(allOf(trace, ["file"]), ({ scope, scopeId, path }) => `${scope}/${scopeId ?? ""}/${path}`).filter(({ operation }) => !/^delete/.test(operation));
  const gone = goneOf(trace);
  const images = latest(allOf(trace, ["image"]), ({ path }) => path).filter(({ path }) => !drawn.has(path) && !gone.has(path));
  const previews = latest(allOf(trace, ["preview"]), ({ url }) => url).filter(({ url }) => previewHref(url));
  return { charts, images, files, previews };
}

function goneOf(trace) {
  const last = latest(allOf(trace, ["file"]), ({ path }) => path);
  return new Set(last.filter(({ operation }) => /^delete/.test(operation)).map(({ path }) => path));
}

// The last of each key, in the order in which the keys came first.
function latest(entries, keyOf) {
  const found = new Map();
  for (const entry of entries) found.set(keyOf(entry), { ...entry, key: found.get(keyOf(entry))?.key ?? entry.key });
  return [...found.values()];
}

// What the browser did, its latest picture, and where it can be watched; null if there was none.
export function browsingOf(trace) {
  const found = allOf(trace, ["browser", "stream"]);
  if (!found.length) return null;
  const steps = found.filter((entry) => entry.kind === "browser");
  const seen = steps.findLast(({ screenshot }) => screenshot) ?? null;
  const page = steps.findLast(({ url }) => url) ?? null;
  const stream = found.findLast((entry) => entry.kind === "stream");
  return { steps, seen, page, stream: stream ? ownHref(stream.url) : null };
}
