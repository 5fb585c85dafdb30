// Before a run is begun again from an agent, or gone another way from a step: what is kept, what is done anew, and the yes to it.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { alreadyDone } from "../activity.js";
import { agentLabel } from "../agents.js";
import { Modal } from "../components/dialogs.js";
import { Icon } from "../components/icons.js";
import { t } from "../i18n.js";
import { againOf, recordedWords, stepFor } from "./again.js";

// `entry`: the step from which it goes another way; without it the agent works again from its beginning.
export function AgainDialog({ agent, entry, trace, executionId, application, close }) {
  const { api } = application;
  const [steps, setSteps] = useState(null); // the agent's journal
  const [path, setPath] = useState(null);
  const [error, setError] = useState(null);
  const [sending, setSending] = useState(false);
  const isFork = entry !== null;

  useEffect(() => {
    if (!isFork) return;
    api.getAgent(agent.id).then((found) => {
      setSteps(found.steps);
      setPath(stepFor(found.steps, entry)?.path ?? null);
    }, (caught) => setError(caught.message));
  }, [agent.id]);

  const step = steps?.find((one) => one.path === path) ?? null;
  const { anew, onward, kept } = againOf(trace, agent.id, isFork ? (step ? Date.parse(step.started_at) : entry.at) : undefined);
  const name = agentLabel(agent.name);
  const title = isFork ? t("Go another way from this step?") : t("Let {agent} work again?", { agent: name });

  async function begin() {
    setSending(true);
    setError(null);
    try {
      const begun = isFork ? await api.forkExecution(executionId, agent.id, path) : await api.retryExecution(executionId, agent.id);
      close();
      application.openRun.value = begun.id;
    } catch (caught) {
      setError(caught.message);
      setSending(false);
    }
  }

  return html`<${Modal} label=${title} close=${close}><div class="again">
    <h2>${title}</h2>
    <p>${t("A new run begins, as another answer beside this one. This run stays as it is.")}</p>
    ${isFork && (steps
      ? html`<label class="field"><span>${t("{agent} goes on before this step", { agent: name })}</span><select value=${path ?? ""} onChange=${(event) => setPath(event.currentTarget.value)}>${steps.map((one) => html`<option key=${one.path} value=${one.path}>${recordedWords(one)}</option>`)}</select></label>`
      : !error && html`<p class="muted small" role="status">${t("Reading its steps…")}</p>`)}
    <dl class="again-facts">
      <${Named} icon="check" term=${t("Kept")} agents=${kept} none=${t("nothing that other agents did")} />
      <${Named} icon="right" term=${t("Goes on from there")} agents=${onward.filter(({ parentId }) => parentId !== null)} />
      <${Named} icon="retry" term=${t("Done anew")} agents=${anew} />
    </dl>
    <p class="again-note"><${Icon} name="shield" /><span>${t("What already happened in the world, such as a mail that was sent, is not done twice. It is shown as “{label}”.", { label: alreadyDone().label })}</span></p>
    ${error && html`<p class="form-error" role="alert">${error}</p>`}
    <div class="button-row modal-buttons">
      <button type="button" class="button" disabled=${sending} onClick=${close}>${t("Back")}</button>
      <button type="button" class="button button-primary" disabled=${sending || (isFork && !path)} onClick=${begin}>${sending ? t("Beginning…") : isFork ? t("Begin from here") : t("Begin again")}</button>
    </div>
  </div></${Modal}>`;
}

function Named({ icon, term, agents, none = null }) {
  if (!agents.length && !none) return null;
  return html`<div><dt><${Icon} name=${icon} />${term}</dt><dd>${agents.length ? agents.map(({ id, name, task, parentId }) => html`<span key=${id} class="again-agent" title=${task}>${parentId === null ? t("the run itself") : agentLabel(name)}</span>`) : html`<span class="muted">${none}</span>`}</dd></div>`;
}
