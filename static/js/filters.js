// A form of filters. A choice by mouse or finger filters at once; by keyboard each arrow is a choice, so its button is pressed.
export function filterAtOnce(form) {
  let byPointer = false;
  form.addEventListener("pointerdown", () => (byPointer = true));
  form.addEventListener("keydown", () => (byPointer = false));
  form.addEventListener("change", ({ target }) => {
    if (target.tagName !== "SELECT") return;
    if (byPointer) form.requestSubmit();
    else form.classList.add("is-changed"); // for a button that is hidden until it is needed
  });
}
