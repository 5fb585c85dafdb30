// All that a run made, in one place: charts, pictures, apps, files, and the sources that it read.
import { html, useMemo } from "../../vendor/preact.js";
import { Results } from "../components/results.js";
import { SourceList } from "../components/sources.js";
import { resultsOf } from "../hands.js";
import { t, tn } from "../i18n.js";
import { withSource } from "../trace.js";

export function OutputsPart({ execution, trace, isLive, conversationId }) {
  const results = useMemo(() => resultsOf(trace), [trace.agents]);
  const sources = useMemo(() => trace.agents.flatMap((agent) => agent.sources).reduce(withSource, execution.sources), [trace.agents, execution.sources]);
  const count = results.charts.length + results.images.length + results.previews.length + results.files.length;
  if (!count && !sources.length) return html`<p class="run-note">${isLive ? t("Nothing was made yet.") : t("This run made nothing but its answer.")}</p>`;
  return html`<div class="run-outputs">
    ${count > 0 && html`<${Results} results=${results} conversationId=${conversationId} />`}
    ${sources.length > 0 && html`<section><h3 class="run-heading">${tn("{count} source", "{count} sources", sources.length)}</h3><${SourceList} sources=${sources} /></section>`}
  </div>`;
}
