// Conversations in groups, as every list of them is headed. Pure.
import { t } from "./i18n.js";

// Those that were pinned first, then the others by age, for a list sorted newest first. `now` in milliseconds.
export function grouped(items, now) {
  const pinned = items.filter(({ pinned_at }) => pinned_at);
  return [...(pinned.length ? [{ label: t("Pinned"), items: pinned }] : []), ...groupedByAge(items.filter(({ pinned_at }) => !pinned_at), now)];
}

// [{label, items}]
function groupedByAge(items, now) {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const day = 86_400_000;
  const groups = [
    { label: t("Today"), from: midnight },
    { label: t("Yesterday"), from: midnight - day },
    { label: t("Last 7 days"), from: midnight - 7 * day },
    { label: t("Last 30 days"), from: midnight - 30 * day },
    { label: t("Older"), from: -Infinity },
  ];
  const found = new Map(groups.map(({ label }) => [label, []]));
  for (const item of items) {
    const time = Date.parse(item.updated_at);
    found.get(groups.find(({ from }) => time >= from).label).push(item);
  }
  return groups.map(({ label }) => ({ label, items: found.get(label) })).filter((group) => group.items.length);
}
