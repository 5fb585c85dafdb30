// The chat page's entry: reads what the server wrote into the page and draws the application.
import { html, render } from "../vendor/preact.js";
import { createApi } from "./api.js";
import { createApplication } from "./application.js";
import { App } from "./components/app.js";

const page = JSON.parse(document.getElementById("page-data").textContent);
const csrfToken = document.querySelector("input[name=csrfmiddlewaretoken]").value;
const root = document.getElementById("chat");

const application = createApplication({ page, csrfToken, api: createApi({ csrfToken }) });
root.replaceChildren();
render(html`<${App} application=${application} />`, root);
