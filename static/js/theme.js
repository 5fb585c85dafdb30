// Light, dark or the system's choice. The account's own choice stands in the page; this browser may have another, kept in
// localStorage until the account's is saved anew. A classic script in <head>: it must run before the first paint.
(() => {
  const KEY = "hyperagent.theme";
  const ORDER = ["system", "light", "dark"];
  const LABEL = { system: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };
  const root = document.documentElement;
  const chosen = ORDER.includes(root.dataset.accountTheme) ? root.dataset.accountTheme : "system";

  function read() {
    try {
      const value = localStorage.getItem(KEY);
      return ORDER.includes(value) ? value : chosen;
    } catch {
      return chosen; // storage is blocked
    }
  }

  function apply(theme) {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    for (const button of document.querySelectorAll("[data-theme-toggle]")) label(button, theme);
  }

  // The page's template has the words in its reader's language; without them they are English.
  function label(button, theme) {
    const said = button.dataset[`say${theme[0].toUpperCase()}${theme.slice(1)}`] ?? LABEL[theme];
    const words = button.querySelector("span:not(.visually-hidden)");
    if (words) words.textContent = said;
    else button.setAttribute("aria-label", said);
    button.title = said;
    button.dataset.themeToggle = theme;
  }

  function keep(theme) {
    try {
      if (theme === null) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme);
    } catch {
      // Kept for this page only.
    }
  }

  apply(read());
  document.addEventListener("DOMContentLoaded", () => apply(read()));
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("[data-theme-toggle]")) return;
    const next = ORDER[(ORDER.indexOf(root.dataset.theme ?? "system") + 1) % ORDER.length];
    keep(next);
    apply(next);
  });
  // Saved for the account: this browser has no other wish any more.
  document.addEventListener("submit", (event) => {
    if (event.target instanceof Element && event.target.matches("[data-theme-form]")) keep(null);
  });
  addEventListener("hyperagent:theme-button", () => apply(read())); // a button was drawn later
  addEventListener("storage", (event) => {
    if (event.key === KEY) apply(read());
  });
})();
