// The frame of the chat page: sidebar, thread, composer, dialogs, and the keys that work everywhere.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { announce } from "../announce.js";
import { copyText } from "../clipboard.js";
import { t } from "../i18n.js";
import { titleWith } from "../inbox_socket.js";
import { actionOf, isWriting, keysOf } from "../keys.js";
import { answerText, transcript } from "../store.js";
import { stepVersions } from "./branches.js";
import { Composer } from "./composer.js";
import { ConfirmDelete } from "./dialogs.js";
import { EmptyState, MissingState } from "./empty.js";
import { Icon } from "./icons.js";
import { Later } from "./later.js";
import { Menu } from "./menu.js";
import { ConnectionNotice, ModelNotice } from "./notices.js";
import { ProjectPicker } from "./projects_picker.js";
import { RunAside, toggleRun, useMatches } from "./run_aside.js";
import { Sidebar, exportHref } from "./sidebar.js";
import { TemporaryNote, TemporaryToggle } from "./temporary.js";
import { Thread } from "./thread.js";

const NARROW = matchMedia("(max-width: 56rem)");
const CROWDED = matchMedia("(max-width: 1099.98px)"); // where a run stands beside the chat
const SIDEBAR_KEY = "hyperagent.sidebar";

const loadPalette = () => import("./palette.js").then(({ Palette }) => Palette);
const loadHelp = () => import("./help.js").then(({ HelpSheet }) => HelpSheet);
const loadShare = () => import("./share.js").then(({ ShareDialog }) => ShareDialog);

