// Who shall work on the question; for research also how deep, and for which field.
import { html } from "../../vendor/preact.js";
import { DEPTHS, SCENARIOS } from "../agents.js";
import { t } from "../i18n.js";
import { Icon } from "./icons.js";
import { Menu } from "./menu.js";

export function ModePicker({ modes, mode, chooseMode, choices, choose }) {
  const current = modes.find(({ name }) => name === mode) ?? modes[0];
  const shown = mode === "task" && choices.showPlan ? t("{mode} · plan first", { mode: current.label }) : current.label;
  const face = html`<${Icon} name=${current.icon} /><span>${shown}</span><${Icon} name="chevron" />`;
  return html`<${Menu} id="mode-menu" label=${t("Mode: {label}", { label: shown })} buttonClass="mode-button" button=${face} placement="above">
    ${modes.map(({ name, label, hint, why, icon, enabled }) => html`<button type="button" key=${name} role="menuitemradio" class="mode-item" aria-checked=${name === mode ? "true" : "false"}
      disabled=${!enabled} title=${why} onClick=${() => chooseMode(name)}>
      <${Icon} name=${icon} /><span class="mode-words"><span>${label}</span><small>${hint}</small></span>${name === mode && html`<${Icon} name="check" />`}
    </button>`)}
    ${mode === "task" && html`<button type="button" role="menuitemcheckbox" class="mode-item is-apart" aria-checked=${choices.showPlan ? "true" : "false"} onClick=${() => choose({ ...choices, showPlan: !choices.showPlan })}>
      <${Icon} name="list" /><span class="mode-words"><span>${t("Show me the plan first")}</span><small>${t("Change or reject it before it runs")}</small></span>${choices.showPlan && html`<${Icon} name="check" />`}
    </button>`}
  </${Menu}>`;
}

export function ResearchOptions({ choices, choose }) {
  return html`<${Choice} label=${t("Depth")} items=${DEPTHS} value=${choices.depth} choose=${(depth) => choose({ ...choices, depth })} />
    <${Choice} label=${t("Field")} items=${SCENARIOS} value=${choices.scenario} choose=${(scenario) => choose({ ...choices, scenario })} />`;
}

function Choice({ label, items, value, choose }) {
  return html`<label class="mode-choice"><span class="visually-hidden">${label}</span>
    <select value=${value} onChange=${(event) => choose(event.currentTarget.value)}>
      ${items.map((item) => html`<option value=${item.name}>${item.label}</option>`)}
    </select><${Icon} name="chevron" /></label>`;
}
