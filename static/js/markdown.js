// Markdown of a model → DOM that is safe to show. What a model writes is an attacker's text: everything that is not on the
// lists below is dropped, and rendering makes no request to anywhere else.
import { DOMPurify, Marked } from "../vendor/markdown.js";
import { announce } from "./announce.js";
import { copyText } from "./clipboard.js";
import { t } from "./i18n.js";
import { FORMULA_TAGS, mathExtensions, setFormulas } from "./math.js";
import { fileHref } from "./places.js";
import { asCsv, asTsv, rowsOf } from "./tables.js";

const TAGS = [
  "a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p",
  "pre", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul", ...FORMULA_TAGS,
];
const ATTRIBUTES = ["align", "alt", "href", "src", "start"];
const ALIGNMENTS = new Set(["left", "center", "right"]);
const LINK_SCHEMES = new Set(["http:", "https:", "mailto:"]);
const TASK = /^\s*[☑☐] /u;
const BLOCK_TAGS = new Set(["BLOCKQUOTE", "H1", "H2", "H3", "H4", "H5", "H6", "LI", "P", "TD", "TH"]);
const PARTED_TAGS = new Set(["CAPTION", "DD", "DETAILS", "DIV", "DT", "FIGCAPTION", "SUMMARY"]);

const marked = new Marked({
  gfm: true,
  extensions: mathExtensions,
  renderer: {
    // A form control has no place in an answer: task lists show a mark.
    checkbox({ checked }) {
      return checked ? "☑ " : "☐ ";
    },
  },
});

export function lex(text) {
  return marked.lexer(text);
}

const purifier = DOMPurify(window);

const PURIFY = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ATTRIBUTES,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOW_UNKNOWN_PROTOCOLS: false,
  FORBID_CONTENTS: ["script", "style", "svg", "math", "iframe", "template", "noscript", "title", "textarea", "select", "object", "audio", "video"],
  RETURN_DOM_FRAGMENT: true,
};

// Runs in DOMPurify's inert document, before anything reaches the page: nothing has been loaded yet.
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName === "A") secureLink(node);
  if (node.nodeName === "IMG") secureImage(node);
  if (node.hasAttribute?.("align") && !ALIGNMENTS.has(node.getAttribute("align"))) node.removeAttribute("align");
  if (BLOCK_TAGS.has(node.nodeName)) node.setAttribute("dir", "auto");
});

// Of what is not shown as what it is the words stay, and would run into those that follow.
purifier.addHook("beforeSanitizeElements", (node) => {
  if (PARTED_TAGS.has(node.nodeName) && node.nextSibling) node.after(node.ownerDocument.createElement("br"));
});

// The address as a URL if a link may lead there, else null.
function linkTarget(address) {
  let url;
  try {
    url = new URL(address, location.origin);
  } catch {
    return null;
  }
  return LINK_SCHEMES.has(url.protocol) ? url : null;
}

function secureLink(link) {
  const address = link.getAttribute("href");
  const url = address && !address.startsWith("#") ? linkTarget(address) : null;
  for (const name of ["href", "target", "rel", "title"]) link.removeAttribute(name);
  if (!url) return;
  link.setAttribute("href", url.href);
  link.setAttribute("target", "_blank");
  link.setAttribute("rel", "noopener noreferrer nofollow");
  link.setAttribute("title", url.href);
  const pretended = hostIn(link.textContent);
  if (url.protocol !== "mailto:" && pretended && pretended !== url.hostname.replace(/^www\./, "")) {
    link.append(` (${t("leads to {host}", { host: url.hostname })})`);
  }
}

// The host that a link's text names, if it reads like an address: "bank.example/login" → "bank.example".
function hostIn(text) {
  const match = /^\s*(?:https?:\/\/)?(?:www\.)?((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})(?=[/:?#\s]|$)/iu.exec(text);
  return match ? match[1].toLowerCase() : null;
}

const HOLDS_PICTURES = /^\/(api\/v1\/files|static)\//; // of our own addresses; asking for others may do something

const NOWHERE = "about:blank"; // it becomes its words

let conversation = null; // whose files a picture without an address is among, while a block is rendered

// "charts/revenue.png" is a file of the conversation; everything else is as it stands.
function ownFile(address) {
  if (!conversation || /^[a-z][a-z\d+.-]*:|^[/\\#?]/i.test(address)) return address;
  try {
    return fileHref({ scopeId: conversation, path: decodeURIComponent(address.replace(/^\.\//, "")), inline: true }) ?? NOWHERE;
  } catch {
    return address;
  }
}

// A picture from elsewhere would tell a stranger what was read: it becomes a link that says where it leads.
function secureImage(image) {
  const address = ownFile(image.getAttribute("src") ?? "");
  const url = linkTarget(address);
  const words = image.getAttribute("alt")?.trim() || t("picture");
  if (address && url?.origin === location.origin && HOLDS_PICTURES.test(url.pathname)) {
    image.setAttribute("src", url.href);
    image.setAttribute("alt", words);
    image.setAttribute("loading", "lazy");
    return;
  }
  if (!url || url.protocol === "mailto:") {
    image.replaceWith(image.ownerDocument.createTextNode(words));
    return;
  }
  const link = image.ownerDocument.createElement("a");
  link.setAttribute("href", url.href);
  link.textContent = t("Picture: {words} (on {host})", { words, host: url.host });
  image.replaceWith(link);
  secureLink(link);
}

const SHORT_CHARS = 16;
const LONG_CHARS = 24;

// A number keeps its unit beside it, and words have room where there are many columns: a table that scrolls need not be narrow.
function markLength(cell) {
  const { length } = cell.textContent;
  if (length > LONG_CHARS) cell.className = "is-long";
  else if (length <= SHORT_CHARS && /\d/.test(cell.textContent)) cell.className = "is-figure";
}

// Below a table: it as text for a spreadsheet.
function copyButtons() {
  const bar = document.createElement("div");
  bar.className = "table-tools";
  for (const [form, words] of [["csv", t("Copy as CSV")], ["tsv", t("Copy as TSV")]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.copyTable = form;
    button.addEventListener("click", copyTable);
    button.textContent = words;
    bar.append(button);
  }
  return bar;
}

const COPIED_MS = 1_600;

async function copyTable({ currentTarget: button }) {
  const rows = rowsOf(button.closest(".table-block").querySelector("table"));
  await copyText(button.dataset.copyTable === "csv" ? asCsv(rows) : asTsv(rows));
  announce(t("Copied"));
  button.textContent = t("Copied");
  setTimeout(() => (button.textContent = button.dataset.copyTable === "csv" ? t("Copy as CSV") : t("Copy as TSV")), COPIED_MS);
}

// One block of Markdown as a safe fragment. Tables scroll in a frame of their own, tasks have their mark for a bullet.
// `conversationId`: whose files its pictures may be.
export function renderBlock(raw, conversationId = null) {
  conversation = conversationId;
  const fragment = purifier.sanitize(marked.parse(raw), PURIFY);
  for (const item of fragment.querySelectorAll("li")) {
    if (TASK.test(item.textContent)) item.className = "task";
  }
  for (const table of fragment.querySelectorAll("table")) {
    const frame = document.createElement("div");
    frame.className = "table-frame";
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", t("Table"));
    for (const cell of table.querySelectorAll("td")) markLength(cell);
    const block = document.createElement("div");
    block.className = "table-block";
    table.replaceWith(block);
    frame.append(table);
    block.append(frame, copyButtons());
  }
  setFormulas(fragment);
  return fragment;
}
