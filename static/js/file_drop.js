// Files that are dropped anywhere on the page, and the question whether one may leave while they are on their way.
import { filesOf } from "./documents_upload.js";

const hasFiles = (event) => event.dataTransfer?.types.includes("Files");

// `veil`: a signal that is true while files are held over the page. `uploads`: as `createUploads` gives them.
export function takeDrops(uploads, veil) {
  let depth = 0; // of elements that a drag has entered; it leaves each of them

  function onDrag(event) {
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (event.type === "dragenter") depth += 1;
    if (event.type === "dragleave") depth -= 1;
    if (event.type === "drop") depth = 0;
    veil.value = depth > 0;
  }

  for (const type of ["dragenter", "dragover", "dragleave", "drop"]) addEventListener(type, onDrag);
  addEventListener("drop", async (event) => hasFiles(event) && uploads.add(await filesOf(event.dataTransfer)));
  addEventListener("beforeunload", (event) => uploads.isBusy.value && event.preventDefault());
}
