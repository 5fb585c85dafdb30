// The command palette: what can be done, and a search over everything, by keyboard alone. Loaded when it is first wanted.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { commandsOf } from "../commands.js";
import { t, tc, tn } from "../i18n.js";
import { noteRecent, ranked, readRecent, recentFirst } from "../palette.js";
import { useGround } from "./dialogs.js";
import { Icon } from "./icons.js";

const PAUSE_MS = 140; // of the writer, before the server is asked
const MOST = { commands: 8, conversations: 6 };
const ICONS = { conversation: "bubble", message: "comment", document: "document", file: "files", memory: "bookmark", project: "folder" };

// `can`: what commands do (`commands.js`). `open(url)`: goes to a page.
export function Palette({ can, conversations, search, go, open, close }) {
  const dialog = useRef(null);
  const list = useRef(null);
  const ground = useGround(dialog, () => dialog.current.close());
  const ids = "palette";
  const [{ query, at }, setState] = useState({ query: "", at: 0 });
  const setAt = (place) => setState((now) => ({ ...now, at: place }));
  const { found, looking, failed } = useSearch(query, search);
  const recent = useMemo(readRecent, []);
  const commands = useMemo(() => commandsOf(can), []);

  const groupsOf = (words) => {
    const wanted = words.trim();
    const fitting = ranked(wanted, wanted ? commands : recentFirst(commands, recent));
    const named = ranked(wanted, conversations.map(({ id, title }) => ({ id: `c/${id}`, title: title || t("New conversation"), icon: "bubble", run: () => go(id) })));
    const known = new Set(named.map(({ id }) => id));
    return [
      { label: t("Commands"), items: fitting.slice(0, wanted ? MOST.commands : commands.length) },
      { label: t("Conversations"), items: named.slice(0, MOST.conversations) },
      { label: t("Found"), items: found.map((result) => asItem(result, { open, go })).filter(({ id }) => !known.has(id)) },
    ].filter(({ items }) => items.length);
  };
  const itemsOf = (some) => some.flatMap(({ items: inside }) => inside);
  const groups = useMemo(() => groupsOf(query), [query, found, commands, conversations]);
  const items = itemsOf(groups);
  const chosen = Math.min(at, items.length - 1);

  useLayoutEffect(() => dialog.current.showModal(), []);
  useLayoutEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [chosen, groups]);

  function run(item) {
    if (!item) return;
    if (item.isCommand) noteRecent(item.id);
    dialog.current.close();
    item.run();
  }

  function onKeyDown(event) {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && items.length) setAt((chosen + step + items.length) % items.length);
    else if (event.key === "PageDown" || event.key === "PageUp") setAt(Math.max(0, Math.min(items.length - 1, chosen + (event.key === "PageDown" ? 8 : -8))));
    else if (event.key === "Enter") run(event.currentTarget.value === query ? items[chosen] : itemsOf(groupsOf(event.currentTarget.value))[0]); // typed faster than drawn
    else return;
    event.preventDefault();
  }

  let number = -1;
  const count = query.trim() && !looking ? tn("{count} result", "{count} results", items.length) : "";
  return html`<dialog class="palette" ref=${dialog} aria-label=${t("Commands and search")} onClose=${close} ...${ground}>
    <div class="palette-body">
      <div class="palette-head"><${Icon} name="search" />
        <input type="text" role="combobox" aria-expanded="true" aria-autocomplete="list" aria-controls=${`${ids}-list`} aria-activedescendant=${items.length ? `${ids}-${chosen}` : null}
          aria-label=${t("A command, or words to search for")} placeholder=${t("Type a command or search …")} value=${query} autocomplete="off" autocapitalize="off" spellcheck=${false} enterkeyhint="go" autofocus
          onInput=${(event) => setState({ query: event.currentTarget.value, at: 0 })} onKeyDown=${onKeyDown} />
        ${looking && html`<span class="pulse" aria-hidden="true"></span>`}
        <button type="button" class="icon-button small" aria-label=${t("Close")} onClick=${() => dialog.current.close()}><${Icon} name="close" /></button>
      </div>
      <div class="palette-list" role="listbox" id=${`${ids}-list`} ref=${list} aria-label=${t("Commands and search")}>
        ${groups.map(({ label, items: some }, group) => html`<div role="group" key=${label} aria-labelledby=${`${ids}-g${group}`}>
          <p class="palette-label" id=${`${ids}-g${group}`}>${label}</p>
          ${some.map((item) => {
            const mine = (number += 1);
            return html`<${Option} key=${item.id} item=${item} id=${`${ids}-${mine}`} isChosen=${mine === chosen} run=${() => run(item)} point=${() => setAt(mine)} />`;
          })}
        </div>`)}
      </div>
      ${failed && html`<p class="palette-none" role="alert">${t("The search could not be made. Check the connection and try again.")}</p>`}
      ${!items.length && !looking && !failed && html`<p class="palette-none">${t("Nothing fits “{query}”.", { query: query.trim() })}</p>`}
      <p class="visually-hidden" role="status">${count}</p>
      <p class="palette-foot" aria-hidden="true"><span><kbd>↑</kbd><kbd>↓</kbd> ${t("choose")}</span><span><kbd>${tc("key", "Enter")}</kbd> ${t("open")}</span><span><kbd>Esc</kbd> ${t("close")}</span></p>
    </div>
  </dialog>`;
}

function Option({ item, id, isChosen, run, point }) {
  return html`<div role="option" id=${id} class="palette-item" aria-selected=${isChosen ? "true" : "false"} onClick=${run} onPointerMove=${() => isChosen || point()}>
    <${Icon} name=${item.icon} /><span class="palette-words"><span dir="auto">${item.title}</span>${item.excerpt && html`<small dir="auto">${item.excerpt.map(([text, isMatch]) => (isMatch ? html`<mark>${text}</mark>` : text))}</small>`}</span>
    ${item.keys && html`<span class="palette-keys" aria-hidden="true">${item.keys.split(" ").map((key) => html`<kbd>${key}</kbd>`)}</span>`}
  </div>`;
}

// What the server found: shown under its own address, in this page where that is a conversation. What has no title, as a memory,
// is called by what it says.
function asItem({ kind, id, title, excerpt, url }, { open, go }) {
  const own = typeof url === "string" && /^\/(?![/\\])/.test(url) ? url : "/";
  const isConversation = kind === "conversation";
  const name = title || (isConversation || kind === "message" || !excerpt?.length ? t("New conversation") : "");
  return { id: isConversation ? `c/${id}` : `${kind}/${id}`, title: name || excerpt.map(([text]) => text).join(""), excerpt: name && excerpt?.length ? excerpt : null, icon: ICONS[kind] ?? "search", run: () => (isConversation ? go(id) : open(own)) };
}

// Answers may come in another order than they were asked for; only the newest counts. `failed`: nobody could be asked.
function useSearch(query, search) {
  const [state, setState] = useState({ found: [], looking: false, failed: false });
  useEffect(() => {
    const wanted = query.trim();
    if (wanted.length < 2) {
      setState({ found: [], looking: false, failed: false });
      return undefined;
    }
    let current = true;
    setState(({ found }) => ({ found, looking: true, failed: false }));
    const timer = setTimeout(async () => {
      const found = await search(wanted).then(({ results }) => results ?? [], () => null);
      if (current) setState({ found: found ?? [], looking: false, failed: found === null });
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [query]);
  return state;
}
