// The menu of the frame closes when something else is wanted. Without this script it opens and closes by its own button.
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
})();
