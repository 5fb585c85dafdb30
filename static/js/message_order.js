// The messages of a conversation as a list in the order in which they were said, and as branches. Pure; knows no runs.

// Moments as the server writes them, to the microsecond, and with none where there are none: as text without its end they
// stand in their order.
const moment = ({ created_at }) => String(created_at ?? "").replace(/Z$/, "");

export const isBefore = (one, other) => moment(one) < moment(other);

// Whatever is in both is taken from `fresh`.
export function merged(fresh, known) {
  const ids = new Set(fresh.map(({ id }) => id));
  const others = known.filter(({ id }) => !ids.has(id));
  if (!others.length) return fresh;
  return [...fresh, ...others].sort((one, other) => (isBefore(one, other) ? -1 : isBefore(other, one) ? 1 : 0));
}

// With this message in its place, instead of what it was before.
export function placed(messages, message) {
  const at = messages.findIndex(({ id }) => id === message.id);
  if (at >= 0) return messages.with(at, message);
  const before = messages.findLastIndex((other) => !isBefore(message, other));
  return messages.toSpliced(before + 1, 0, message);
}

// The branch that is shown, oldest first: [{message, siblings}], siblings being ids. At each fork the one that somebody chose,
// else the one that leads to the newest message. Of a long conversation only the end may be here: then it begins with the
// message whose parent is missing and that leads to the newest.
export function shownBranch(messages, chosen) {
  const places = new Map(messages.map(({ id }, at) => [id, at]));
  const newestBelow = messages.map((_, at) => at);
  const children = new Map([[null, []]]);
  for (const { id } of messages) children.set(id, []);
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const parent = places.has(messages[at].parent_id) ? messages[at].parent_id : null;
    children.get(parent).unshift(at);
    if (parent !== null) newestBelow[places.get(parent)] = Math.max(newestBelow[places.get(parent)], newestBelow[at]);
  }
  const rows = [];
  let branch = versionsOfTop(children.get(null));
  while (branch.length) {
    const wanted = chosen[messages[branch[0]].parent_id];
    const at = branch.find((one) => messages[one].id === wanted) ?? newest(branch);
    rows.push({ message: messages[at], siblings: branch.map((one) => messages[one].id) });
    branch = children.get(messages[at].id);
  }
  return rows;

  function newest(some) {
    return some.reduce((best, one) => (newestBelow[one] > newestBelow[best] ? one : best), some[0]);
  }

  function versionsOfTop(tops) {
    if (!tops.length) return tops;
    const { parent_id } = messages[newest(tops)];
    return tops.filter((one) => messages[one].parent_id === parent_id);
  }
}
