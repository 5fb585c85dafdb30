// While a mailbox's address is typed: which servers it suggests, and what its provider wants first. The form works without.
import { t, tc } from "./i18n.js";

const SHOWN = { ssl: () => "TLS", tls: () => "STARTTLS", plain: () => tc("security", "None") };

for (const form of document.querySelectorAll("[data-mail-form]")) attend(form);

function attend(form) {
  const address = form.querySelector("[data-mail-address]");
  const hint = form.querySelector("[data-mail-hint]");
  let asked = "";

  async function suggest() {
    const domain = address.value.trim().split("@")[1] ?? "";
    if (!domain.includes(".") || domain === asked) return;
    asked = domain;
    const found = await suggested(form.dataset.serversUrl, address.value.trim());
    if (!found || asked !== domain) return;
    for (const kind of ["imap", "smtp"]) {
      for (const part of ["host", "port"]) form.elements[`${kind}_${part}`].placeholder = String(found[`${kind}_${part}`]);
      form.elements[`${kind}_security`].options[0].textContent = SHOWN[found[`${kind}_security`]]?.() ?? t("As usual");
    }
    hint.textContent = found.hint || (found.is_sure ? "" : t("This provider is not known here: look at its servers below if it cannot be reached."));
    hint.hidden = !hint.textContent;
  }

  address.addEventListener("change", suggest);
  suggest();
}

async function suggested(url, address) {
  try {
    const answer = await fetch(`${url}?address=${encodeURIComponent(address)}`, { headers: { accept: "application/json" } });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null; // the form finds them out by itself when it is sent
  }
}
