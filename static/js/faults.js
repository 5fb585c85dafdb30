// A form that came back refused: its first fault is in view and has the focus, wherever on the page it stands. Without this
// script it is said at its field all the same.
(() => {
  const seen = (selector) => [...document.querySelectorAll(selector)].find((element) => element.checkVisibility());
  const fault = seen('main form [aria-invalid="true"]') ?? seen("main form :is(.errorlist, .form-error)");
  if (!fault) return;
  // What is wrong with the whole form is told above its fields, or, in a few, below them.
  const field = fault.matches("[aria-invalid]") ? fault : fault.closest("form").querySelector(":is(input:not([type=hidden]), select, textarea)");
  field?.focus({ preventScroll: true });
  (fault.closest(".field, fieldset") ?? fault).scrollIntoView({ block: "center" });
})();
