// What the palette can do: a line for each command that makes sense now. What a command does is given.
import { t } from "./i18n.js";
import { keysOf } from "./keys.js";

const THEME_KEY = "hyperagent.theme";

export function commandsOf(can) {
  const all = [
    { id: "create", title: t("New conversation"), icon: "plus", keys: can.sidebar ? keysOf("create") : "", run: can.create },
    can.startTemporary && { id: "temporary", title: t("New temporary chat"), icon: "clock", run: can.startTemporary },
    can.running && { id: "stop", title: t("Stop the answer"), icon: "stop", keys: keysOf("stop"), run: can.stop },
    can.regenerate && { id: "regenerate", title: t("Answer again"), icon: "retry", run: can.regenerate },
    can.copyLast && { id: "copy", title: t("Copy the last answer"), icon: "copy", run: can.copyLast },
    can.openRun && can.runId && { id: "run", title: t("Open the run"), words: "trace plan agents", icon: "branch", run: () => can.openRun(can.runId) },
    can.share && { id: "share", title: t("Share this conversation"), icon: "share", run: can.share },
    can.pin && { id: "pin", title: can.isPinned ? t("Unpin this conversation") : t("Pin this conversation"), icon: "pin", run: can.pin },
    can.exportAs && { id: "markdown", title: t("Export as Markdown"), words: "download", icon: "download", run: () => can.exportAs("markdown") },
    can.exportAs && { id: "json", title: t("Export as JSON"), words: "download", icon: "download", run: () => can.exportAs("json") },
    can.remove && { id: "delete", title: t("Delete this conversation"), icon: "trash", run: can.remove },
    can.search && { id: "search", title: t("Search the conversations"), icon: "search", keys: keysOf("search"), run: can.search },
    can.sidebar && { id: "sidebar", title: t("Show or hide the conversations"), icon: "sidebar", keys: keysOf("sidebar"), run: can.sidebar },
    { id: "theme/light", title: t("Theme: light"), words: "appearance", icon: "theme", run: () => setTheme("light") },
    { id: "theme/dark", title: t("Theme: dark"), words: "appearance", icon: "theme", run: () => setTheme("dark") },
    { id: "theme/system", title: t("Theme: as the system"), words: "appearance", icon: "theme", run: () => setTheme("system") },
    ...pages(can.isOffered).map(([href, title, icon, words]) => ({ id: href, title, words, icon, run: () => can.open(href) })),
    { id: "help", title: t("Keys"), words: "help shortcuts", icon: "keyboard", keys: keysOf("help"), run: can.help },
  ];
  return all.filter(Boolean).map((command) => ({ ...command, isCommand: true }));
}

function pages(isOffered) {
  return [
    ["/inbox/", t("Go to the inbox"), "inbox", ""],
    ["/documents/", t("Go to the documents"), "document", ""],
    ["/files/", t("Go to the files"), "files", ""],
    ["/projects/", t("Go to the projects"), "folder", ""],
    ["/schedules/", t("Go to the schedules"), "clock", ""],
    ["/memory/", t("Go to the memory"), "bookmark", ""],
    ["/usage/", t("Go to the usage"), "chart", "cost tokens"],
    ["/search/", t("Search on a page of its own"), "search", ""],
    ["/mail/", t("Go to the mailboxes"), "mail", ""],
    ["/settings/", t("Go to the settings"), "settings", "profile tokens notifications"],
    ["/settings/language/", t("Change the language"), "globe", "language Sprache"],
    isOffered("/people/") && ["/people/", t("Go to the people"), "person", "roles groups invitations"],
    isOffered("/admin/") && ["/admin/", t("Go to the administration"), "shield", "admin"],
  ].filter(Boolean);
}

// As js/theme.js keeps it; it follows what is stored.
function setTheme(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    return;
  }
  dispatchEvent(new StorageEvent("storage", { key: THEME_KEY }));
}
