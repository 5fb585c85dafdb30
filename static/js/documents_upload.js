// Files on their way to the server: a few at a time, each with its progress, its refusal and a way to stop it.
import { computed, signal } from "../vendor/preact.js";
import { csrfToken, refusalOf } from "./api.js";
import { language, t, tn } from "./i18n.js";

const AT_ONCE = 3;
export const MOST_FILES = 5000; // of one drop or choice
const MOST_DRAWN = 200;
const unreachable = () => t("The connection broke off before the file had arrived. Try again.");
const signedOut = () => t("You are signed out. Sign in again, then add the file once more.");

// A file as a new document.
export const asDocument = {
  method: "POST",
  url: () => "/api/v1/documents",
  body(file) {
    const form = new FormData();
    form.append("file", file, file.name);
    return form;
  },
  outcomeOf,
};

// state: "waiting" | "sending" | "checking" (it has arrived) | "added" | "known" (the same bytes are here) | "failed"
// `as`: where a file goes and in which form, and what an answer means; without it each becomes a document. With `as.place(outcome)`
// it is not added before that is done, too: where it fails, another try sends no bytes again.
export function createUploads({ limitBytes, added, as = asDocument }) {
  const items = signal([]);
  const untaken = signal(0); // files of the last choice that were more than are taken at once
  const requests = new Map(); // id → XMLHttpRequest
  let last = 0;

  const change = (id, fields) => (items.value = items.value.map((item) => (item.id === id ? { ...item, ...fields } : item)));

  function add(files) {
    const taken = files.slice(0, MOST_FILES);
    untaken.value = files.length - taken.length;
    const fresh = taken.map((file) => ({ id: ++last, file, name: file.name, size: file.size, sent: 0, documentId: null, arrived: null, ...standing(faultOf(file, limitBytes)) }));
    items.value = [...items.value, ...fresh];
    next();
  }

  // One that arrived before.
  function put({ id: documentId, name }) {
    items.value = [...items.value, { id: ++last, file: null, name, size: null, sent: 1, documentId, state: "known", error: null }];
  }

  function next() {
    const free = AT_ONCE - requests.size;
    for (const item of items.value.filter(({ state }) => state === "waiting").slice(0, Math.max(0, free))) send(item);
  }

  function send({ id, file, arrived }) {
    if (arrived) return void settle(id, arrived);
    const request = new XMLHttpRequest();
    requests.set(id, request);
    request.upload.onprogress = ({ loaded, total }) => change(id, { sent: total ? loaded / total : 0 });
    request.upload.onload = () => change(id, { state: "checking", sent: 1 });
    request.onload = () => settle(id, as.outcomeOf(request.status, request.response));
    request.onerror = () => finish(id, standing(unreachable()));
    request.open(as.method, as.url(file));
    request.responseType = "json";
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", csrfToken);
    change(id, { state: "sending", sent: 0 });
    request.send(as.body(file));
  }

  // To where it belongs, if there is such a place beside the one that it has arrived at.
  async function settle(id, outcome) {
    if (outcome.state === "failed" || !as.place) return finish(id, outcome);
    requests.set(id, requests.get(id) ?? null);
    change(id, { ...outcome, state: "checking", arrived: outcome });
    finish(id, await as.place(outcome).then(() => outcome, (error) => ({ state: "failed", error: error.message })));
  }

  function finish(id, { isForAll = false, ...outcome }) {
    requests.delete(id);
    change(id, outcome);
    if (isForAll) items.value = items.value.map((item) => (item.state === "waiting" ? { ...item, ...outcome } : item));
    const item = items.value.find((one) => one.id === id);
    if (item) added(item);
    next();
  }

  // A file that the server has taken meanwhile stays there: it is in the list.
  function stop(id) {
    requests.get(id)?.abort();
    requests.delete(id);
    drop(id);
    next();
  }

  function retry(id) {
    const item = items.value.find((one) => one.id === id);
    change(id, standing(faultOf(item.file, limitBytes)));
    next();
  }

  function retryAll() {
    items.value = items.value.map((item) => (item.state === "failed" ? { ...item, ...standing(faultOf(item.file, limitBytes)) } : item));
    next();
  }

  function clear() {
    items.value = items.value.filter(isUnderWay);
    untaken.value = 0;
  }

  const drop = (id) => (items.value = items.value.filter((item) => item.id !== id));
  return {
    items, untaken, add, put, stop, retry, retryAll, drop, clear,
    dropListed: (ids) => (items.value = items.value.filter(({ state, documentId }) => state !== "added" || !ids.has(documentId))),
    stopAll: () => items.value.filter(isUnderWay).forEach(({ id }) => stop(id)),
    isBusy: computed(() => items.value.some(isUnderWay)),
  };
}

