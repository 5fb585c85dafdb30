// A small menu at its button: the browser's popover closes it on Esc and on a click elsewhere; arrows move in it.
import { html, useRef, useState } from "../../vendor/preact.js";

const GAP_PX = 6;
const ITEMS = "[role^=menuitem]:not(:disabled)";

export function Menu({ id, label, buttonClass, button, tip = null, placement = "below", children }) {
  const opener = useRef(null);
  const panel = useRef(null);
  const [open, setOpen] = useState(false);

  function onToggle(event) {
    setOpen(event.newState === "open");
    if (event.newState !== "open") return;
    place(panel.current, opener.current.getBoundingClientRect(), placement);
    (panel.current.querySelector("[aria-checked=true]") ?? itemsOf(panel.current)[0])?.focus();
  }

  const onKeyDown = (event) => moveInMenu(panel.current, event);

  return html`
    <button type="button" ref=${opener} class=${buttonClass} popovertarget=${id} title=${tip} aria-label=${label} aria-haspopup="menu" aria-expanded=${open ? "true" : "false"}>${button}</button>
    <div id=${id} ref=${panel} class="menu" popover="auto" role="menu" aria-label=${label} onToggle=${onToggle} onKeyDown=${onKeyDown}
      onClick=${(event) => event.target.closest("[data-stays]") ?? panel.current?.hidePopover()}>${children}</div>`;
}

// Some are there only where a window is narrow.
const itemsOf = (panel) => [...panel.querySelectorAll(ITEMS)].filter((item) => item.getClientRects().length);

// Arrows go from item to item, and round; Tab goes on to what stands behind its button.
export function moveInMenu(panel, event) {
  if (event.key === "Tab") return panel.hidePopover();
  const items = itemsOf(panel);
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: (at + 1) % items.length, ArrowUp: at < 0 ? -1 : at - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  items.at(to)?.focus();
}

export function place(panel, anchor, placement) {
  const { offsetWidth: width, offsetHeight: height } = panel;
  const rtl = getComputedStyle(panel).direction === "rtl";
  const left = rtl ? anchor.right - width : anchor.left;
  const below = anchor.bottom + GAP_PX;
  const top = placement === "above" || below + height > innerHeight ? anchor.top - height - GAP_PX : below;
  panel.style.left = `${Math.max(GAP_PX, Math.min(left, innerWidth - width - GAP_PX))}px`;
  panel.style.top = `${Math.max(GAP_PX, top)}px`;
}
