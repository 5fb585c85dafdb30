// What a run did with its hands, beside its text. Drawn anew when its trace changes, which tokens do not.
import { html, useMemo } from "../../vendor/preact.js";
import { browsingOf, programsOf, resultsOf } from "../hands.js";
import { Browsing } from "./browsing.js";
import { Programs } from "./program.js";
import { Results } from "./results.js";

// Above the text: programs and the browser at work.
export function Doing({ trace, isLive, isAnswering, conversationId }) {
  return useMemo(() => html`
    <${Browsing} browsing=${browsingOf(trace)} isLive=${isLive} folds=${isAnswering} conversationId=${conversationId} />
    <${Programs} programs=${programsOf(trace, isLive)} isLive=${isLive} folds=${isAnswering} />`, [trace.agents, isLive, isAnswering, conversationId]);
}

// Below it: what came of them.
export function Came({ trace, conversationId }) {
  return useMemo(() => html`<${Results} results=${resultsOf(trace)} conversationId=${conversationId} />`, [trace.agents, conversationId]);
}
