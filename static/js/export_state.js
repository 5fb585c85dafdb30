// While an export is being made: looks at the page again until it is ready, and takes over what it says then.
import { read } from "./server_html.js";

const EVERY_MS = 3000;

async function look() {
  const { isOk, fresh, isSignedOut } = await read(location.href);
  if (isSignedOut) return;
  const now = isOk ? fresh.getElementById("export-state") : null;
  if (!now || now.hasAttribute("data-waits")) return void setTimeout(look, EVERY_MS);
  const here = document.getElementById("export-state");
  here.replaceChildren(...document.importNode(now, true).childNodes);
  const form = now.parentElement.querySelector("form");
  if (form) here.after(document.importNode(form, true));
}

setTimeout(look, EVERY_MS);
