// Copies text; the clipboard API exists only on https and localhost, elsewhere a selected text area does it.

export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  // Under a dialog nothing can be selected, and nothing would be copied.
  (document.querySelector("dialog:modal") ?? document.body).append(area);
  area.select();
  const copied = document.activeElement === area && document.execCommand("copy");
  area.remove();
  focused?.focus({ preventScroll: true });
  if (!copied) throw new Error("the browser did not copy the text");
}
