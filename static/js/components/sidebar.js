// The conversations: search, open, pin, rename, share, export, delete; the ways to the other pages, and the person's own menu.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { grouped } from "../ages.js";
import { csrfToken } from "../api.js";
import { t } from "../i18n.js";
import { keysOf } from "../keys.js";
import { Icon } from "./icons.js";
import { Menu } from "./menu.js";

const LOGO = new URL("../../icons/hyperagent.svg", import.meta.url).href;

const titleOf = ({ title }) => title || t("New conversation");

export function Sidebar({ application, searchBox, hide, renaming, setRenaming, onDelete, onHelp, onShare, onPalette, go }) {
  const { list, conversationId, waitingForMe, isReminded, unread } = application;
  const [query, setQuery] = useState("");
  const wanted = query.trim().toLocaleLowerCase();
  const items = list.items.value.filter((item) => titleOf(item).toLocaleLowerCase().includes(wanted));
  const groups = grouped(items, Date.now());
  const acts = { "/": () => go(null), "/search/": onPalette }; // what other pages have as links
  const keys = { "/search/": "palette" };

  return html`
    <div class="side-head">
      <a class="brand" href="/" onClick=${(event) => follow(event, () => go(null))}><img class="brand-mark" src=${LOGO} alt="" width="24" height="24" />HyperAgent</a>
      <button type="button" class="icon-button" onClick=${hide} aria-label=${t("Hide the conversations")} title=${`${t("Hide the conversations")} (${keysOf("sidebar")})`}><${Icon} name="sidebar" /></button>
    </div>
    <div class="side-scroll">
    <ul class="side-places" aria-label=${t("Pages")}>
      ${application.page.frame.places.map(({ url, sign, title }) => html`<li key=${url}><a class="frame-link" href=${url} aria-current=${url === "/" && !conversationId.value ? "page" : null} onClick=${(event) => acts[url] && follow(event, acts[url])}>
        <${Icon} name=${sign} /><span>${title}</span>${keys[url] && html`<span class="side-keys" aria-hidden="true"><kbd>${keysOf(keys[url])}</kbd></span>`}
        ${url === "/inbox/" && waitingForMe.value > 0 && html`<span class=${`frame-count ${isReminded.value ? "is-reminded" : ""}`}>${waitingForMe.value}<span class="visually-hidden"> ${isReminded.value ? t("still waiting for you") : t("waiting for you")}</span></span>`}</a></li>`)}
    </ul>
    <label class="side-search"><${Icon} name="filter" /><span class="visually-hidden">${t("Search the conversations")}</span>
      <input type="search" ref=${searchBox} placeholder=${t("Find a conversation")} value=${query} onInput=${(event) => setQuery(event.currentTarget.value)}
        onKeyDown=${(event) => event.key === "Escape" && query && (event.stopPropagation(), setQuery(""))} /></label>
    <nav class="side-list" aria-label=${t("Conversations")}>
      ${groups.map(({ label, items: group }) => html`<section key=${label}>
        <h2>${label}</h2>
        <ul>${group.map((item) => html`<${Entry} key=${item.id} item=${item} current=${item.id === conversationId.value} isUnread=${item.id !== conversationId.value && unread.isUnread(item)} renaming=${renaming === item.id}
          setRenaming=${setRenaming} rename=${(title) => list.rename(item.id, title)} pin=${() => list.pin(item.id, !item.pinned_at)} onShare=${onShare && (() => onShare(item))} onDelete=${() => onDelete(item)} open=${() => go(item.id)} />`)}</ul>
      </section>`)}
      ${!items.length && !list.more.value && !list.error.value && html`<p class="side-note">${wanted ? t("No conversation has such a title.") : t("Your conversations will be listed here.")}</p>`}
      ${list.error.value && html`<p class="side-note">${list.error.value.message} <button type="button" class="link-button" onClick=${list.retry}>${t("Try again")}</button></p>`}
      ${list.more.value && html`<${Sentinel} list=${list} />`}
    </nav>
    </div>
    <${UserMenu} application=${application} onHelp=${onHelp} />`;
}

// A plain click stays in the page; with a modifier the browser opens a tab.
function follow(event, act) {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  act();
}

// Loads the next page when it comes into view.
function Sentinel({ list }) {
  const element = useRef(null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.at(-1).isIntersecting && list.loadMore(), { rootMargin: "300px" });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [list.items.value]);
  return html`<p class="side-note" ref=${element}>${t("Loading…")}</p>`;
}

