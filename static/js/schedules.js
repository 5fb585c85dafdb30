// The form of a schedule: the next times follow what is picked. Without this a button asks the server.
const PAUSE_MS = 250;
const WHEN = new Set(["frequency", "at", "weekdays", "day", "count", "unit", "moment", "cron", "time_zone", "until"]);
const form = document.getElementById("schedule-form");
const shown = document.getElementById("schedule-times");
let timer = 0;
let latest = 0;

async function look() {
  const mine = ++latest;
  try {
    const response = await fetch(form.dataset.times, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected || mine !== latest) return;
    // The server's own page, whose texts are escaped there.
    const piece = new DOMParser().parseFromString(await response.text(), "text/html");
    if (mine === latest) shown.replaceChildren(...piece.body.childNodes);
  } catch {
    // The button is still there for who asks again.
    if (mine === latest) form.classList.remove("is-live");
  }
}

// Who has chosen no zone in the settings most likely means the one of their clock.
function guessZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const choice = form.elements.time_zone;
  if (![...choice.options].some((option) => option.value === zone) || choice.value === zone) return;
  choice.value = zone;
  look();
}

if (form && shown) {
  form.classList.add("is-live");
  form.addEventListener("input", (event) => {
    if (!WHEN.has(event.target.name)) return;
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE_MS);
  });
  if ("guessZone" in form.dataset) guessZone();
}
