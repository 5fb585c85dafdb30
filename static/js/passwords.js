// A password can be looked at before it is sent: a button in its field, for as long as it is wanted.
import { t } from "./i18n.js";

function withEye(field) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "password-eye" });
  const frame = Object.assign(document.createElement("span"), { className: "password-frame" });
  const show = (isShown) => {
    field.type = isShown ? "text" : "password";
    button.textContent = isShown ? t("Hide") : t("Show");
    button.title = isShown ? t("Hide the password") : t("Show the password");
  };
  show(false);
  button.addEventListener("click", () => {
    show(field.type === "password");
    field.focus();
  });
  field.form?.addEventListener("submit", () => show(false)); // so that no browser keeps it as a plain text
  const hadFocus = field === document.activeElement;
  field.before(frame);
  frame.append(field, button);
  if (hadFocus) field.focus();
}

for (const field of document.querySelectorAll("input[type=password]")) withEye(field);
