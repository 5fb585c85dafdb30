// The form of a schedule: the next times follow what is picked. Without this a button asks the server.
import { read } from "./server_html.js";

const PAUSE_MS = 250;
const WHEN = new Set(["frequency", "at", "weekdays", "day", "count", "unit", "moment", "cron", "time_zone", "until"]);
const form = document.getElementById("schedule-form");
const shown = document.getElementById("schedule-times");
let timer = 0;
let latest = 0;

async function look() {
  const mine = ++latest;
  const { isOk, fresh } = await read(form.dataset.times, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (mine !== latest) return;
  if (isOk) shown.replaceChildren(...fresh.body.childNodes);
  form.classList.toggle("is-live", isOk); // without it the button is there for who asks again
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
