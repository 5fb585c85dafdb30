// What the whole page shares: which conversation is open, the list of them, and the moves between them.
import { batch, computed, signal } from "../vendor/preact.js";
import { announce } from "./announce.js";
import { attach, createAttaching } from "./components/attaching.js";
import { createConversationList } from "./conversation_list.js";
import { watchInbox } from "./inbox_socket.js";
import { readMode } from "./drafts.js";
import { takeDrops } from "./file_drop.js";
import { createOpenRun } from "./run/place.js";
import { t } from "./i18n.js";
import { openSession } from "./session.js";
import { inOurWords } from "./told.js";
import { createUnread } from "./unread.js";

const LOOK_MS = 10_000; // at runs of conversations that are not open

const PATH = /^\/c\/([0-9a-f-]{36})\/?$/i;

export function conversationIn(pathname) {
  return PATH.exec(pathname)?.[1].toLowerCase() ?? null;
}

export function createApplication({ page, api }) {
  const opened = page.conversation ?? null; // as it was when the page was loaded; the list's first page need not have it
  const list = createConversationList(api, [...(page.pinned ?? []), ...(opened && !opened.is_temporary ? [opened] : [])]);
  const unread = createUnread(page.user.id);
  const mode = signal(readMode()); // who shall work on the next question
  const inserted = signal(null); // {text}: to be put into the box
  const { openRun, follow: followRun } = createOpenRun({ location, history }); // the run that is looked at beside the chat
  const session = signal(null);
  const signedOut = signal(false);
  const roster = signal([]); // what the server says of each agent; without it names alone are shown
  const attaching = createAttaching({ limitBytes: page.max_document_bytes ?? Infinity, added: () => undefined }); // files of the next question
  const dropping = signal(false); // files are held over the page
  takeDrops({ ...attaching, add: (files) => attach(attaching, files) }, dropping);
  const waitingForMe = signal(0); // requests in the inbox
  const isReminded = signal(false); // of one of them, since their number changed last
  const temporary = signal(opened?.is_temporary ?? false); // the open conversation, or the next one, is of no list and no memory
  const temporaries = new Set(temporary.value ? [opened.id] : []);
  const conversationId = computed(() => session.value?.conversationId ?? null);
  const nextProject = signal(page.project ?? null); // of a conversation that is not there yet
  const project = computed(() => {
    const id = conversationId.value;
    if (!id) return nextProject.value;
    return (list.find(id) ?? (id === opened?.id ? opened : null))?.project ?? null;
  });

  // How a conversation is now: one that is temporary stands in no list.
  function learn(conversation) {
    if (conversation.is_temporary) temporaries.add(conversation.id);
    if (!temporaries.has(conversation.id)) list.update(conversation);
    else if (conversation.id === conversationId.value) temporary.value = true;
  }

  function show(id) {
    if (id === conversationId.value) return;
    session.value?.close();
    unread.note(conversationId.value);
    unread.note(id);
    if (!id) nextProject.value = null;
    temporary.value = temporaries.has(id);
    if (id && !temporaries.has(id) && !list.find(id)) api.getConversation(id).then(learn, () => undefined);
    session.value = id && openSession({
      conversationId: id,
      userId: page.user.id,
      api,
      onConversation: learn,
      onRunning: list.setRunning,
      onMissing: list.forget,
    });
  }

  function go(id) {
    if (id === conversationId.value) return;
    history.pushState(null, "", id ? `/c/${id}/` : "/");
    followRun();
    show(id);
  }

  // Says it in the open conversation, or in a new one, and gives its id. Fails without any change, so that the text stays in the box.
  async function say(text, mode, options, attachments, how) {
    if (!session.value) {
      const conversation = await api.createConversation({ ...(temporary.value && { temporary: true }), ...(nextProject.value && { project_id: nextProject.value.id }) });
      batch(() => {
        learn(conversation);
        go(conversation.id);
      });
    }
    session.value.say(text, mode, options, attachments, how);
    list.touch(session.value.conversationId);
    return session.value.conversationId;
  }

  // Into this project, or out of any. Fails without any change.
  async function moveTo(chosen) {
    if (!conversationId.value) nextProject.value = chosen;
    else list.update(await api.moveConversation(conversationId.value, chosen?.id ?? null));
  }

  // Left before it is deleted: the server ends the socket of what is gone, which would look like a fault.
  async function remove(id) {
    if (id === conversationId.value) go(null);
    await list.remove(id);
  }

  // The open conversation has a socket; of the others the list is asked, while one of them is at work.
  function look() {
    if (document.hidden || signedOut.value) return;
    if (list.items.value.some(({ id, running }) => running && id !== conversationId.value)) list.refresh(conversationId.value);
  }

  function onReminder({ request_id: id, conversation_id: of, title }) {
    isReminded.value = true;
    announce(t("Still waits for you: {title}", { title: inOurWords(title) }));
    if (of === conversationId.value) session.value.requests.load(id).catch(() => undefined);
  }

  setInterval(look, LOOK_MS);
  document.addEventListener("visibilitychange", () => document.hidden ? unread.note(conversationId.value) : list.refresh(conversationId.value));
  addEventListener("pagehide", () => unread.note(conversationId.value));
  addEventListener("popstate", () => {
    followRun();
    show(conversationIn(location.pathname));
  });
  show(page.conversation_id);
  list.loadMore();
  watchInbox((count) => batch(() => {
    waitingForMe.value = count;
    isReminded.value = false;
  }), { onReminder });
  api.listAgents().then(({ results }) => (roster.value = results), () => undefined);
  return { page, api, list, session, openRun, signedOut, roster, attaching, dropping, waitingForMe, isReminded, temporary, unread, mode, inserted, conversationId, project, moveTo, go, say, remove };
}
