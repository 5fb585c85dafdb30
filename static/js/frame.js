// The menu of the frame closes when something else is wanted. Without this script it opens and closes by its own button.
// The commands and the sheet of keys open here as in the chat; what shows them is loaded by the first press.
(() => {
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

  // As `keys.js` has them: Ctrl or ⌘ K, and ? where nobody writes.
  const wanted = ({ key, ctrlKey, metaKey, shiftKey, altKey, isComposing, target }) => {
    if (altKey || isComposing) return null;
    if (ctrlKey || metaKey) return key.toLowerCase() === "k" && !shiftKey ? "palette" : null;
    return key === "?" && !target.isContentEditable && !/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ? "help" : null;
  };

  document.addEventListener("keydown", (event) => {
    const dialog = wanted(event);
    if (!dialog || !document.querySelector("header.frame") || document.querySelector("dialog[open]")) return; // the chat has its own
    event.preventDefault();
    import("./frame_dialogs.js").then(({ show }) => show(dialog), () => undefined); // without its server a page has none
  });
})();
