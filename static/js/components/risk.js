// How much a call risks, in words with a sign: never by colour alone.
import { html } from "../../vendor/preact.js";
import { riskOf } from "../approvals.js";
import { t } from "../i18n.js";
import { Icon } from "./icons.js";

export function RiskBadge({ risk, irreversible = false }) {
  const { name, label, icon } = riskOf(risk);
  return html`<span class=${`risk is-${name}`}><${Icon} name=${icon} />${label}${irreversible ? ` · ${t("cannot be undone")}` : ""}</span>`;
}
