// Files on their way into a workspace: each to its path there. What stands there already becomes an older version.
import { failureOf, filesOf } from "./documents_upload.js";
import { t } from "./i18n.js";

// `root`: the address of the place, which ends with a slash; `folder`: within it, empty or with a slash at its end.
export function intoFolder(root, folder) {
  return {
    method: "PUT",
    url: (file) => root + addressOf(folder + (file.within ?? (file.webkitRelativePath || file.name))),
    body: (file) => file,
    outcomeOf: (status, answer) => (status === 201 || status === 200 ? { state: "added" } : failureOf(status, answer)),
  };
}

export const addressOf = (path) => path.split("/").map(encodeURIComponent).join("/");

// The files of a paste. A picture from the clipboard is always called image.png: it is given a name of its own.
export async function pastedFiles(transfer, now = new Date()) {
  const two = (number) => String(number).padStart(2, "0");
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map(two).join("-");
  const stamp = `${day} ${[now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join("-")}`;
  return (await filesOf(transfer)).map((file) => (file.name === "image.png" ? new File([file], t("Pasted {when}.png", { when: stamp }), { type: file.type }) : file));
}
