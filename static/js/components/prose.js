// A model's Markdown on the page: finished blocks stay as they are, only what changed is drawn again.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { createSplitter } from "../blocks.js";
import { linkCitations, markUnsupported } from "../citations.js";
import { copyText } from "../clipboard.js";
import { highlight } from "../code.js";
import { holdLinks } from "../held_links.js";
import { t } from "../i18n.js";
import { keyOf } from "../links.js";
import { lex, renderBlock } from "../markdown.js";
import { isReady, load as loadFormulas } from "../math.js";
import { calmed } from "../midstream.js";
import { morphChildren } from "../morph.js";
import { announce } from "../announce.js";
import { useCitationCard } from "./citation_card.js";
import { Icon } from "./icons.js";
import { useLinkDialog } from "./link_dialog.js";

const NONE = [];
const NOTHING_SAID = { known: "", words: () => NONE };
const BEGINS_FORMULA = /\$\$|\$[a-z\\]|\\[([]/i;

// `sources`: what [1] and so on name. `unsupported`: checks of sentences that their sources do not say. `said`: the conversation
// around it, {known: keys of the addresses that the person wrote, words(): all texts}; links to others than these and the
// sources ask first.
export function Prose({ text, live, sources = NONE, unsupported = NONE, conversationId = null, said = NOTHING_SAID }) {
  // A finished text is cut anew, as a reload would: what was settled while it grew may have been settled too early.
  const split = useMemo(() => createSplitter(lex), [live]);
  const blocks = useMemo(() => split(text), [split, text]);
  const told = useRef(live ? 0 : blocks.length);
  const finished = live ? Math.max(0, blocks.length - 1) : blocks.length;

  useEffect(() => {
    for (; told.current < finished; told.current++) announce(blocks[told.current].raw);
  }, [finished]);

  const [card, listeners] = useCitationCard(sources);
  const known = useMemo(() => new Set([...said.known.split("\n"), ...sources.map(({ url }) => keyOf(url ?? ""))]), [said.known, sources]);
  const [question, held] = useLinkDialog(said.words);

  const last = blocks.at(-1)?.raw ?? "";
  const hasFormula = live && BEGINS_FORMULA.test(last);
  useEffect(() => void (hasFormula && loadFormulas()), [hasFormula]); // before it is whole

  return html`<div class="prose" dir="auto" ...${listeners} ...${held}>
    ${blocks.map((block, index) =>
      block.kind === "code"
        ? html`<${CodeBlock} key=${index} code=${block.code} language=${block.language} finished=${index < finished} />`
        : html`<${TextBlock} key=${index} raw=${index < finished ? block.raw : calmed(block.raw)} live=${live} sources=${sources} known=${known} unsupported=${unsupported} conversationId=${conversationId} />`,
    )}
    ${card}
  </div>${question}`;
}

function TextBlock({ raw, live, sources, known, unsupported, conversationId }) {
  const element = useRef(null);
  const formulas = isReady(); // they are set when what sets them has come
  useLayoutEffect(() => {
    const fragment = renderBlock(raw, conversationId);
    markUnsupported(fragment, unsupported.filter(({ sentence }) => raw.includes(sentence)).map(asRendered));
    linkCitations(fragment, sources, live);
    holdLinks(fragment, known);
    morphChildren(element.current, fragment);
  }, [raw, live, sources, known, unsupported, formulas]);
  return html`<div class="prose-block" ref=${element}></div>`;
}

function asRendered({ sentence, why }) {
  return { text: renderBlock(sentence).textContent, why };
}

function CodeBlock({ code, language, finished }) {
  const element = useRef(null);

  useLayoutEffect(() => {
    const shown = element.current;
    // A code that only grew is extended: its scroll position and a selection stay.
    if (shown.childNodes.length === 1 && code.startsWith(shown.textContent)) shown.firstChild.appendData(code.slice(shown.textContent.length));
    else shown.textContent = code;
  }, [code]);

  useEffect(() => {
    if (!finished) return undefined;
    let current = true;
    highlight(code, language).then(
      (coloured) => current && coloured && element.current?.replaceChildren(coloured),
      () => undefined, // without colours it is still the code
    );
    return () => {
      current = false;
    };
  }, [finished, code, language]);

  return html`<figure class="code-block" dir="ltr">
    <figcaption class="code-head"><span>${language || t("text")}</span><${CopyButton} text=${code} label=${t("Copy code")} /></figcaption>
    <pre tabindex="0" aria-label=${language ? t("Code, {language}", { language }) : t("Code")}><code ref=${element}></code></pre>
  </figure>`;
}

const COPIED_MS = 1_600;

export function CopyButton({ text, label }) {
  const [copied, setCopied] = useState(false);

  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), COPIED_MS);
    return () => clearTimeout(timer);
  }, [copied]);

  async function copy() {
    await copyText(text);
    setCopied(true);
    announce(t("Copied"));
  }

  return html`<button type="button" class="icon-button small" onClick=${copy} aria-label=${label} title=${label}>
    <${Icon} name=${copied ? "check" : "copy"} /><span class="icon-words">${copied ? t("Copied") : t("Copy")}</span>
  </button>`;
}
