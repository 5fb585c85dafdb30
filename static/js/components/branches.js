// The versions of a question or an answer, and the way between them. The focus goes along.
import { html } from "../../vendor/preact.js";
import { announce } from "../announce.js";
import { t } from "../i18n.js";
import { Icon } from "./icons.js";

export function Branches({ siblings, message, session }) {
  if (siblings.length < 2) return null;
  const at = siblings.indexOf(message.id);
  const isQuestion = message.role === "user";
  const step = (by) => () => chooseVersion(session, message, siblings, by);
  return html`<span class="branches" role="group" aria-label=${isQuestion ? t("Versions of the question") : t("Versions of the answer")}>
    <button type="button" class="icon-button small mirrored" data-step="-1" disabled=${at === 0} onClick=${step(-1)} aria-label=${isQuestion ? t("Question before this") : t("Answer before this")}><${Icon} name="left" /></button>
    <span>${at + 1} / ${siblings.length}</span>
    <button type="button" class="icon-button small mirrored" data-step="1" disabled=${at === siblings.length - 1} onClick=${step(1)} aria-label=${isQuestion ? t("Question after this") : t("Answer after this")}><${Icon} name="right" /></button>
  </span>`;
}

function chooseVersion(session, message, siblings, by) {
  const next = siblings.indexOf(message.id) + by;
  session.choose(message.parent_id, siblings[next]);
  announce(t("Version {number} of {count}", { number: next + 1, count: siblings.length }));
  requestAnimationFrame(() => {
    const buttons = [...document.querySelectorAll(`[data-message="${siblings[next]}"] .branches button:not(:disabled)`)];
    (buttons.find(({ dataset }) => dataset.step === String(by)) ?? buttons[0])?.focus({ preventScroll: true });
  });
}

// By key: the versions of the message that has the focus, else of the last that has some.
export function stepVersions(by) {
  const within = document.activeElement?.closest("[data-message]");
  const all = [...document.querySelectorAll(".branches")];
  const branches = within?.querySelector(".branches") ?? all.at(-1);
  branches?.querySelector(`[data-step="${by}"]:not(:disabled)`)?.click();
}
