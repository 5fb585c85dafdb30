// The commands and the sheet of keys on the pages around the chat. Loaded by the first press of a key (`frame.js`).
import { html, render } from "../vendor/preact.js";
import { api } from "./api.js";
import { HelpSheet } from "./components/help.js";
import { Palette } from "./components/palette.js";

const SHEET = new URL("../css/overlays.css", import.meta.url).href;

const go = (url) => location.assign(url);
const can = {
  create: () => go("/"),
  open: go,
  help: () => show("help"),
  isOffered: (url) => Boolean(document.querySelector(`header.frame a[href="${url}"]`)),
};
const dialogs = {
  palette: (close) => html`<${Palette} can=${can} conversations=${[]} search=${api.searchAll} go=${(id) => go(`/c/${id}/`)} open=${go} close=${close} />`,
  help: (close) => html`<${HelpSheet} close=${close} />`,
};

const place = document.createElement("div");
document.body.append(place);
let shown = null;

// `kind`: "palette", "help" or null. One that closes late does not take the next one with it.
export function show(kind) {
  shown = kind;
  render(kind && dialogs[kind](() => shown === kind && show(null)), place);
}

function loadSheet() {
  if ([...document.styleSheets].some(({ href }) => href === SHEET)) return undefined;
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: SHEET });
  document.head.append(link);
  return new Promise((resolve) => (link.onload = link.onerror = resolve));
}

await loadSheet();