function Entry({ item, current, isUnread, renaming, setRenaming, rename, pin, onShare, onDelete, open }) {
  if (renaming) return html`<${RenameEntry} item=${item} rename=${rename} done=${() => setRenaming(null)} />`;
  const title = titleOf(item);
  return html`<li class=${`entry ${current ? "is-current" : ""} ${isUnread ? "is-unread" : ""}`}>
    <a href=${`/c/${item.id}/`} aria-current=${current ? "page" : null} title=${title} onClick=${(event) => follow(event, open)} onDblClick=${() => setRenaming(item.id)}
      onKeyDown=${(event) => event.key === "F2" && setRenaming(item.id)}>
      <bdi>${title}</bdi>${item.running && html`<span class="pulse" role="img" aria-label=${t("An answer is being written")}></span>`}
      ${isUnread && html`<span class="unread-dot" role="img" aria-label=${t("New answer")}></span>`}
    </a>
    <${Menu} id=${`menu-${item.id}`} label=${t("Options for {title}", { title })} buttonClass="icon-button small entry-menu" button=${html`<${Icon} name="dots" />`}>
      <button type="button" role="menuitem" onClick=${pin}><${Icon} name="pin" />${item.pinned_at ? t("Unpin") : t("Pin")}</button>
      <button type="button" role="menuitem" onClick=${() => setRenaming(item.id)}><${Icon} name="pencil" />${t("Rename")}</button>
      ${onShare && html`<button type="button" role="menuitem" onClick=${onShare}><${Icon} name="share" />${t("Share")}</button>`}
      <a role="menuitem" href=${exportHref(item.id, "markdown")} download><${Icon} name="download" />${t("Export as Markdown")}</a>
      <a role="menuitem" href=${exportHref(item.id, "json")} download><${Icon} name="download" />${t("Export as JSON")}</a>
      <button type="button" role="menuitem" class="is-danger" onClick=${onDelete}><${Icon} name="trash" />${t("Delete")}</button>
    </${Menu}>
  </li>`;
}

export const exportHref = (id, form) => `/api/v1/conversations/${encodeURIComponent(id)}/export?as=${form}`;

function RenameEntry({ item, rename, done }) {
  const box = useRef(null);
  const [error, setError] = useState(null);
  const finished = useRef(false);
  useEffect(() => box.current.select(), []);

  async function save() {
    if (finished.current || !box.current) return;
    const title = box.current.value.trim();
    const hadFocus = document.activeElement === box.current;
    if (!title || title === item.title) return cancel();
    finished.current = true;
    try {
      await rename(title);
      done();
      if (hadFocus) focusEntry(item.id);
    } catch (caught) {
      finished.current = false;
      setError(caught.message);
    }
  }

  function cancel() {
    const hadFocus = document.activeElement === box.current;
    finished.current = true;
    done();
    if (hadFocus) focusEntry(item.id);
  }

  function onKeyDown(event) {
    if (event.isComposing || event.keyCode === 229) return; // a key of an input method
    if (event.key === "Enter") save();
    if (event.key !== "Escape") return;
    event.stopPropagation();
    cancel();
  }

  // The list around it is drawn anew when anything in it changes: only what it had at first is given to it.
  return html`<li class="entry is-renaming">
    <input type="text" ref=${box} aria-label=${t("New title")} maxlength="200" defaultValue=${item.title} aria-invalid=${error ? "true" : null} onBlur=${save}
      onKeyDown=${onKeyDown} />
    ${error && html`<p class="form-error">${error}</p>`}
  </li>`;
}

const focusEntry = (id) => requestAnimationFrame(() => document.querySelector(`.entry > a[href="/c/${id}/"]`)?.focus());

function UserMenu({ application, onHelp }) {
  const { user, frame } = application.page;
  const name = user.display_name || user.email;
  const face = html`<span class="avatar" aria-hidden="true">${user.initials}</span><span class="user-name"><bdi>${name}</bdi></span><${Icon} name="chevron" />`;
  return html`<div class="side-foot">
    <${Menu} id="user-menu" label=${t("Account of {name}", { name })} buttonClass="user-button" button=${face} placement="above">
      <p class="menu-note">${user.email}</p>
      ${frame.menu.map(({ url, sign, title }) => html`<a key=${url} role="menuitem" href=${url}><${Icon} name=${sign} />${title}</a>`)}
      <${ThemeButton} />
      <button type="button" role="menuitem" onClick=${onHelp}><${Icon} name="keyboard" />${t("Keys")}</button>
      <form method="post" action="/accounts/logout/">
        <input type="hidden" name="csrfmiddlewaretoken" value=${csrfToken} />
        <button type="submit" role="menuitem"><${Icon} name="leave" />${t("Sign out")}</button>
      </form>
    </${Menu}>
  </div>`;
}

// js/theme.js answers its clicks and names it; the menu stays, to be clicked through.
function ThemeButton() {
  useEffect(() => void dispatchEvent(new Event("hyperagent:theme-button")), []);
  return html`<button type="button" role="menuitem" data-stays data-theme-toggle data-say-system=${t("Theme: as the system")} data-say-light=${t("Theme: light")} data-say-dark=${t("Theme: dark")}><${Icon} name="theme" /><span>${t("Theme")}</span></button>`;
}
