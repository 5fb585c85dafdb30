// Addresses of what lies on this server: files of workspaces, and what may be put into a frame. Nothing else is ever loaded.

const encoded = (path) => path.split("/").map(encodeURIComponent).join("/");

// A path as a workspace has it. What climbs out or names a host is none.
function isPath(path) {
  return typeof path === "string" && path !== "" && !path.startsWith("/") && !/[\\\u0000-\u001f]/.test(path) && !path.split("/").some((part) => part === "" || part === "." || part === "..");
}

// Where the bytes of a file are, or null for what is no path. `inline`: as a picture, not to be saved.
export function fileHref({ scope = "conversation", scopeId, path, version = null, inline = false }) {
  if (!scopeId || !isPath(path) || !/^[a-z]+$/.test(scope)) return null;
  const query = new URLSearchParams({ ...(inline && { inline: "1" }), ...(version !== null && { version: String(version) }) }).toString();
  return `/api/v1/files/${scope}/${encodeURIComponent(scopeId)}/${encoded(path)}${query && `?${query}`}`;
}

// An address on this server as path and query, or null: never a script, never another host.
export function ownHref(url) {
  if (typeof url !== "string" || !url.startsWith("/") || url.startsWith("//") || url.startsWith("/\\")) return null;
  return url;
}

// The address of an app's preview, or null. It leads on to an origin of the app's own, so that its frame may have one.
export const previewHref = (url) => (typeof url === "string" && /^\/previews\/[0-9a-f-]{36}\/$/.test(url) ? url : null);

export const nameIn = (path) => path.split("/").at(-1);
