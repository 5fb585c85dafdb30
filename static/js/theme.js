// Light, dark or the system's choice, kept in localStorage. A classic script in <head>: it must run before the first paint.
(() => {
  const KEY = "hyperagent.theme";
  const ORDER = ["system", "light", "dark"];
  const LABEL = { system: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };

  function read() {
    try {
      const value = localStorage.getItem(KEY);
      return ORDER.includes(value) ? value : "system";
    } catch {
      return "system"; // storage is blocked: follow the system
    }
  }

  function apply(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    for (const button of document.querySelectorAll("[data-theme-toggle]")) label(button, theme);
  }

  function label(button, theme) {
    button.setAttribute("aria-label", LABEL[theme]);
    button.title = LABEL[theme];
    button.dataset.themeToggle = theme;
  }

  apply(read());
  document.addEventListener("DOMContentLoaded", () => apply(read()));
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest("[data-theme-toggle]")) return;
    const next = ORDER[(ORDER.indexOf(read()) + 1) % ORDER.length];
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Kept for this page only.
    }
    apply(next);
  });
  addEventListener("hyperagent:theme-button", () => apply(read())); // a button was drawn later
  addEventListener("storage", (event) => {
    if (event.key === KEY) apply(read());
  });
})();
