// Before an address is followed that an answer wrote and nobody knew: where it leads, all of it, and what of the conversation is in it.
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { announce } from "../announce.js";
import { copyText } from "../clipboard.js";
import { heldLinkListeners } from "../held_links.js";
import { t } from "../i18n.js";
import { readAddress } from "../links.js";
import { revealed } from "../plain_text.js";
import { Modal } from "./dialogs.js";
import { Icon } from "./icons.js";

const READS_CHARS = 600;

// The question while there is one, and the listeners for whatever holds the links. `words`: gives the texts of the conversation.
export function useLinkDialog(words) {
  const [asked, setAsked] = useState(null); // {address, link}
  const from = useRef(null);
  const listeners = useMemo(() => heldLinkListeners((address, link) => setAsked({ address, link })), []);
  useEffect(() => {
    // While the dialog is there, nothing below it takes the focus.
    if (!asked && from.current?.isConnected) from.current.focus();
    from.current = asked?.link ?? null;
  }, [asked]);
  return [asked && html`<${LinkDialog} address=${asked.address} words=${words} close=${() => setAsked(null)} />`, listeners];
}

function LinkDialog({ address, words, close }) {
  const parts = useMemo(() => readAddress(address, words()), [address]);
  const [copied, setCopied] = useState(false);
  const host = parts.filter(({ isHost }) => isHost).map(({ text }) => text).join("");
  const carried = parts.filter(({ isCarried }) => isCarried);
  const hidden = carried.filter(({ reads }) => reads);

  async function copy() {
    await copyText(address);
    setCopied(true);
    announce(t("Copied"));
  }

  return html`<${Modal} label=${t("Open this link?")} close=${close}><div class="link-dialog">
    <h2>${t("Open this link?")}</h2>
    <p>${t("An answer wrote this address. It stands neither in what you wrote nor among the sources.")}</p>
    <p class="link-host" dir="ltr">${revealed(host)}</p>
    <div class="link-address" dir="ltr" tabindex="0" role="group" aria-label=${t("The whole address")}>${parts.map((part) => (part.isCarried ? html`<mark>${revealed(part.text)}</mark>` : html`<span class=${part.isHost ? "is-host" : ""}>${revealed(part.text)}</span>`))}</div>
    ${carried.length > 0 && html`<p class="link-warning"><${Icon} name="warning" /><span>${t("What is marked stands in this conversation. Whoever is behind {host} would get it.", { host: revealed(host) })}</span></p>`}
    ${hidden.length > 0 && html`<ul class="link-reads" aria-label=${t("What is written in code")}>${hidden.map(({ reads }) => html`<li>${t("Written in code, it says:")} <q dir="auto">${revealed(reads.slice(0, READS_CHARS))}</q></li>`)}</ul>`}
    <div class="button-row modal-buttons">
      <button type="button" class="button" autofocus onClick=${close}>${t("Cancel")}</button>
      <button type="button" class="button" onClick=${copy}>${copied ? t("Copied") : t("Copy address")}</button>
      <a class="button" href=${address} target="_blank" rel="noopener noreferrer nofollow" onClick=${() => setTimeout(close)}>${t("Open")}</a>
    </div>
  </div></${Modal}>`;
}
