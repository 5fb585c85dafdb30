// Links that nobody has seen yet lead nowhere by themselves: their address is held back, so that neither a click nor the middle
// button, the context menu or a drag can follow it before a person has read where it leads.
import { isKnown } from "./links.js";

const HELD = "[data-leads-to]";

// `known`: keys of addresses that open at once. Works on a fragment that is safe already.
export function holdLinks(fragment, known) {
  for (const link of fragment.querySelectorAll("a[href]:not(.citation)")) {
    const address = link.getAttribute("href");
    if (isKnown(address, { known, origin: location.origin })) continue;
    for (const name of ["href", "target", "rel"]) link.removeAttribute(name);
    link.dataset.leadsTo = address;
    link.tabIndex = 0;
    link.setAttribute("role", "link");
    link.setAttribute("aria-haspopup", "dialog");
  }
}

// Listeners for whatever holds such links: `ask(address, link)` for the one that somebody wants to follow.
export function heldLinkListeners(ask) {
  const follow = (event) => {
    const link = event.target.closest?.(HELD);
    if (!link) return;
    event.preventDefault();
    ask(link.dataset.leadsTo, link);
  };
  return {
    onClick: follow,
    onAuxClick: (event) => event.button === 1 && follow(event),
    onKeyDown: (event) => event.key === "Enter" && !event.isComposing && event.target.matches?.(HELD) && follow(event),
  };
}
