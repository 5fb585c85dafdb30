// Sharing a conversation by a link: what it shows, the links that there are, and revoking them.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { announce } from "../announce.js";
import { copyText } from "../clipboard.js";
import { t, tn } from "../i18n.js";
import { ago, fromNow } from "../when.js";
import { Modal } from "./dialogs.js";
import { Icon } from "./icons.js";

const DAY_MS = 86_400_000;
const COPIED_MS = 1_600;

// `upto`: the id of a message; the link then can end with it.
export function ShareDialog({ conversation, api, close, upto = null }) {
  const [state, setState] = useState({ is: "loading" }); // loading | failed | off | ready
  const [links, setLinks] = useState([]);
  const [fresh, setFresh] = useState(null); // the link that was just made

  async function load() {
    setState({ is: "loading" });
    try {
      const { enabled, results } = await api.listShares(conversation.id);
      setLinks(results);
      setState({ is: enabled ? "ready" : "off" });
    } catch (error) {
      setState({ is: "failed", message: error.message });
    }
  }

  useEffect(() => void load(), [conversation.id]);

  async function make(chosen) {
    const link = await api.shareConversation(conversation.id, chosen);
    setLinks((known) => [link, ...known]);
    setFresh(link.id);
    announce(t("The link is made"));
  }

  async function revoke(link) {
    // Revoked in another tab: it is gone all the same.
    await api.revokeShare(conversation.id, link.id).catch((error) => { if (error.status !== 404) throw error; });
    setLinks((known) => known.filter(({ id }) => id !== link.id));
    announce(t("The link is revoked"));
  }

  return html`<${Modal} label=${t("Share")} close=${close}><div class="share-dialog">
    <div class="modal-head"><h2>${t("Share this conversation")}</h2><button type="button" class="icon-button" onClick=${close} aria-label=${t("Close")}><${Icon} name="close" /></button></div>
    <p class="share-lead">${t("Whoever has the link reads the questions and answers, without an account. Files, steps and memories are never shown.")}</p>
    ${state.is === "loading" && html`<p class="share-note" role="status">${t("Loading…")}</p>`}
    ${state.is === "failed" && html`<p class="form-error" role="alert">${state.message}</p><button type="button" class="button" onClick=${load}>${t("Try again")}</button>`}
    ${state.is === "off" && html`<p class="message">${t("Sharing by links is switched off on this installation.")}</p>`}
    ${state.is === "ready" && html`<${Make} upto=${upto} make=${make} />`}
    ${state.is === "ready" && links.length > 0 && html`<section class="share-links" aria-labelledby="share-links">
      <h3 id="share-links">${tn("{count} link", "{count} links", links.length)}</h3>
      <ul>${links.map((link) => html`<${Link} key=${link.id} link=${link} isFresh=${link.id === fresh} revoke=${() => revoke(link)} />`)}</ul>
    </section>`}
  </div></${Modal}>`;
}

function Make({ upto, make }) {
  const [extent, setExtent] = useState(upto ? "upto" : "now");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState(null);

  async function submit(event) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const days = Number(form.get("days"));
    setSending(true);
    setError(null);
    try {
      await make({
        message_id: extent === "upto" ? upto : null,
        keeps_up: extent === "later",
        with_sources: form.has("sources"),
        with_attachments: form.has("attachments"),
        ends_at: days ? new Date(Date.now() + days * DAY_MS).toISOString() : null,
      });
    } catch (caught) {
      setError(caught.message);
    }
    setSending(false);
  }

  const extents = [
    ...(upto ? [["upto", t("Up to this message")]] : []),
    ["now", t("All of it, as it is now")],
    ["later", t("All of it, and what is said later")],
  ];
  return html`<form class="share-make" onSubmit=${submit}>
    <fieldset><legend class="visually-hidden">${t("What the link shows")}</legend>
      ${extents.map(([value, words]) => html`<label key=${value}><input type="radio" name="extent" value=${value} checked=${extent === value} onChange=${() => setExtent(value)} />${words}</label>`)}
    </fieldset>
    <fieldset><legend class="visually-hidden">${t("Besides")}</legend>
      <label><input type="checkbox" name="sources" checked />${t("With the names of sources")}</label>
      <label><input type="checkbox" name="attachments" />${t("With the names of attached files")}</label>
    </fieldset>
    ${error && html`<p class="form-error" role="alert">${error}</p>`}
    <div class="share-send">
      <label>${t("Ends")} <select name="days">
        <option value="1">${t("in a day")}</option><option value="7">${t("in a week")}</option><option value="30" selected>${t("in 30 days")}</option><option value="0">${t("never")}</option>
      </select></label>
      <button type="submit" class="button button-primary" disabled=${sending}><${Icon} name="link" />${sending ? t("One moment…") : t("Make a link")}</button>
    </div>
  </form>`;
}

function Link({ link, isFresh, revoke }) {
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState(null);
  const address = useRef(null);
  const [opener, sure] = [useRef(null), useRef(null)];

  // The button that was pressed is gone, and the focus with it.
  function ask(isAsked) {
    setAsking(isAsked);
    requestAnimationFrame(() => (isAsked ? sure : opener).current?.focus());
  }

  useEffect(() => {
    if (!isFresh) return;
    address.current?.focus({ focusVisible: true });
    if (address.current) address.current.scrollLeft = 0; // its beginning says what it is
  }, [isFresh]);

  async function confirm() {
    try {
      await revoke();
    } catch (caught) {
      setError(caught.message);
      ask(false);
    }
  }

  return html`<li class=${`share-link ${isFresh ? "is-fresh" : ""}`}>
    <div class="share-line">
      ${link.url
        ? html`<input type="text" readonly ref=${address} value=${link.url} aria-label=${t("Address of the link")} onFocus=${({ currentTarget: box }) => box.setSelectionRange(0, box.value.length, "backward")} /><${Copy} text=${link.url} />`
        : html`<p class="share-note">${t("This link works, but its address can be shown no more.")}</p>`}
    </div>
    <div class="share-facts"><span>${factsOf(link).join(" · ")}</span>
      ${asking
        ? html`<span class="share-sure">${t("Nobody will open it any more.")} <button type="button" ref=${sure} class="link-button is-danger" onClick=${confirm}>${t("Revoke")}</button> <button type="button" class="link-button" onClick=${() => ask(false)}>${t("Keep it")}</button></span>`
        : html`<button type="button" ref=${opener} class="link-button is-danger" onClick=${() => ask(true)}>${t("Revoke…")}</button>`}
    </div>
    ${error && html`<p class="form-error" role="alert">${error}</p>`}
  </li>`;
}

function factsOf(link) {
  const now = Date.now();
  const extent = link.keeps_up ? t("keeps up") : link.message_id ? t("up to a message") : t("as it was");
  return [
    t("made {ago}", { ago: ago(link.created_at, now) }),
    extent,
    link.views ? tn("seen {count} time, last {ago}", "seen {count} times, last {ago}", link.views, { ago: ago(link.last_seen_at, now) }) : t("not seen yet"),
    ...(link.ends_at ? [t("ends {when}", { when: fromNow(link.ends_at, now) })] : []),
  ];
}

function Copy({ text }) {
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

  return html`<button type="button" class="button" onClick=${copy}><${Icon} name=${copied ? "check" : "copy"} />${copied ? t("Copied") : t("Copy")}</button>`;
}
