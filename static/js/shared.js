// The public page of a link: answers are drawn as in the chat. Without this they are there as plain text.
import { html, render, useLayoutEffect, useRef } from "../vendor/preact.js";
import { Prose } from "./components/prose.js";

const FORMULA = /\$|\\[([]/;

const { messages } = JSON.parse(document.getElementById("page-data").textContent);

// Who reads here has written none of it: no address is known but those of the sources.
const SAID = { known: "", words: () => messages.map(({ text }) => text) };

function Answer({ text, sources }) {
  const element = useRef(null);
  useLayoutEffect(() => disown(element.current), [text]);
  return html`<div ref=${element}><${Prose} text=${text} live=${false} sources=${sources} said=${SAID} /></div>`;
}

// Nothing of what is drawn leads into this installation: whoever reads here need not know what there is.
function disown(root) {
  for (const link of root.querySelectorAll("a[href]")) {
    if (new URL(link.href, location.href).origin === location.origin) link.replaceWith(...link.childNodes);
  }
  for (const image of root.querySelectorAll("img")) image.replaceWith(image.alt);
}

for (const element of document.querySelectorAll("[data-message]")) {
  const message = messages[Number(element.dataset.message)];
  element.replaceChildren();
  element.classList.add("is-drawn");
  if (FORMULA.test(message.text)) {
    element.classList.add("has-formula"); // which may be wider than the page, and is scrolled then
    element.tabIndex = 0;
  }
  render(html`<${Answer} ...${message} />`, element);
}
