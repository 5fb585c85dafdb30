// The keys of the pages, in one table: what binds them and what the help sheet shows are the same lines. Pure but for the
// kind of keyboard.
import { t, tc } from "./i18n.js";

const isMac = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? "");

// `where`: "page" everywhere, "outside" only where nobody writes, "box" in the box to write in, "inbox" in its list, where
// `inbox.js` binds them. `frame`: on every page, where `frame.js` binds it. `sign`: it is a sign, which other keyboards type by
// Shift, AltGr or Option. Those without `key` are the browser's own; they are only told.
const TABLE = [
  { action: "palette", where: "page", key: "k", mod: true, frame: true },
  { action: "help", where: "outside", key: "?", sign: true, frame: true },
  { action: "create", where: "page", key: "o", mod: true, shift: true },
  { action: "search", where: "page", key: "f", mod: true, shift: true },
  { action: "searchBySlash", where: "outside", key: "/", sign: true },
  { action: "sidebar", where: "page", key: "b", mod: true, frame: true },
  { action: "run", where: "page", key: "e", mod: true, shift: true },
  { action: "write", where: "page", key: "Escape", shift: true },
  { action: "stop", where: "page", key: "Escape" },
  { action: "before", where: "outside", key: "[", sign: true },
  { action: "after", where: "outside", key: "]", sign: true },
  { action: "send", where: "box", key: "Enter" },
  { action: "queue", where: "box", key: "Enter", mod: true },
  { action: "newLine", where: "box", shown: () => [tc("key", "Shift"), tc("key", "Enter")] },
  { action: "recall", where: "box", key: "ArrowUp" },
  { action: "nextRequest", where: "inbox", key: "j" },
  { action: "requestBefore", where: "inbox", key: "k" },
  { action: "choose", where: "inbox", key: " " },
  { action: "approve", where: "inbox", key: "a" },
  { action: "deny", where: "inbox", key: "d" },
];

const meanings = () => ({
  palette: t("Commands, and search over everything"),
  create: t("New conversation"),
  search: t("Search the conversations"),
  searchBySlash: t("Search the conversations"),
  sidebar: t("Show or hide the conversations"),
  run: t("Show or hide the run of the newest answer"),
  write: t("Go to the box"),
  stop: t("Stop the answer"),
  before: t("The version before, of an edited question or its answer"),
  after: t("The version after"),
  help: t("This sheet"),
  send: t("Send; while an answer is written, add to it"),
  queue: t("Send when the answer is finished"),
  newLine: t("New line"),
  recall: t("Bring the last question back, in the empty box"),
  nextRequest: t("Next request"),
  requestBefore: t("Request before"),
  choose: t("Choose the request for one answer to many"),
  approve: t("Approve what is chosen, or the request"),
  deny: t("Deny what is chosen, or the request"),
});

const SIGNS = { Escape: "Esc", ArrowUp: "↑" };
const signOf = (key) => (key === "Enter" ? tc("key", "Enter") : key === " " ? tc("key", "Space") : SIGNS[key] ?? key.toUpperCase());

function signsOf({ shown, key, mod, shift }) {
  if (shown) return shown();
  return [mod && (isMac ? "⌘" : tc("key", "Ctrl")), shift && tc("key", "Shift"), signOf(key)].filter(Boolean);
}

// [{title, rows: [{words, ways: [["Ctrl", "K"], …]}]}], in the order of the table; what two keys do stands once.
export function keyTable() {
  const inbox = TABLE.filter(({ where }) => where === "inbox");
  return [
    { title: t("On every page"), rows: rowsOf(TABLE.filter(({ frame }) => frame)) },
    { title: t("In the chat"), rows: rowsOf(TABLE.filter((line) => !line.frame && !inbox.includes(line))) },
    { title: t("In the inbox"), rows: rowsOf(inbox) },
  ];
}

function rowsOf(lines) {
  const words = meanings();
  const rows = new Map();
  for (const line of lines) rows.set(words[line.action], [...(rows.get(words[line.action]) ?? []), signsOf(line)]);
  return [...rows].map(([meaning, ways]) => ({ words: meaning, ways }));
}

// The keys of an action as a short text, such as "Ctrl K"; empty where there are none.
export const keysOf = (action) => {
  const line = TABLE.find((one) => one.action === action);
  return line ? signsOf(line).join(" ") : "";
};

// What a key means, or null. `places`: where it was pressed, of "page", "outside" and "box".
export function actionOf(event, places) {
  if (event.isComposing || event.keyCode === 229) return null;
  const isGraph = event.getModifierState?.("AltGraph") ?? false; // on Windows it is Ctrl and Alt besides
  const isTyped = isGraph || !event.altKey || isMac;
  const mod = event.metaKey || (event.ctrlKey && !isGraph);
  const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const line = TABLE.find(({ where, key, mod: needsMod = false, shift = false, sign = false }) =>
    places.includes(where) && key === pressed && needsMod === mod && (sign ? isTyped : shift === event.shiftKey && !event.altKey && !isGraph));
  return line?.action ?? null;
}

export function isWriting(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
