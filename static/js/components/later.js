// A component that is loaded when it is first wanted, so that the page begins without it.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { announce } from "../announce.js";
import { t } from "../i18n.js";

const loaded = new Map(); // what was here once is there at once: the next keys are meant for it

// So that it is there when it is wanted.
export const warm = (load) => void (loaded.has(load) || load().then((component) => loaded.set(load, { component }), () => undefined));

// A part of the page that has to be shown: what could not be loaded is asked for once more.
export function Part({ load, with: given }) {
  const [state, setState] = useState(loaded.get(load) ?? { component: null });
  const read = () => load().then(
    (component) => {
      loaded.set(load, { component });
      setState({ component });
    },
    () => setState({ component: null, failed: true }),
  );
  useEffect(() => void (state.component || read()), []);
  if (state.component) return html`<${state.component} ...${given} />`;
  return state.failed && html`<p class="row-error" role="alert">${t("This could not be loaded. Try again when the server is there.")} <button type="button" class="link-button" onClick=${read}>${t("Try again")}</button></p>`;
}

// `load()`: the promise of a component. `with`: what it is given. `close`: gone again, also where it could not be loaded.
export function Later({ load, with: given = {}, close }) {
  const [found, setFound] = useState(loaded.get(load) ?? null);
  useEffect(() => {
    if (found) return undefined;
    let current = true;
    load().then(
      (component) => {
        loaded.set(load, { component });
        if (current) setFound({ component });
      },
      () => {
        announce(t("This could not be loaded. Try again when the server is there."));
        close();
      },
    );
    return () => {
      current = false;
    };
  }, []);
  return found && html`<${found.component} ...${given} close=${close} />`;
}
