// React 18 without a build: `html` is htm, so write html`<${Component} name=${value} />` where JSX would stand.
import htm from "./vendor/htm.module.js";

const { createElement, useState } = window.React;
const html = htm.bind(createElement);

function App() {
  const [clicks, setClicks] = useState(0);
  return html`
    <main>
      <h1>Hello</h1>
      <p>Change <code>app.js</code> and <code>style.css</code>.</p>
      <button type="button" onClick=${() => setClicks(clicks + 1)}>Clicked ${clicks} times</button>
    </main>
  `;
}

window.ReactDOM.createRoot(document.querySelector("#root")).render(html`<${App} />`);
