// Which run is looked at: a signal to read and to set, and the same in the address as `?run=<id>`, so that a reload and a link show it.
import { effect, signal } from "../../vendor/preact.js";

const ID = /^[0-9a-f-]{36}$/i;

export function runIn(search) {
  const id = new URLSearchParams(search).get("run");
  return id && ID.test(id) ? id.toLowerCase() : null;
}

export function createOpenRun({ location, history }) {
  const openRun = signal(runIn(location.search));

  function address(id) {
    const query = new URLSearchParams(location.search);
    if (id) query.set("run", id);
    else query.delete("run");
    const text = query.toString();
    return `${location.pathname}${text && `?${text}`}${location.hash}`;
  }

  // Back closes what was opened here; from one run to another is no step of its own.
  effect(() => {
    const id = openRun.value;
    const before = runIn(location.search);
    if (id === before) return;
    if (id) history[before ? "replaceState" : "pushState"]({ ...history.state, openedRun: !before || Boolean(history.state?.openedRun) }, "", address(id));
    else if (history.state?.openedRun) history.back();
    else history.replaceState(history.state, "", address(null));
  });

  // The address changed by itself: another conversation, or back and forth.
  const follow = () => {
    openRun.value = runIn(location.search);
  };

  return { openRun, follow };
}