export function App({ application }) {
  const session = application.session.value;
  const { page, list } = application;
  const isNarrow = useNarrow(application.openRun);
  const [sidebar, setSidebar] = useSidebar(isNarrow);
  const [dialog, setDialog] = useState(null); // {kind: "help" | "palette"} | {kind: "delete" | "share", conversation, error, sending}
  const [renaming, setRenaming] = useState(null); // the id of a conversation
  const searchBox = useRef(null);

  const missing = session?.connection.value === "missing";
  const signedOut = session?.connection.value === "signed_out" || Boolean(list.error.value?.isSignedOut);
  const running = session?.running.value ?? false;
  const waiting = session?.waiting.value ?? false;
  const empty = session?.isEmpty.value ?? true;
  const isThere = session && !empty && !missing;
  const current = list.find(session?.conversationId);
  const untitled = application.temporary.value ? t("Temporary chat") : t("New conversation");
  const title = session ? current?.title || untitled : untitled;
  const insert = (text) => (application.inserted.value = { text });
  const closeOf = (kind) => () => setDialog((open) => (open?.kind === kind ? null : open)); // another may be open by then

  function go(id) {
    if (isNarrow) setSidebar(false);
    application.go(id);
  }

  const waitingForMe = application.waitingForMe.value;
  const sign = useTabSign(running, waiting);
  useEffect(() => {
    document.title = titleWith(waitingForMe, `${sign}${current?.title ? `${current.title} · ` : ""}HyperAgent`);
  }, [current?.title, waitingForMe, sign]);

  const show = { palette: () => setDialog({ kind: "palette" }), help: () => setDialog({ kind: "help" }) };
  const share = (conversation) => setDialog({ kind: "share", conversation });
  const remove = (conversation) => setDialog({ kind: "delete", conversation });
  const pin = (conversation) => list.pin(conversation.id, !conversation.pinned_at);

  function rename(conversation) {
    setSidebar(true);
    setRenaming(conversation.id);
  }

  function search() {
    setSidebar(true);
    requestAnimationFrame(() => searchBox.current?.focus());
  }

  const actions = {
    ...show,
    search,
    searchBySlash: search,
    create: () => go(null),
    sidebar: () => setSidebar(!sidebar),
    run: () => toggleRun(application),
    write: () => document.getElementById("composer-text")?.focus(),
    stop: () => (isNarrow && sidebar ? setSidebar(false) : running && session.stopAll()),
    before: () => stepVersions(-1),
    after: () => stepVersions(1),
  };
  useKeys(actions);

  async function confirmDelete() {
    setDialog({ ...dialog, error: null, sending: true });
    try {
      await application.remove(dialog.conversation.id);
      setDialog(null);
      requestAnimationFrame(actions.write);
    } catch (error) {
      setDialog({ ...dialog, error: error.message, sending: false });
    }
  }

  function takeBack(item) {
    session.unqueue(item.client_id);
    item.attachments?.forEach(application.attaching.put);
    insert(item.text);
  }

  const can = () => ({
    ...actions, running, isThere, temporary: application.temporary,
    startTemporary: () => { go(null); application.temporary.value = true; },
    ...lastAnswer(session),
    share: isThere && !application.temporary.value && current ? () => share(current) : null,
    remove: isThere && current ? () => remove(current) : null,
    pin: isThere && current ? () => pin(current) : null,
    isPinned: Boolean(current?.pinned_at),
    exportAs: isThere ? (form) => location.assign(exportHref(session.conversationId, form)) : null,
    openRun: application.openRun ? (id) => (application.openRun.value = id) : null,
    open: (url) => location.assign(url),
    isOffered: (url) => page.frame.menu.some((place) => place.url === url),
  });

  return html`
    <div class=${`app ${sidebar ? "has-sidebar" : ""} ${isNarrow ? "is-narrow" : ""}`}>
      <aside class="sidebar" aria-label=${t("Conversations")} inert=${!sidebar}>
        <${Sidebar} application=${application} searchBox=${searchBox} hide=${() => setSidebar(false)} go=${go} onPalette=${show.palette} onHelp=${show.help}
          renaming=${renaming} setRenaming=${setRenaming} onShare=${share} onDelete=${remove} />
      </aside>
      <div class="scrim" onClick=${() => setSidebar(false)}></div>
      <main class=${`main ${empty && !missing ? "is-empty" : ""}`} id="content" tabindex="-1">
        <header class="top-bar">
          ${!sidebar && html`<button type="button" class="icon-button" onClick=${() => setSidebar(true)} aria-label=${t("Show the conversations")} title=${`${t("Show the conversations")} (${keysOf("sidebar")})`}><${Icon} name="sidebar" /></button>`}
          ${empty && !missing ? html`<span class="top-title"></span>` : html`<h1 class="top-title"><bdi>${title}</bdi></h1>`}
          ${isThere && current && !application.temporary.value && html`<button type="button" class="icon-button top-wide" onClick=${() => share(current)} aria-label=${t("Share")} title=${t("Share")}><${Icon} name="share" /></button>`}
          ${isThere && html`<a class="icon-button top-wide" href=${`/files/conversation/${session.conversationId}/`} aria-label=${t("Files of this conversation")} title=${t("Files of this conversation")}><${Icon} name="files" /></a>`}
          ${!missing && html`<${ProjectPicker} application=${application} />`}
          ${isThere && html`<${TopMenu} id=${session.conversationId} current=${current} isTemporary=${application.temporary.value} share=${share} rename=${rename} pin=${pin} remove=${remove} />`}
          ${!sidebar && html`<button type="button" class="icon-button" onClick=${() => go(null)} aria-label=${t("New conversation")} title=${`${t("New conversation")} (${keysOf("create")})`}><${Icon} name="plus" /></button>`}
        </header>
        ${missing
          ? html`<${MissingState} go=${go} />`
          : html`
            ${empty && html`<${EmptyState} name=${page.user.display_name} />`}
            ${session && !empty && (!session.showsMessages.value ? html`<${Skeleton} />` : html`<${Thread} key=${session.conversationId} application=${application} session=${session} takeBack=${takeBack} />`)}
            <div class="dock">
              <${ConnectionNotice} session=${session} list=${list} signedOut=${signedOut} />
              <${Composer} application=${application} session=${session} running=${running} waiting=${waiting} inserted=${application.inserted.value}
                blocked=${signedOut ? t("You are signed out: sign in again to send.") : null} lastQuestion=${session?.lastQuestion.value ?? null} />
              ${session ? html`<${TemporaryNote} application=${application} />` : html`<${TemporaryToggle} application=${application} />`}
              <${ModelNotice} text=${session?.notice.value ?? page.model_notice} />
            </div>
            ${empty && html`<${EmptyState.Prompts} application=${application} choose=${insert} />`}
          `}
      </main>
      <${RunAside} application=${application} />
    </div>
    ${dialog?.kind === "palette" && html`<${Later} key="palette" load=${loadPalette} close=${closeOf("palette")} with=${{ can: can(), conversations: list.items.value, search: application.api.searchAll, go, open: (url) => location.assign(url) }} />`}
    ${dialog?.kind === "help" && html`<${Later} key="help" load=${loadHelp} close=${closeOf("help")} />`}
    ${dialog?.kind === "share" && html`<${Later} key="share" load=${loadShare} close=${closeOf("share")} with=${{ conversation: dialog.conversation, api: application.api }} />`}
    ${dialog?.kind === "delete" && html`<${ConfirmDelete} conversation=${dialog.conversation} error=${dialog.error} sending=${dialog.sending} confirm=${confirmDelete} close=${closeOf("delete")} />`}
  `;
}

