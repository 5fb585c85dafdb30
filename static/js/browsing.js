// What an agent does in a browser, in words.
import { t } from "./i18n.js";

const STEPS = {
  navigate: () => t("Opened"), goto: () => t("Opened"), screenshot: () => t("Looked at the page"), click: () => t("Clicked"), type: () => t("Typed into"), press_key: () => t("Pressed"),
  scroll: () => t("Scrolled"), back: () => t("Went back"),
};

export function stepWords({ action, target, title, url }) {
  const words = Object.hasOwn(STEPS, action) ? STEPS[action]() : action.replaceAll("_", " ");
  return [words, target || (action === "navigate" ? title || url : "")].filter(Boolean).join(" ");
}
