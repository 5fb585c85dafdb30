// Vue 3 from its browser build, with templates as strings: no build is needed.
import { createApp, ref } from "./vendor/vue.esm-browser.prod.js";

createApp({
  setup() {
    const clicks = ref(0);
    return { clicks };
  },
  template: `
    <main>
      <h1>Hello</h1>
      <p>Change <code>app.js</code> and <code>style.css</code>.</p>
      <button type="button" @click="clicks++">Clicked {{ clicks }} times</button>
    </main>
  `,
}).mount("#app");
