// What is read stays where it is: when more is drawn above it, or the guessed height of what is above turns out otherwise. Browsers
// do this too, but not at the very top, not in the frame in which somebody else scrolls, and Safari not at all.
const READ = "article[data-message]";
const TEXT = ".prose";

// `scroller`: the element that scrolls. `hold()` is called when it scrolled, and when its content may have another size, before
// that is painted: how far it went in pixels. `release()` forgets what was read.
export function placeIn(scroller) {
  let held = []; // {element, top}: what is read, from its smallest part to the message; tops are from the beginning

  const edge = () => scroller.getBoundingClientRect().top;
  const topOf = (element) => element.getBoundingClientRect().top - edge() + scroller.scrollTop;
  const firstInView = (elements, isMeant = () => true) => {
    const from = edge();
    return [...elements].find((element) => element.getBoundingClientRect().bottom > from && isMeant(element));
  };

  function take() {
    const messages = scroller.querySelectorAll(READ);
    // One that just came into view and is not laid out yet will grow downwards: nobody has read it.
    const message = firstInView(messages, isLaidOut) ?? firstInView(messages);
    // The uppermost part: what opens below it grows downwards.
    const part = message && firstInView(message.children);
    const block = part?.matches(TEXT) && firstInView(part.children);
    held = [block, part, message].filter(Boolean).map((element) => ({ element, top: topOf(element) }));
  }

  function hold() {
    const one = held.find(({ element }) => scroller.contains(element));
    const moved = one ? topOf(one.element) - one.top : 0;
    const before = scroller.scrollTop;
    if (Math.abs(moved) >= 1) scroller.scrollTop += moved;
    take();
    return scroller.scrollTop - before;
  }

  return { hold, release: () => (held = []) };
}

// Of what is far from the view only the outside is laid out (`content-visibility`).
function isLaidOut(message) {
  return message.firstElementChild?.checkVisibility?.({ contentVisibilityAuto: true }) ?? true;
}
