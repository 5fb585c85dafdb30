// Changes an element's children into those of a fragment, touching only what differs: pictures stay loaded, a selection stays
// selected, nothing flickers while text arrives.

export function morphChildren(parent, wanted) {
  let now = parent.firstChild;
  let next = wanted.firstChild;
  while (next) {
    const following = next.nextSibling; // `next` may move into `parent`
    if (!now) {
      parent.append(next);
    } else {
      const after = now.nextSibling;
      morphNode(now, next);
      now = after;
    }
    next = following;
  }
  while (now) {
    const after = now.nextSibling;
    now.remove();
    now = after;
  }
}

function morphNode(now, next) {
  if (now.nodeName !== next.nodeName) {
    now.replaceWith(next);
  } else if (now.nodeType === Node.ELEMENT_NODE) {
    morphAttributes(now, next);
    morphChildren(now, next);
  } else if (now.data !== next.data) {
    setText(now, next.data);
  }
}

// A text that only grew is extended, so that a selection in it stays.
function setText(node, text) {
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}

function morphAttributes(now, next) {
  for (const { name, value } of next.attributes) {
    if (now.getAttribute(name) !== value) now.setAttribute(name, value);
  }
  for (const { name } of [...now.attributes]) {
    if (!next.hasAttribute(name)) now.removeAttribute(name);
  }
}
