// Markdown of a model → DOM that is safe to show. What a model writes is an attacker's text: everything that is not on the
// lists below is dropped, and rendering makes no request to anywhere else.
import { DOMPurify, Marked } from "../vendor/markdown.js";

const TAGS = [
  "a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p",
  "pre", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul",
];
const ATTRIBUTES = ["align", "alt", "href", "src", "start"];
const ALIGNMENTS = new Set(["left", "center", "right"]);
const LINK_SCHEMES = new Set(["http:", "https:", "mailto:"]);
const TASK = /^\s*[☑☐] /u;
const BLOCK_TAGS = new Set(["BLOCKQUOTE", "H1", "H2", "H3", "H4", "H5", "H6", "LI", "P", "TD", "TH"]);

const marked = new Marked({
  gfm: true,
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
    link.append(` (leads to ${url.hostname})`);
  }
}

// The host that a link's text names, if it reads like an address: "bank.example/login" → "bank.example".
function hostIn(text) {
  const match = /^\s*(?:https?:\/\/)?(?:www\.)?((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})(?=[/:?#\s]|$)/iu.exec(text);
  return match ? match[1].toLowerCase() : null;
}

// A picture from elsewhere would tell a stranger what was read: it becomes a link that says where it leads.
function secureImage(image) {
  const address = image.getAttribute("src") ?? "";
  const url = linkTarget(address);
  if (address && url?.origin === location.origin) {
    image.setAttribute("src", url.href);
    image.setAttribute("loading", "lazy");
    return;
  }
  const words = image.getAttribute("alt")?.trim() || "picture";
  if (!url || url.protocol === "mailto:") {
    image.replaceWith(image.ownerDocument.createTextNode(words));
    return;
  }
  const link = image.ownerDocument.createElement("a");
  link.setAttribute("href", url.href);
  link.textContent = `Picture: ${words} (on ${url.host})`;
  image.replaceWith(link);
  secureLink(link);
}

// One block of Markdown as a safe fragment. Tables scroll in a frame of their own, tasks have their mark for a bullet.
export function renderBlock(raw) {
  const fragment = purifier.sanitize(marked.parse(raw), PURIFY);
  for (const item of fragment.querySelectorAll("li")) {
    if (TASK.test(item.textContent)) item.className = "task";
  }
  for (const table of fragment.querySelectorAll("table")) {
    const frame = document.createElement("div");
    frame.className = "table-frame";
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "Table");
    table.replaceWith(frame);
    frame.append(table);
  }
  return fragment;
}
