// The conversations of the sidebar: pages by cursor, newest first, changed in place when something is known better.
import { signal } from "../vendor/preact.js";

// `given`: some that are known already, such as the pinned ones.
export function createConversationList(api, given = []) {
  const items = signal(given);
  const error = signal(null);
  const complaint = signal(null); // why what was asked for could not be done
  const loading = signal(false);
  const more = signal(true); // another page may exist
  let next = null;

  async function loadMore() {
    if (loading.value || !more.value) return;
    loading.value = true;
    try {
      const page = await api.listConversations(next);
      next = page.next;
      items.value = merged(items.value, page.results);
      more.value = Boolean(next);
      error.value = null;
    } catch (caught) {
      error.value = caught;
      more.value = false;
    } finally {
      loading.value = false;
    }
  }

  function retry() {
    more.value = true;
    return loadMore();
  }

  const find = (id) => items.value.find((item) => item.id === id);

  function update(conversation) {
    items.value = merged(items.value, [conversation]);
  }

  function setRunning(id, running) {
    const known = find(id);
    if (known && known.running !== running) update({ ...known, running });
  }

  // Something was said in it: it goes to the top.
  function touch(id) {
    const known = find(id);
    if (known) update({ ...known, updated_at: new Date().toISOString() });
  }

  // The newest as they are now; what cannot be read is as it was. What was known before it was asked, would stand among them and
  // does not, was deleted elsewhere. `open`: of which its own page is told.
  async function refresh(open = null) {
    const before = new Set(items.value);
    const page = await api.listConversations(null).catch(() => null);
    if (!page) return;
    const there = new Set(page.results.map(({ id }) => id));
    const oldest = page.next ? Date.parse(page.results.at(-1).updated_at) : -Infinity;
    const isGone = (item) => before.has(item) && item.id !== open && !there.has(item.id) && Date.parse(item.updated_at) > oldest;
    items.value = merged(items.value.filter((item) => !isGone(item)), page.results);
  }

  async function pin(id, isPinned) {
    try {
      complaint.value = null;
      update(await api.pinConversation(id, isPinned));
    } catch (caught) {
      complaint.value = caught.message;
    }
  }

  async function rename(id, title) {
    update(await api.renameConversation(id, title));
  }

  async function remove(id) {
    await api.deleteConversation(id);
    forget(id);
  }

  function forget(id) {
    items.value = items.value.filter((item) => item.id !== id);
  }

  return { items, error, complaint, loading, more, loadMore, retry, find, update, setRunning, touch, refresh, rename, pin, remove, forget };
}

export function merged(items, fresh) {
  const byId = new Map(items.map((item) => [item.id, item]));
  for (const item of fresh) byId.set(item.id, { ...byId.get(item.id), ...item });
  return [...byId.values()].sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at));
}
