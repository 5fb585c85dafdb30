// Quiet words about the connection and about which model answers.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { parts, t } from "../i18n.js";
import { Icon } from "./icons.js";
import { inOurWords } from "../told.js";

const PATIENCE_MS = 1_500; // a short break is nobody's business
const RESYNCED_MS = 2_500;

function useOnline() {
  const [online, setOnline] = useState(navigator.onLine !== false);
  useEffect(() => {
    const look = () => setOnline(navigator.onLine !== false);
    addEventListener("online", look);
    addEventListener("offline", look);
    return () => {
      removeEventListener("online", look);
      removeEventListener("offline", look);
    };
  }, []);
  return online;
}

// True once `condition` has held for a while.
function useLasting(condition, milliseconds) {
  const [lasting, setLasting] = useState(false);
  useEffect(() => {
    if (!condition) return setLasting(false);
    const timer = setTimeout(() => setLasting(true), milliseconds);
    return () => clearTimeout(timer);
  }, [condition]);
  return condition && lasting;
}

// True for a while after `value` changed.
function useJustChanged(value, milliseconds) {
  const [seen, setSeen] = useState(value);
  useEffect(() => {
    if (value === seen) return undefined;
    const timer = setTimeout(() => setSeen(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, seen]);
  return value !== seen;
}

// `list`: of the conversations, whose complaints are told here too.
export function ConnectionNotice({ session, list, signedOut }) {
  const online = useOnline();
  const status = session?.connection.value ?? "open";
  const broken = useLasting(status === "waiting" || status === "connecting", PATIENCE_MS);
  const resynced = useJustChanged(session?.resyncs.value ?? 0, RESYNCED_MS);
  const failure = session?.failure.value;
  const next = encodeURIComponent(location.pathname);

  if (signedOut || status === "signed_out") {
    return html`<p class="notice is-warning" role="alert"><${Icon} name="warning" /><span>${t("You are signed out. What you typed is kept.")} <a href=${`/accounts/login/?next=${next}`}>${t("Sign in again")}</a></span></p>`;
  }
  if (!online) return html`<p class="notice" role="status"><${Icon} name="cloudOff" />${t("You are offline. What you send goes out when the connection is back.")}</p>`;
  if (failure) {
    return html`<p class="notice is-warning" role="alert"><${Icon} name="warning" /><span>${failure.message} <button type="button" class="link-button" onClick=${session.restart}>${t("Try again")}</button></span></p>`;
  }
  if (status === "forbidden") {
    return html`<p class="notice is-warning" role="alert"><${Icon} name="warning" /><span>${parts("The server refuses live answers at this address. Tell its administrator to add {origin} to CSRF_TRUSTED_ORIGINS.", { origin: location.origin })}</span></p>`;
  }
  if (session?.complaint.value) {
    return html`<p class="notice is-warning" role="alert"><${Icon} name="warning" /><span>${session.complaint.value.message} <button type="button" class="link-button" onClick=${() => (session.complaint.value = null)}>${t("Dismiss")}</button></span></p>`;
  }
  if (list.complaint.value) {
    return html`<p class="notice is-warning" role="alert"><${Icon} name="warning" /><span>${list.complaint.value} <button type="button" class="link-button" onClick=${() => (list.complaint.value = null)}>${t("Dismiss")}</button></span></p>`;
  }
  if (broken && session.neverOpened.value) {
    return html`<p class="notice" role="status"><span class="pulse" aria-hidden="true"></span>${t("Connecting… If this stays, something between you and the server may be blocking websockets.")}</p>`;
  }
  if (broken) return html`<p class="notice" role="status"><span class="pulse" aria-hidden="true"></span>${t("The server is away. Reconnecting… What you send is kept until then.")}</p>`;
  if (resynced) return html`<p class="notice" role="status"><${Icon} name="check" />${t("Up to date again.")}</p>`;
  return null;
}

export function ModelNotice({ text }) {
  if (!text) return null;
  return html`<p class="model-notice">${inOurWords(text)}</p>`;
}