export const isUnderWay = ({ state }) => state === "waiting" || state === "sending" || state === "checking";

const standing = (error) => (error ? { state: "failed", error } : { state: "waiting", error: null, sent: 0 });

// Why it cannot be sent; null where it can.
export function faultOf({ size, isUnreadable }, limitBytes) {
  if (isUnreadable) return t("The browser could not read it. See whether it may be opened, then add it once more.");
  return size > limitBytes ? t("It has {size}, and {limit} is the most. Split it, and add its parts.", { size: sizeWords(size), limit: sizeWords(limitBytes) }) : null;
}

// What became of an upload, from the server's answer.
export function outcomeOf(status, answer) {
  if (status === 201) return { state: "added", documentId: answer?.doc_id ?? null };
  if (status === 200) return { state: "known", documentId: answer?.doc_id ?? null, knownAs: answer?.filename ?? "" };
  return failureOf(status, answer);
}

// `isForAll`: the next one would be refused like this one.
export function failureOf(status, answer) {
  const refused = refusalOf(status, answer);
  if (refused.isSignedOut) return { state: "failed", error: signedOut(), isForAll: true };
  return { state: "failed", error: refused.message, ...(status === 429 && { isForAll: true }) };
}

const digits = (value, count) => value.toLocaleString(language, { minimumFractionDigits: count, maximumFractionDigits: count, useGrouping: false });

export function sizeWords(bytes) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (bytes >= size) return `${digits(bytes / size, bytes / size < 10 ? 1 : 0)} ${unit}`;
  }
  return `${bytes} B`;
}

// Those that are shown: where there are too many for all, what failed and what is under way stands before the rest.
export function drawnOf(items, most = MOST_DRAWN) {
  if (items.length <= most) return items;
  const order = ["added", "known", "waiting", "checking", "sending", "failed"];
  return [...items].sort((one, other) => order.indexOf(other.state) - order.indexOf(one.state)).slice(0, most);
}

// "Adding 2 of 5 files · 40 %", or how it ended. The part that has arrived is counted in bytes.
export function summaryOf(items) {
  const open = items.filter(isUnderWay);
  if (open.length) {
    const total = items.reduce((sum, { size }) => sum + size, 0);
    const arrived = items.reduce((sum, item) => sum + item.size * (isUnderWay(item) ? item.sent : 1), 0);
    const percent = total ? Math.floor((100 * arrived) / total) : 0;
    return tn("Adding {count} file · {percent} %", "Adding {count} files · {percent} %", open.length, { percent });
  }
  const words = {
    added: (count) => tn("{count} added", "{count} added", count),
    known: (count) => tn("{count} already here", "{count} already here", count),
    failed: (count) => tn("{count} not added", "{count} not added", count),
  };
  const counted = Object.entries(words).map(([state, said]) => [items.filter((item) => item.state === state).length, said]);
  return counted.filter(([count]) => count).map(([count, said]) => said(count)).join(" · ");
}

// The files of a drop or a paste, those in folders too. What begins with a dot is the system's, not the person's.
export async function filesOf(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files];
  const found = [];
  for (const entry of entries) await collect(entry, found);
  return found;
}

async function collect(entry, found) {
  if (entry.name.startsWith(".")) return;
  const within = entry.fullPath.slice(1); // with the folders that were dropped
  try {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      return void found.push(Object.assign(file, { within }));
    }
    const reader = entry.createReader();
    for (let some; !some || some.length; ) { // a reader gives a hundred at a time
      some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      for (const one of some) await collect(one, found);
    }
  } catch {
    found.push({ name: entry.name, size: 0, within, isUnreadable: true });
  }
}
