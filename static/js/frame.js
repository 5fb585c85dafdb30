// What stands beside a page is hidden where it was hidden before, here or in the chat: a classic script in <head>, since that
// must be known before the first paint. Its menu closes when something else is wanted; without this script by its own button.
// The commands and the sheet of keys open here as in the chat; what shows them is loaded by the first press.
(() => {
  const SIDEBAR = "hyperagent.sidebar"; // as the chat keeps it (components/app.js)
  const BESIDE = matchMedia("(min-width: 64rem)");
  const root = document.documentElement;

  function isHidden() {
    try {
      return localStorage.getItem(SIDEBAR) === "hidden";
    } catch {
      return false; // storage is blocked
    }
  }

  function setSidebar(state) {
    root.dataset.sidebar = state;
    document.querySelector("[data-sidebar-toggle]")?.setAttribute("aria-expanded", String(state === "shown"));
  }

  function toggleSidebar() {
    setSidebar(root.dataset.sidebar === "hidden" ? "shown" : "hidden");
    try {
      localStorage.setItem(SIDEBAR, root.dataset.sidebar);
    } catch {
      // Kept for this page only.
    }
  }

  const asKept = () => setSidebar(isHidden() ? "hidden" : "shown");
  asKept();
  document.addEventListener("DOMContentLoaded", asKept);
  document.addEventListener("click", ({ target }) => target instanceof Element && target.closest("[data-sidebar-toggle]") && toggleSidebar());

  const open = () => document.querySelector("details[data-menu][open]");

  document.addEventListener("click", (event) => {
    const menu = open();
    if (menu && event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const menu = open();
    if (event.key !== "Escape" || !menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("focusin", (event) => {
    const menu = open();
    if (menu && event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
  });

  // As `keys.js` has them: Ctrl or ⌘ K and B, and ? where nobody writes.
  const wanted = ({ key, ctrlKey, metaKey, shiftKey, altKey, isComposing, target }) => {
    if (altKey || isComposing) return null;
    if (ctrlKey || metaKey) return shiftKey ? null : { k: "palette", b: "sidebar" }[key.toLowerCase()] ?? null;
    return key === "?" && !target.isContentEditable && !/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ? "help" : null;
  };

  document.addEventListener("keydown", (event) => {
    const action = wanted(event);
    if (!action || !document.querySelector("header.frame") || document.querySelector("dialog[open]")) return; // the chat has its own
    if (action === "sidebar" && !BESIDE.matches) return;
    event.preventDefault();
    if (action === "sidebar") toggleSidebar();
    else import("./frame_dialogs.js").then(({ show }) => show(action), () => undefined); // without its server a page has none
  });
})();
