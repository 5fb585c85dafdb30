// What the whole page shares: which conversation is open, the list of them, and the moves between them.
import { batch, computed, signal } from "../vendor/preact.js";
import { createConversationList } from "./conversation_list.js";
import { watchInbox } from "./inbox_socket.js";
import { openSession } from "./session.js";

const PATH = /^\/c\/([0-9a-f-]{36})\/?$/i;

export function conversationIn(pathname) {
  return PATH.exec(pathname)?.[1].toLowerCase() ?? null;
}

export function createApplication({ page, csrfToken, api }) {
  const list = createConversationList(api);
  const session = signal(null);
  const signedOut = signal(false);
  const roster = signal([]); // what the server says of each agent; without it names alone are shown
  const waitingForMe = signal(0); // requests in the inbox
  const conversationId = computed(() => session.value?.conversationId ?? null);

  function show(id) {
    if (id === conversationId.value) return;
    session.value?.close();
    session.value = id && openSession({
      conversationId: id,
      userId: page.user.id,
      api,
      onConversation: list.update,
      onRunning: list.setRunning,
      onMissing: list.forget,
    });
  }

  function go(id) {
    if (id === conversationId.value) return;
    history.pushState(null, "", id ? `/c/${id}/` : "/");
    show(id);
  }

  // Says it in the open conversation, or in a new one. Fails without any change, so that the text stays in the box.
  async function say(text, mode, options) {
    if (!session.value) {
      const conversation = await api.createConversation();
      batch(() => {
        list.update(conversation);
        go(conversation.id);
      });
    }
    session.value.say(text, mode, options);
    list.touch(session.value.conversationId);
  }

  // Left before it is deleted: the server ends the socket of what is gone, which would look like a fault.
  async function remove(id) {
    if (id === conversationId.value) go(null);
    await list.remove(id);
  }

  addEventListener("popstate", () => show(conversationIn(location.pathname)));
  show(page.conversation_id);
  list.loadMore();
  watchInbox((count) => (waitingForMe.value = count));
  api.listAgents().then(({ results }) => (roster.value = results), () => undefined);
  return { page, csrfToken, api, list, session, signedOut, roster, waitingForMe, conversationId, go, say, remove };
}
