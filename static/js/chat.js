// The chat page's entry: reads what the server wrote into the page and draws the application.
import { html, render } from "../vendor/preact.js";
import { api } from "./api.js";
import { createApplication } from "./application.js";
import { App } from "./components/app.js";

const page = JSON.parse(document.getElementById("page-data").textContent);
const root = document.getElementById("chat");

const application = createApplication({ page, api });
root.replaceChildren();
render(html`<${App} application=${application} />`, root);
