// The frame of the chat page: sidebar, thread, composer, dialogs, and the keys that work everywhere.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { titleWith } from "../inbox_socket.js";
import { Composer } from "./composer.js";
import { ConfirmDelete, HelpSheet } from "./dialogs.js";
import { EmptyState, MissingState } from "./empty.js";
import { Icon } from "./icons.js";
import { ConnectionNotice, ModelNotice } from "./notices.js";
import { ProjectPicker } from "./projects_picker.js";
import { Sidebar } from "./sidebar.js";
import { TemporaryNote, TemporaryToggle } from "./temporary.js";
import { Thread } from "./thread.js";

const NARROW = matchMedia("(max-width: 56rem)");
const SIDEBAR_KEY = "hyperagent.sidebar";

export function App({ application }) {
  const session = application.session.value;
  const { page, list } = application;
  const [sidebar, setSidebar] = useSidebar();
  const [dialog, setDialog] = useState(null); // {kind: "help"} | {kind: "delete", conversation, error}
  const [inserted, setInserted] = useState(null); // {text}: to be put into the box
  const searchBox = useRef(null);

  const missing = session?.connection.value === "missing";
  const signedOut = session?.connection.value === "signed_out" || Boolean(list.error.value?.isSignedOut);
  const running = session?.running.value ?? false;
  const waiting = session?.waiting.value ?? false;
  const empty = session?.isEmpty.value ?? true;
  const current = list.items.value.find(({ id }) => id === session?.conversationId);
  const untitled = application.temporary.value ? "Temporary chat" : "New conversation";
  const title = session ? current?.title || untitled : untitled;

  function go(id) {
    if (NARROW.matches) setSidebar(false);
    application.go(id);
  }

  const waitingForMe = application.waitingForMe.value;
  useEffect(() => {
    document.title = titleWith(waitingForMe, current?.title ? `${current.title} · HyperAgent` : "HyperAgent");
  }, [current?.title, waitingForMe]);

  useKeys({
    search: () => {
      setSidebar(true);
      requestAnimationFrame(() => searchBox.current?.focus());
    },
    create: () => go(null),
    help: () => setDialog({ kind: "help" }),
    stop: () => running && session.stopAll(),
  });

  async function confirmDelete() {
    try {
      await application.remove(dialog.conversation.id);
      setDialog(null);
    } catch (error) {
      setDialog({ ...dialog, error: error.message });
    }
  }

  function takeBack(item) {
    session.unqueue(item.client_id);
    setInserted({ text: item.text });
  }

  return html`
    <div class=${`app ${sidebar ? "has-sidebar" : ""}`}>
      <aside class="sidebar" aria-label="Conversations" inert=${!sidebar}>
        <${Sidebar} application=${application} searchBox=${searchBox} hide=${() => setSidebar(false)} go=${go}
          onDelete=${(conversation) => setDialog({ kind: "delete", conversation })} onHelp=${() => setDialog({ kind: "help" })} />
      </aside>
      <div class="scrim" onClick=${() => setSidebar(false)}></div>
      <main class=${`main ${empty && !missing ? "is-empty" : ""}`} id="content" tabindex="-1">
        <header class="top-bar">
          ${!sidebar && html`<button type="button" class="icon-button" onClick=${() => setSidebar(true)} aria-label="Show the conversations" title="Show the conversations"><${Icon} name="sidebar" /></button>`}
          ${empty && !missing ? html`<span class="top-title"></span>` : html`<h1 class="top-title"><bdi>${title}</bdi></h1>`}
          ${session && !empty && !missing && html`<a class="icon-button" href=${`/files/conversation/${session.conversationId}/`} aria-label="Files of this conversation" title="Files of this conversation"><${Icon} name="files" /></a>`}
          ${!missing && html`<${ProjectPicker} application=${application} />`}
          ${!sidebar && html`<button type="button" class="icon-button" onClick=${() => go(null)} aria-label="New conversation" title="New conversation"><${Icon} name="plus" /></button>`}
        </header>
        ${missing
          ? html`<${MissingState} go=${go} />`
          : html`
            ${empty && html`<${EmptyState} name=${page.user.display_name} />`}
            ${session && !empty && (!session.showsMessages.value ? html`<${Skeleton} />` : html`<${Thread} key=${session.conversationId} application=${application} session=${session} takeBack=${takeBack} />`)}
            <div class="dock">
              <${ConnectionNotice} session=${session} signedOut=${signedOut} />
              <${Composer} application=${application} session=${session} running=${running} waiting=${waiting} inserted=${inserted}
                blocked=${signedOut ? "You are signed out: sign in again to send." : null} lastQuestion=${session?.lastQuestion.value ?? null} />
              ${session ? html`<${TemporaryNote} application=${application} />` : html`<${TemporaryToggle} application=${application} />`}
              <${ModelNotice} text=${session?.notice.value ?? page.model_notice} />
            </div>
            ${empty && html`<${EmptyState.Prompts} choose=${(text) => setInserted({ text })} />`}
          `}
      </main>
    </div>
    ${dialog?.kind === "help" && html`<${HelpSheet} close=${() => setDialog(null)} />`}
    ${dialog?.kind === "delete" && html`<${ConfirmDelete} conversation=${dialog.conversation} error=${dialog.error} confirm=${confirmDelete} close=${() => setDialog(null)} />`}
  `;
}

function Skeleton() {
  return html`<div class="thread-frame" aria-busy="true"><div class="thread-content skeleton"><p></p><p></p><p></p><p></p></div><p class="visually-hidden" role="status">Loading the messages</p></div>`;
}

// Open on wide screens unless hidden there before; on narrow ones a drawer, closed at first.
function useSidebar() {
  const [open, setOpen] = useState(() => !NARROW.matches && localStorageSays() !== "hidden");
  function set(value) {
    setOpen(value);
    if (!NARROW.matches) remember(value ? "shown" : "hidden");
  }
  useEffect(() => {
    const onChange = () => setOpen(!NARROW.matches && localStorageSays() !== "hidden");
    NARROW.addEventListener("change", onChange);
    return () => NARROW.removeEventListener("change", onChange);
  }, []);
  return [open, set];
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

function isWriting(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function useKeys(actions) {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    function onKeyDown(event) {
      if (event.isComposing || document.querySelector("dialog[open]")) return;
      const mod = event.metaKey || event.ctrlKey;
      const key = event.key.toLowerCase();
      const action =
        mod && !event.shiftKey && key === "k" ? "search"
        : mod && event.shiftKey && key === "o" ? "create"
        : key === "?" && !mod && (!isWriting(event.target) || (event.target.id === "composer-text" && event.target.value === "")) ? "help"
        : null;
      if (action) {
        event.preventDefault();
        latest.current[action]();
      } else if (key === "escape" && !document.querySelector(":popover-open") && event.target.type !== "search") {
        latest.current.stop();
      }
    }
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}
