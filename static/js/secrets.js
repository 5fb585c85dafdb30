// What is shown once can be taken along with one press.
import { copyText } from "./clipboard.js";
import { t } from "./i18n.js";

const COPIED_MS = 2000;

function withCopy(secret) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "button secret-copy", textContent: t("Copy") });
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    try {
      await copyText(textOf(secret));
    } catch {
      return getSelection().selectAllChildren(secret); // a browser that forbids it leaves it to the person's own keys
    }
    button.textContent = t("Copied");
    setTimeout(() => (button.textContent = t("Copy")), COPIED_MS);
  });
  secret.after(button);
}

// Of a list, one a line.
const textOf = (secret) => [...(secret.matches("ul") ? secret.children : [secret])].map((one) => one.textContent.trim()).join("\n");

for (const secret of document.querySelectorAll(".secret, .sign-on-codes")) withCopy(secret);
