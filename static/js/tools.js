// What people call the tools. Those of the product the server names, in the page's language; a connected server's has the label
// that comes with the call; what has neither is called by its name in words.
import { t } from "./i18n.js";

const OWN = JSON.parse(globalThis.document?.getElementById("tool-labels")?.textContent ?? "{}");
const CONNECTED = /^mcp_(?:my_)?([^_]+)_(.+)$/;

/** "Run a program"; of mcp_github_create_issue "Create issue (github)". `given`: the label that came with a call. */
export function toolLabel(name, given = "") {
  if (Object.hasOwn(OWN, name)) return OWN[name];
  const [, server, plain] = CONNECTED.exec(name) ?? [];
  if (server) return given || `${spoken(plain)} (${server})`;
  return spoken(String(name));
}

/** Within a sentence. */
export const quotedTool = (name, given) => t("“{name}”", { name: toolLabel(name, given) });

function spoken(name) {
  const words = name.replaceAll("_", " ").trim();
  return words ? words[0].toLocaleUpperCase() + words.slice(1) : name;
}
