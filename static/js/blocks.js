// Cuts Markdown into top-level blocks so that a growing text re-renders only its end. Pure but for the lexer that it is given.

// The last blocks may still change while text arrives (a list goes on, a paragraph becomes a heading): they are lexed again.
const UNSETTLED = 2;

// A splitter for one text that grows: split(text) → [{kind: "code"|"text", raw, code?, language?}], in order.
// When the text is not a continuation of the last one (a reset, the final answer), it starts again from the beginning.
export function createSplitter(lex) {
  let settled = [];
  let settledText = "";
  let definitions = "";

  function settle(tokens) {
    for (const token of tokens) {
      settledText += token.raw;
      if (token.type === "def") definitions += token.raw + "\n";
      if (isVisible(token)) settled.push(asBlock(token));
    }
  }

  return function split(source) {
    const text = source.replace(/\r\n?/g, "\n");
    if (!text.startsWith(settledText)) {
      settled = [];
      settledText = "";
      definitions = "";
    }
    const fresh = lex(text.slice(settledText.length));
    const visible = fresh.filter(isVisible);
    const firstOpen = visible.length > UNSETTLED ? fresh.indexOf(visible.at(-UNSETTLED)) : 0;
    settle(fresh.slice(0, firstOpen));
    const open = fresh.slice(firstOpen);
    const pending = open.filter(({ type }) => type === "def").map(({ raw }) => raw);
    return withDefinitions([...settled, ...open.filter(isVisible).map(asBlock)], definitions + pending.join("\n"));
  };
}

function isVisible({ type }) {
  return type !== "space" && type !== "def";
}

function asBlock(token) {
  if (token.type === "code") return { kind: "code", raw: token.raw, code: token.text, language: languageOf(token.lang) };
  return { kind: "text", raw: token.raw };
}

// The first word of a fence's info string, if it looks like a language's name.
function languageOf(info) {
  const word = (info ?? "").trim().split(/[\s{,]/, 1)[0].toLowerCase();
  return /^[a-z0-9+#.-]{1,20}$/.test(word) ? word : "";
}

// A reference such as [1] is defined elsewhere in the text: each block that may use one carries the definitions.
function withDefinitions(blocks, definitions) {
  if (!definitions) return blocks;
  return blocks.map((block) =>
    block.kind === "text" && block.raw.includes("[") ? { ...block, raw: `${block.raw}\n\n${definitions}` } : block,
  );
}
