// Where a link of an answer leads, whether the person has seen that address before, and what of the conversation it would carry
// along. Pure: no DOM. What a model writes is an attacker's text, and an address is the easiest thing to hide words in.

const ADDRESS = /\b(?:https?:\/\/|mailto:)[^\s<>"'`]+/gi;
const WORD = /[^\s<>"'`()[\]{}|]+/g;
const LAST_SIGNS = /[.,;:!?…]+$/;
const SHORTEST = 6; // characters in a row that are no accident
const SHORTEST_SQUEEZED = 8; // where the spaces between the words were taken out
const LAYERS = 3; // of encodings within each other
const MAX_ADDRESS = 20_000;

// ── known addresses ──

// What two ways to write one address have in common; null for what is none.
export function keyOf(address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (url.protocol === "mailto:") return url.href;
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  const path = url.pathname.replace(/\/$/, "");
  return `${url.username || url.password ? `${url.username}:${url.password}@` : ""}${url.host}${path}${url.search}${url.hash}`;
}

// The keys of all that reads like an address in these texts, with or without a scheme.
export function addressesIn(texts) {
  const found = new Set();
  for (const text of texts) {
    for (const [word] of String(text ?? "").matchAll(WORD)) {
      const bare = word.replace(LAST_SIGNS, "");
      if (!bare.includes(".") && !bare.includes(":")) continue;
      const key = /^[a-z][a-z\d+.-]*:/i.test(bare) && !/^[^/]+\.[^/]+:\d/.test(bare) ? keyOf(bare) : keyOf(`https://${bare}`);
      if (key) found.add(key);
    }
  }
  return found;
}

// `known`: keys. Addresses of our own site need no question, nor does a plain e-mail address.
export function isKnown(address, { known, origin }) {
  const url = new URL(address, origin);
  if (url.origin === origin) return true;
  if (url.protocol === "mailto:" && !url.search) return true;
  return known.has(keyOf(url.href));
}

// ── what an address carries ──

// The address cut into what is shown: [{text, isHost, isCarried, reads}]. `text`: as one reads it, percent signs undone.
// `isCarried`: it says something that stands in the conversation. `reads`: what it says, where that is not what is seen.
export function readAddress(address, texts) {
  const url = new URL(address.slice(0, MAX_ADDRESS));
  const said = saidIn(texts);
  const parts = [];
  const add = (text, more = {}) => text && parts.push({ text, isHost: false, isCarried: false, reads: null, ...more });
  const piece = (raw, isForm = false) => add(decoded(raw, isForm), told(raw, said, isForm));
  if (url.protocol === "mailto:") {
    add("mailto:");
    add(decoded(url.pathname), { isHost: true });
  } else {
    add(`${url.protocol}//`);
    if (url.username || url.password) {
      piece(url.username);
      add(":");
      piece(url.password);
      add("@");
    }
    cut(url.host, ".").forEach((label, index) => (index % 2 ? add(label, { isHost: true }) : add(label, { isHost: true, ...told(label, said) })));
    cut(url.pathname, "/").forEach((one, index) => (index % 2 ? add(one) : piece(one)));
  }
  for (const part of cut(url.search, "&")) {
    if (part === "&") add(part);
    else cut(part, "=").forEach((one, index) => (index % 2 ? add(one) : piece(one.replace(/^\?/, (sign) => (add(sign), "")), true)));
  }
  if (url.hash) {
    add("#");
    cut(url.hash.slice(1), "/").forEach((one, index) => (index % 2 ? add(one) : piece(one)));
  }
  return parts;
}

// With the signs between the pieces, at odd places.
function cut(text, sign) {
  return text.split(sign).flatMap((one, index) => (index ? [sign, one] : [one]));
}

function decoded(text, isForm = false) {
  const spaced = isForm ? text.replaceAll("+", " ") : text;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

// What a piece says beside itself: {isCarried, reads}.
function told(raw, said, isForm = false) {
  const shown = decoded(raw, isForm);
  for (const reading of readings(raw, isForm).reverse()) {
    if (carries(reading, said)) return { isCarried: true, reads: plain(reading) === plain(shown) ? null : reading };
  }
  return { isCarried: false, reads: null };
}

// As which texts a piece can be read: as it is, without percent signs, as base64, as hex, and these within each other. The
// innermost last.
export function readings(raw, isForm = false) {
  const found = new Set([raw]);
  let layer = [raw];
  for (let depth = 0; depth < LAYERS && layer.length; depth++) {
    const next = layer.flatMap((text) => [decoded(text, isForm), decoded(text), fromHex(text), fromBase64(text)]).filter((text) => text && !found.has(text));
    next.forEach((text) => found.add(text));
    layer = [...new Set(next)];
  }
  return [...found].filter((text) => text.length >= SHORTEST);
}

function fromHex(text) {
  if (!/^(?:[\da-f]{2}){6,}$/i.test(text)) return null;
  return asText(Uint8Array.from(text.match(/../g), (pair) => Number.parseInt(pair, 16)));
}

function fromBase64(text) {
  const plainly = text.replaceAll("-", "+").replaceAll("_", "/").replaceAll(" ", "+").replace(/=+$/, "");
  if (plainly.length < 8 || plainly.length % 4 === 1 || !/^[A-Za-z0-9+/]+$/.test(plainly)) return null;
  return asText(Uint8Array.from(atob(plainly), (sign) => sign.charCodeAt(0)));
}

// Text, or null for bytes that are none.
function asText(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return /[\p{Cc}\p{Co}\p{Cn}]/u.test(text.replace(/[\t\r\n]/g, "")) ? null : text;
  } catch {
    return null;
  }
}

// ── what was said ──

const plain = (text) => text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

const squeezed = (text) => text.replaceAll(" ", "");

// Without the addresses in it: a link that is itself said twice carries nothing.
function saidIn(texts) {
  const all = ` ${plain(texts.map((text) => String(text ?? "").replace(ADDRESS, " ")).join("\n"))} `;
  return { all, squeezed: squeezed(all) };
}

function carries(reading, said) {
  const words = plain(reading);
  const whole = squeezed(words);
  if (whole.length < SHORTEST) return false;
  if (said.all.includes(` ${words} `)) return true;
  if (whole.length >= SHORTEST_SQUEEZED && said.squeezed.includes(whole)) return true;
  return hasRun(words.split(" "), said.all);
}

// Words that stand in the conversation in this order, two or more, or one that is long enough to be no accident.
function hasRun(words, all) {
  for (let first = 0; first < words.length; first++) {
    if (words[first].length >= SHORTEST && all.includes(` ${words[first]} `)) return true;
    const two = `${words[first]} ${words[first + 1] ?? ""}`.trim();
    if (first + 1 < words.length && two.length > SHORTEST && all.includes(` ${two} `)) return true;
  }
  return false;
}

// Every text within a value, however deep: what the runs of a conversation showed.
export function textsIn(value, found = []) {
  if (typeof value === "string") found.push(value);
  else if (Array.isArray(value)) value.forEach((one) => textsIn(one, found));
  else if (value && typeof value === "object") Object.values(value).forEach((one) => textsIn(one, found));
  return found;
}
