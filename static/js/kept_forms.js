// What somebody filled in is not lost when its form was not taken: because they had to sign in first, because the page had been
// open for too long, or because it was refused. From its sending on it is kept in this tab until a page comes that answers it;
// where the form does not have it by then, it is put back. Forms with `data-kept`, in which there is nothing secret.
import { t } from "./i18n.js";

const KEY = "hyperagent.form";
const person = document.querySelector("header.frame")?.dataset.person;

const plain = (text) => text.replace(/\s+/g, " ").trim();
const longOnes = (form) => [...form.querySelectorAll("textarea")];

// {person, path, long: {id of a long field: its text}, fields: [[name, value], …]}
function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null; // storage is blocked or holds nonsense
  }
}

function write(kept) {
  try {
    if (kept) sessionStorage.setItem(KEY, JSON.stringify(kept));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Storage is full or blocked: the form works without.
  }
}

function keep({ target: form }) {
  if (!form.matches("[data-kept]")) return;
  const fields = [...new FormData(form)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && typeof value === "string");
  write({ person, path: location.pathname, long: Object.fromEntries(longOnes(form).map(({ id, value }) => [id, value])), fields });
}

// A page that only says what went wrong is gone back from, and answers nothing.
function answered() {
  const kept = read();
  if (!kept || document.querySelector("[data-fault]")) return;
  write(null);
  if (kept.person !== person || kept.path !== location.pathname) return;
  const forms = [...document.querySelectorAll("form[data-kept]")];
  const form = forms.find((one) => longOnes(one).some(({ id, value }) => id in kept.long && plain(kept.long[id]) !== plain(value)));
  if (form) putBack(form, kept.fields);
}

function putBack(form, fields) {
  for (const field of form.elements) {
    if (!field.name || field.type === "hidden") continue;
    const values = fields.filter(([name]) => name === field.name).map(([, value]) => value);
    if (field.type === "checkbox" || field.type === "radio") field.checked = values.includes(field.value);
    else if (values.length) [field.value] = values;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  for (let folded = form.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
  const note = document.createElement("p");
  note.className = "message warning";
  note.setAttribute("role", "status");
  note.textContent = t("What you had filled in here was not saved. It is there again.");
  form.prepend(note);
  note.scrollIntoView({ block: "center" });
}

document.addEventListener("submit", keep);
addEventListener("DOMContentLoaded", answered); // after all that the page itself does with its forms
