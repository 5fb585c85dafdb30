// Draws one answer for the tests: `await show(text, live)`. No Content-Security-Policy here: the sanitiser has to hold alone.
import { html, render } from "../../static/vendor/preact.js";
import { Prose } from "../../static/js/components/prose.js";

window.show = async (text, live = false) => {
  render(html`<${Prose} text=${text} live=${live} />`, document.getElementById("shown"));
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
};

window.clear = () => render(null, document.getElementById("shown"));