// What can be done with the open conversation, as in the list; what has a button of its own where there is room stands here where there is none.
function TopMenu({ id, current, isTemporary, share, rename, pin, remove }) {
  return html`<${Menu} id="conversation-menu" label=${t("Options for this conversation")} tip=${t("Options for this conversation")} buttonClass="icon-button" button=${html`<${Icon} name="dots" />`}>
    ${current && !isTemporary && html`<button type="button" role="menuitem" class="top-narrow" onClick=${() => share(current)}><${Icon} name="share" />${t("Share")}</button>`}
    <a role="menuitem" class="top-narrow" href=${`/files/conversation/${id}/`}><${Icon} name="files" />${t("Files of this conversation")}</a>
    ${current && html`<button type="button" role="menuitem" onClick=${() => pin(current)}><${Icon} name="pin" />${current.pinned_at ? t("Unpin") : t("Pin")}</button>
      <button type="button" role="menuitem" onClick=${() => rename(current)}><${Icon} name="pencil" />${t("Rename")}</button>`}
    <a role="menuitem" href=${exportHref(id, "markdown")} download><${Icon} name="download" />${t("Export as Markdown")}</a>
    <a role="menuitem" href=${exportHref(id, "json")} download><${Icon} name="download" />${t("Export as JSON")}</a>
    ${current && html`<button type="button" role="menuitem" class="is-danger" onClick=${() => remove(current)}><${Icon} name="trash" />${t("Delete")}</button>`}
  </${Menu}>`;
}

// What can be done with the newest answer that is shown.
function lastAnswer(session) {
  const row = session && transcript(session.state.peek()).findLast(({ message }) => message.role === "assistant");
  if (!row) return { copyLast: null, regenerate: null, runId: null };
  const text = answerText(row.message, row.execution);
  const isOver = row.execution && ["completed", "failed", "cancelled"].includes(row.execution.status);
  return {
    copyLast: text ? () => copyText(text).then(() => announce(t("Copied"))) : null,
    regenerate: isOver ? () => session.retry(row.message.id) : null,
    runId: row.execution?.id ?? null,
  };
}

function Skeleton() {
  return html`<div class="thread-frame" aria-busy="true"><div class="thread-content skeleton"><p></p><p></p><p></p><p></p></div><p class="visually-hidden" role="status">${t("Loading the messages")}</p></div>`;
}

// Whether there is no room for the list of conversations beside what is looked at.
function useNarrow(openRun) {
  const [isNarrow, isCrowded] = [useMatches(NARROW), useMatches(CROWDED)];
  return isNarrow || (isCrowded && (openRun?.value ?? null) !== null);
}

// Open where there is room unless hidden there before; elsewhere a drawer, closed at first.
function useSidebar(isNarrow) {
  const [open, setOpen] = useState(() => !isNarrow && localStorageSays() !== "hidden");
  function set(value) {
    setOpen(value);
    if (!isNarrow) return remember(value ? "shown" : "hidden");
    requestAnimationFrame(() => (value ? document.querySelector(".sidebar a, .sidebar button") : document.querySelector(".top-bar .icon-button"))?.focus({ preventScroll: true }));
  }
  useLayoutEffect(() => setOpen(!isNarrow && localStorageSays() !== "hidden"), [isNarrow]);
  return [open, set];
}

// What the title of a tab that lies behind says of the answer in it: that it is being written, or that it has come since.
function useTabSign(running, waiting) {
  const [isHidden, setHidden] = useState(document.hidden);
  const [isAwaited, setAwaited] = useState(false);
  useEffect(() => {
    const look = () => setHidden(document.hidden);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  useEffect(() => setAwaited((before) => isHidden && (before || running)), [isHidden, running]);
  if (!isHidden || waiting) return "";
  return running ? "… " : isAwaited ? "✓ " : "";
}

function localStorageSays() {
  try {
    return localStorage.getItem(SIDEBAR_KEY);
  } catch {
    return null;
  }
}

function remember(value) {
  try {
    localStorage.setItem(SIDEBAR_KEY, value);
  } catch {
    // Kept for this page only.
  }
}

function useKeys(actions) {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    function onKeyDown(event) {
      if (document.querySelector("dialog[open]")) return;
      const isEmptyBox = event.target.id === "composer-text" && event.target.value === "" && event.key === "?";
      const action = actionOf(event, isWriting(event.target) && !isEmptyBox ? ["page"] : ["page", "outside"]);
      if (!action || (action === "stop" && (document.querySelector(":popover-open") || event.target.type === "search"))) return;
      if (action !== "stop") event.preventDefault();
      latest.current[action]();
    }
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}
