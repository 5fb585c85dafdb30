// Colours finished code. The highlighter is loaded when the first block of a known language is complete.

const LONGEST = 50_000; // characters; beyond it colours cost more than they give
const ALIASES = { js: "javascript", jsx: "javascript", ts: "typescript", tsx: "typescript", py: "python", sh: "bash", shell: "bash",
  zsh: "bash", console: "bash", yml: "yaml", html: "xml", svg: "xml", "c++": "cpp", "c#": "csharp", cs: "csharp", rs: "rust", md: "markdown",
  golang: "go", patch: "diff", postgresql: "sql", jsonc: "json" };

let loading = null;

// A fragment of <span class="hljs-…"> and text, or null if the language is not known.
export async function highlight(code, language) {
  if (!language || code.length > LONGEST) return null;
  loading ??= import("../vendor/highlight.js");
  const { default: hljs } = await loading.catch((error) => {
    loading = null; // the next block tries again
    throw error;
  });
  const name = ALIASES[language] ?? language;
  if (!hljs.getLanguage(name)) return null;
  return spansOnly(hljs.highlight(code, { language: name, ignoreIllegals: true }).value);
}

// The highlighter escapes what it is given; this takes over only spans, their hljs classes and text, whatever it returned.
function spansOnly(markup) {
  const parsed = new DOMParser().parseFromString(markup, "text/html").body;
  return copyChildren(parsed, document.createDocumentFragment());
}

function copyChildren(from, to) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      to.append(node.data);
    } else if (node.nodeName === "SPAN") {
      const span = document.createElement("span");
      span.className = [...node.classList].filter((name) => name.startsWith("hljs-")).join(" ");
      to.append(copyChildren(node, span));
    }
  }
  return to;
}
