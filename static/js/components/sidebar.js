// The conversations: search, open, rename, delete; and the person's own menu.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { groupedByAge } from "../conversation_list.js";
import { Icon } from "./icons.js";
import { Menu } from "./menu.js";

const LOGO = new URL("../../icons/hyperagent.svg", import.meta.url).href;

const titleOf = ({ title }) => title || "New conversation";

export function Sidebar({ application, searchBox, hide, onDelete, onHelp, go }) {
  const { list, conversationId } = application;
  const [query, setQuery] = useState("");
  const [renaming, setRenaming] = useState(null);
  const wanted = query.trim().toLocaleLowerCase();
  const items = list.items.value.filter((item) => titleOf(item).toLocaleLowerCase().includes(wanted));

  return html`
    <div class="side-head">
      <a class="brand" href="/" onClick=${(event) => follow(event, () => go(null))}><img class="brand-mark" src=${LOGO} alt="" width="24" height="24" />HyperAgent</a>
      <button type="button" class="icon-button" onClick=${hide} aria-label="Hide the conversations" title="Hide the conversations"><${Icon} name="sidebar" /></button>
    </div>
    <a class="new-chat" href="/" aria-current=${conversationId.value ? null : "page"} onClick=${(event) => follow(event, () => go(null))}><${Icon} name="plus" />New conversation</a>
    <a class="new-chat side-inbox" href="/inbox/"><${Icon} name="inbox" />Inbox${application.waitingForMe.value > 0 && html`<span class="side-count">${application.waitingForMe.value}<span class="visually-hidden"> waiting for you</span></span>`}</a>
    <a class="new-chat" href="/documents/"><${Icon} name="document" />Documents</a>
    <a class="new-chat" href="/files/"><${Icon} name="files" />Files</a>
    <a class="new-chat" href="/projects/"><${Icon} name="folder" />Projects</a>
    <a class="new-chat" href="/memory/"><${Icon} name="bookmark" />Memory</a>
    <label class="side-search"><${Icon} name="search" /><span class="visually-hidden">Search the conversations</span>
      <input type="search" ref=${searchBox} placeholder="Search" value=${query} onInput=${(event) => setQuery(event.currentTarget.value)}
        onKeyDown=${(event) => event.key === "Escape" && setQuery("")} /></label>
    <nav class="side-list" aria-label="Conversations">
      ${groupedByAge(items, Date.now()).map(({ label, items: group }) => html`<section key=${label}>
        <h2>${label}</h2>
        <ul>${group.map((item) => html`<${Entry} key=${item.id} item=${item} current=${item.id === conversationId.value} renaming=${renaming === item.id}
          setRenaming=${setRenaming} rename=${(title) => list.rename(item.id, title)} onDelete=${() => onDelete(item)} open=${() => go(item.id)} />`)}</ul>
      </section>`)}
      ${!items.length && !list.more.value && !list.error.value && html`<p class="side-note">${wanted ? "No conversation has such a title." : "Your conversations will be listed here."}</p>`}
      ${list.error.value && html`<p class="side-note">${list.error.value.message} <button type="button" class="link-button" onClick=${list.retry}>Try again</button></p>`}
      ${list.more.value && html`<${Sentinel} list=${list} />`}
    </nav>
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
    const observer = new IntersectionObserver(([entry]) => entry.isIntersecting && list.loadMore(), { rootMargin: "300px" });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [list.items.value]);
  return html`<p class="side-note" ref=${element}>Loading…</p>`;
}

function Entry({ item, current, renaming, setRenaming, rename, onDelete, open }) {
  if (renaming) return html`<${RenameEntry} item=${item} rename=${rename} done=${() => setRenaming(null)} />`;
  return html`<li class=${`entry ${current ? "is-current" : ""}`}>
    <a href=${`/c/${item.id}/`} aria-current=${current ? "page" : null} title=${titleOf(item)} onClick=${(event) => follow(event, open)} onDblClick=${() => setRenaming(item.id)}>
      <bdi>${titleOf(item)}</bdi>${item.running && html`<span class="pulse" role="img" aria-label="An answer is being written"></span>`}
    </a>
    <${Menu} id=${`menu-${item.id}`} label=${`Options for ${titleOf(item)}`} buttonClass="icon-button small entry-menu" button=${html`<${Icon} name="dots" />`}>
      <button type="button" role="menuitem" onClick=${() => setRenaming(item.id)}><${Icon} name="pencil" />Rename</button>
      <button type="button" role="menuitem" class="is-danger" onClick=${onDelete}><${Icon} name="trash" />Delete</button>
    </${Menu}>
  </li>`;
}

function RenameEntry({ item, rename, done }) {
  const box = useRef(null);
  const [error, setError] = useState(null);
  const finished = useRef(false);
  useEffect(() => box.current.select(), []);

  async function save() {
    if (finished.current || !box.current) return;
    const title = box.current.value.trim();
    if (!title || title === item.title) return cancel();
    finished.current = true;
    try {
      await rename(title);
      done();
    } catch (caught) {
      finished.current = false;
      setError(caught.message);
    }
  }

  function cancel() {
    finished.current = true;
    done();
  }

  return html`<li class="entry is-renaming">
    <input type="text" ref=${box} aria-label="New title" maxlength="200" value=${item.title} aria-invalid=${error ? "true" : null} onBlur=${save}
      onKeyDown=${(event) => { if (event.key === "Enter" && !event.isComposing) save(); if (event.key === "Escape") cancel(); }} />
    ${error && html`<p class="form-error">${error}</p>`}
  </li>`;
}

function UserMenu({ application, onHelp }) {
  const { user } = application.page;
  const name = user.display_name || user.email;
  const face = html`<span class="avatar" aria-hidden="true">${[...name][0].toLocaleUpperCase()}</span><span class="user-name"><bdi>${name}</bdi></span><${Icon} name="chevron" />`;
  return html`<div class="side-foot">
    <${Menu} id="user-menu" label=${`Account of ${name}`} buttonClass="user-button" button=${face} placement="above">
      <p class="menu-note">${user.email}</p>
      <a role="menuitem" href="/accounts/profile/"><${Icon} name="person" />Profile</a>
      <a role="menuitem" href="/mail/"><${Icon} name="mail" />Mailboxes</a>
      <a role="menuitem" href="/rules/"><${Icon} name="scales" />Standing rules</a>
      <a role="menuitem" href="/accounts/tokens/"><${Icon} name="key" />API tokens</a>
      ${user.is_staff && html`<a role="menuitem" href="/admin/"><${Icon} name="shield" />Administration</a>`}
      <button type="button" role="menuitem" onClick=${onHelp}><${Icon} name="keyboard" />Keys</button>
      <form method="post" action="/accounts/logout/">
        <input type="hidden" name="csrfmiddlewaretoken" value=${application.csrfToken} />
        <button type="submit" role="menuitem"><${Icon} name="leave" />Sign out</button>
      </form>
    </${Menu}>
    <${ThemeButton} />
  </div>`;
}

// js/theme.js answers its clicks and names it.
function ThemeButton() {
  useEffect(() => void dispatchEvent(new Event("hyperagent:theme-button")), []);
  return html`<button type="button" class="icon-button" data-theme-toggle><${Icon} name="theme" /></button>`;
}
