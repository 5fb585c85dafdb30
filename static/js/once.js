// A form that is on its way is not sent a second time by a second click: what it makes would be made twice. A classic script, as
// the administration has none of our modules.
(() => {
  const PATIENCE_MS = 10_000; // whoever waits longer may try again
  const onTheirWay = new Set();

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (onTheirWay.has(form)) return event.preventDefault();
    onTheirWay.add(form);
    setTimeout(() => onTheirWay.delete(form), PATIENCE_MS);
  });
  addEventListener("pageshow", () => onTheirWay.clear()); // one came back
})();
