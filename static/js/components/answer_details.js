// What an answer cost and how long it took, in a small panel at its button.
import { html, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { cost, duration } from "../activity.js";
import { language, t } from "../i18n.js";
import { Icon } from "./icons.js";
import { place } from "./menu.js";

const DATES = language === "en" ? "en-GB" : language; // as `when.js` has them, which a page begins without

export function Details({ execution, application }) {
  const opener = useRef(null);
  const panel = useRef(null);
  const [open, setOpen] = useState(false);
  const [firstWordAt, setFirstWordAt] = useState(null);
  const id = `details-${execution.id}`;

  function onToggle(event) {
    setOpen(event.newState === "open");
    if (event.newState !== "open") return;
    if (execution.firstWordAt === null) firstWord(application.api, execution.id).then(setFirstWordAt, () => undefined);
  }

  // When it has its lines, and so its height.
  useLayoutEffect(() => {
    if (open) place(panel.current, opener.current.getBoundingClientRect(), "above");
  }, [open, firstWordAt]);

  function openRun() {
    panel.current.hidePopover();
    application.openRun.value = execution.id;
  }

  return html`
    <button type="button" ref=${opener} class="icon-button small" popovertarget=${id} aria-expanded=${open ? "true" : "false"} aria-label=${t("Details")} title=${t("Details")}><${Icon} name="info" /></button>
    <div id=${id} ref=${panel} class="menu details" popover="auto" role="dialog" aria-label=${t("Details of the answer")} onToggle=${onToggle}>
      ${open && html`<dl>${linesOf(execution, execution.firstWordAt ?? firstWordAt).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd dir="auto">${value}</dd></div>`)}</dl>
        ${application.openRun && html`<button type="button" class="button details-run" onClick=${openRun}><${Icon} name="branch" />${t("Open the run")}</button>`}`}
    </div>`;
}

function linesOf({ model, provider, usage, startedAt, endedAt, sources, trace }, firstWordAt) {
  const asked = usage.prompt_tokens + usage.completion_tokens > 0;
  const entries = trace.agents.flatMap((agent) => agent.entries);
  const asks = entries.filter(({ kind }) => kind === "model");
  const calls = entries.filter(({ kind }) => kind === "tool").length;
  const number = (value) => value.toLocaleString(document.documentElement.lang || undefined);
  return [
    [t("Model"), model && asked ? model : t("none")],
    (provider ?? asks[0]?.provider) && asked && [t("Provider"), provider ?? asks[0].provider],
    asked && [t("Cost"), cost(usage.cost_usd)],
    asked && [t("Tokens"), t("{read} read, {written} written", { read: number(usage.prompt_tokens), written: number(usage.completion_tokens) })],
    startedAt !== null && [t("Begun"), new Date(startedAt).toLocaleString(DATES, { dateStyle: "medium", timeStyle: "short" })],
    firstWordAt !== null && startedAt !== null && [t("First word after"), duration(firstWordAt - startedAt)],
    startedAt !== null && endedAt !== null && [t("In total"), duration(endedAt - startedAt)],
    trace.plan?.steps.length > 0 && [t("Steps of the plan"), number(trace.plan.steps.length)],
    trace.agents.length > 1 && [t("Agents"), number(trace.agents.length - 1)],
    asks.length > 0 && [t("Model calls"), number(asks.length)],
    calls > 0 && [t("Tool calls"), number(calls)],
    sources.length > 0 && [t("Sources"), number(sources.length)],
  ].filter(Boolean);
}

// Of a run that nobody watched here, from the beginning of its log.
async function firstWord(api, executionId) {
  const { results } = await api.firstEvents(executionId);
  return results.find(({ type, channel }) => type === "token" && channel !== "thinking")?.timestamp ?? null;
}
