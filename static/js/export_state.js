// While an export is being made: looks at the page again until it is ready, and takes over what it says then.
const EVERY_MS = 3000;

async function look() {
  const answer = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } }).catch(() => null);
  if (answer?.redirected) return; // signed out meanwhile
  const text = answer?.ok ? await answer.text().catch(() => null) : null; // it may break off within
  if (text !== null) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const [now, here] = [fresh.getElementById("export-state"), document.getElementById("export-state")];
    if (now && !now.hasAttribute("data-waits")) {
      here.replaceChildren(...document.importNode(now, true).childNodes);
      const form = now.parentElement.querySelector("form");
      if (form) here.after(document.importNode(form, true));
      return;
    }
  }
  setTimeout(look, EVERY_MS);
}

setTimeout(look, EVERY_MS);
