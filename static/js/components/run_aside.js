// The run view's place beside the chat, or over it where there is no room: its width, the focus, and its module when it is wanted.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { transcript } from "../store.js";
import { Icon } from "./icons.js";

const SIDE = matchMedia("(min-width: 50rem)");
const WIDTH_KEY = "hyperagent.run.width";
const LEAST_PX = 360;
const CHAT_PX = 360; // what is left for the chat
const STEP_PX = 24;

export function RunAside({ application }) {
  const { openRun, session } = application;
  const id = openRun.value;
  const open = session.value;
  const [View, setView] = useState(null); // {component} once it is loaded
  const [failed, setFailed] = useState(false);
  const panel = useRef(null);
  const isSide = useMatches(SIDE);
  const size = useWidth(panel, isSide);
  useFocus(panel, id !== null && open !== null);
  useCover(panel, id !== null && open !== null && !isSide);

  useEffect(() => {
    if (id === null || View) return;
    setFailed(false);
    import("../run/view.js").then((module) => setView({ component: module.RunView }), () => setFailed(true));
  }, [id]);

  if (id === null || !open) return null;
  const close = () => (application.openRun.value = null);
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open], :popover-open")) return;
    event.stopPropagation(); // it would stop the answer
    close();
  };
  return html`<aside class="run-panel" ref=${panel} tabindex="-1" aria-label=${t("Run view")} onKeyDown=${onKeyDown}>
    ${isSide && html`<div class="run-resize" role="separator" tabindex="0" aria-orientation="vertical" aria-label=${t("Width of the run view")} aria-valuemin=${LEAST_PX} aria-valuemax=${size.most()} aria-valuenow=${Math.round(size.width())} ...${size.handlers}></div>`}
    ${View
      ? html`<${View.component} key=${`${open.conversationId} ${id}`} executionId=${id} application=${application} session=${open} close=${close} />`
      : html`<div class="run-head"><button type="button" class="icon-button" onClick=${close} aria-label=${t("Close the run view")}><${Icon} name="close" /></button></div>
        <p class="run-note" role="status">${failed ? t("The run view could not be loaded. Close it and open it again.") : t("Loading…")}</p>`}
  </aside>`;
}

export function useMatches(query) {
  const [matches, setMatches] = useState(query.matches);
  useEffect(() => {
    const onChange = () => setMatches(query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, []);
  return matches;
}

// The newest run of the branch that is shown.
function newestRun(session) {
  return session ? (transcript(session.state.peek()).findLast(({ execution }) => execution)?.execution.id ?? null) : null;
}

export function toggleRun({ openRun, session }) {
  openRun.value = openRun.peek() === null ? newestRun(session.peek()) : null;
}

// The focus goes in with the panel, and back to where it came from.
function useFocus(panel, isOpen) {
  const opener = useRef(null);
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    opener.current = document.activeElement;
    if (opener.current !== document.body) panel.current.focus({ preventScroll: true });
    return () => {
      const back = opener.current?.isConnected && opener.current !== document.body ? opener.current : document.getElementById("composer-text");
      requestAnimationFrame(() => back?.focus({ preventScroll: true }));
    };
  }, [isOpen]);
}

// What lies under the sheet cannot be reached.
function useCover(panel, covers) {
  useLayoutEffect(() => {
    if (!covers) return undefined;
    const below = [...panel.current.parentElement.children].filter((element) => element !== panel.current && !element.inert);
    for (const element of below) element.inert = true;
    return () => below.forEach((element) => (element.inert = false));
  }, [covers]);
}

function useWidth(panel, isSide) {
  const width = () => panel.current?.offsetWidth ?? LEAST_PX;
  const most = () => {
    const sidebar = document.querySelector(".has-sidebar .sidebar")?.offsetWidth ?? 0;
    return Math.max(LEAST_PX, innerWidth - sidebar - CHAT_PX);
  };
  const [, redraw] = useState(0);
  const set = (wanted) => {
    const pixels = Math.round(Math.max(LEAST_PX, Math.min(wanted, most())));
    panel.current.style.setProperty("--run-width", `${pixels}px`);
    remember(pixels);
    redraw((count) => count + 1);
  };
  useLayoutEffect(() => {
    const kept = remembered();
    if (panel.current && isSide && kept) panel.current.style.setProperty("--run-width", `${Math.max(LEAST_PX, Math.min(kept, most()))}px`);
  });
  const isRtl = () => getComputedStyle(panel.current).direction === "rtl";
  const handlers = {
    onPointerDown: (event) => {
      event.preventDefault();
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event) => {
      if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
      const { left, right } = panel.current.getBoundingClientRect();
      set(isRtl() ? event.clientX - left : right - event.clientX);
    },
    onKeyDown: (event) => {
      const towards = { ArrowLeft: 1, ArrowRight: -1 }[event.key];
      if (!towards && event.key !== "Home" && event.key !== "End") return;
      event.preventDefault();
      if (towards) set(width() + STEP_PX * towards * (isRtl() ? -1 : 1));
      else set(event.key === "Home" ? LEAST_PX : most());
    },
  };
  return { width, most, handlers };
}

function remembered() {
  try {
    return Number(localStorage.getItem(WIDTH_KEY)) || null;
  } catch {
    return null;
  }
}

function remember(pixels) {
  try {
    localStorage.setItem(WIDTH_KEY, String(pixels));
  } catch {
    // Kept for this page only.
  }
}
